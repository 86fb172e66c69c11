// SPDX-License-Identifier: Apache-2.0
//! Every record is read as it was written.

use device::DropPlace;
use grpc_services::journal::Work;
use proptest::prelude::*;
use recording::format::{
    End, Header, Input, LONGEST_PAUSE, Output, Place, Program, Reason, Record, Sent, Told,
};
use recording::{Encoder, Reader};

fn place() -> impl Strategy<Value = Place> {
    (any::<u64>(), 0..LONGEST_PAUSE).prop_map(|(steps, until)| Place { steps, until })
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..300)
}

fn input() -> impl Strategy<Value = Input> {
    let time = 0..LONGEST_PAUSE;
    let port = any::<u16>();
    let (number, count) = (any::<u64>(), 0u64..1 << 32);
    prop_oneof![
        (time.clone(), port, bytes()).prop_map(|(at, port, frame)| Input::Arrived {
            at,
            port,
            frame
        }),
        count.clone().prop_map(|length| Input::TooLong { length }),
        (time.clone(), any::<Option<u64>>(), place()).prop_map(|(now, arrived, place)| {
            Input::Jumped {
                now,
                arrived,
                place,
            }
        }),
        (port, any::<bool>(), place()).prop_map(|(port, up, place)| Input::Link {
            port,
            up,
            place
        }),
        (port, count.clone(), count.clone(), place()).prop_map(|(port, frames, bytes, place)| {
            Input::NotSent {
                port,
                frames,
                bytes,
                place,
            }
        }),
        (port, count, place()).prop_map(|(port, frames, place)| Input::Missed {
            port,
            frames,
            place
        }),
        (number, "[ -~]{0,40}", bytes()).prop_map(|(request, method, message)| Input::Asked {
            request,
            method,
            message
        }),
        (number, number, bytes()).prop_map(|(request, stream, message)| Input::Said {
            request,
            stream,
            message
        }),
        (number, time, number, any::<bool>()).prop_map(|(request, at, units, stopped)| {
            let work = Work { units, stopped };
            Input::Ran { request, at, work }
        }),
        (number, number).prop_map(|(request, hash)| Input::Answered { request, hash }),
        number.prop_map(|request| Input::Left { request }),
        number.prop_map(|stream| Input::StreamOpened { stream }),
        number.prop_map(|stream| Input::StreamEnded { stream }),
    ]
}

fn output() -> impl Strategy<Value = Output> {
    let time = 0..LONGEST_PAUSE;
    let (number, flag) = (any::<u64>(), any::<bool>());
    let sent = (time.clone(), any::<u16>(), flag, number, number);
    let told = (time.clone(), flag, flag, number);
    prop_oneof![
        sent.prop_map(|(at, port, paced, length, hash)| Output::Sent(Sent {
            at,
            port,
            paced,
            length,
            hash
        })),
        told.prop_map(|(at, is_event, taken, hash)| Output::Told {
            at,
            told: if is_event {
                Told::Event
            } else {
                Told::PacketIn
            },
            taken,
            hash
        }),
        (time, 0..DropPlace::ALL.len(), number).prop_map(|(at, place, frames)| {
            let place = DropPlace::ALL[place];
            Output::Dropped { at, place, frames }
        }),
    ]
}

fn end() -> impl Strategy<Value = End> {
    let reasons = [Reason::Stopped, Reason::Limit, Reason::Overrun];
    let reason = prop::sample::select(reasons.to_vec());
    let of = |(reason, now, place, state)| End {
        reason,
        now,
        place,
        state,
    };
    (reason, 0..LONGEST_PAUSE, place(), any::<Option<u64>>()).prop_map(of)
}

fn header() -> impl Strategy<Value = Header> {
    let program = (0..LONGEST_PAUSE, bytes(), prop::option::of(bytes()));
    let program = program.prop_map(|(at, json, p4info)| Program { at, json, p4info });
    let numbers = (any::<u64>(), any::<u64>(), any::<u64>(), any::<bool>());
    let ports = prop::collection::vec(any::<u16>(), 0..9);
    let others = (any::<Option<u16>>(), any::<u16>(), ports);
    (".{0,9}", numbers, others, prop::option::of(program)).prop_map(
        |(version, (device_id, seed, lateness_bound, bmv2_quirks), others, program)| {
            let (cpu_port, drop_port, ports) = others;
            Header {
                version,
                device_id,
                cpu_port,
                drop_port,
                seed,
                lateness_bound,
                bmv2_quirks,
                ports,
                program,
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(128) })]

    #[test]
    fn a_file_has_what_was_written(
        header in header(),
        records in prop::collection::vec(
            prop_oneof![input().prop_map(Record::Input), output().prop_map(Record::Output)],
            0..60,
        ),
        end in end(),
    ) {
        let mut file = Encoder::header(&header);
        let mut encoder = Encoder::default();
        let records: Vec<_> = records.into_iter().chain([Record::End(end)]).collect();
        for record in &records {
            encoder.record(&mut file, record);
        }
        let (read, mut reader) = Reader::new(file.as_slice()).unwrap();
        prop_assert_eq!(read, header);
        for record in records {
            prop_assert_eq!(reader.record().unwrap(), Some(record));
        }
        prop_assert_eq!(reader.record().unwrap(), None);
    }
}
