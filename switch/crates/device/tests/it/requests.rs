// SPDX-License-Identifier: Apache-2.0
//! sf_requests_met: frames behind which the service flow had nothing to request, because
//! its queue was empty or less than 1522 bytes of sustained tokens were left. And behind a
//! request/grant MAC: MAPs after which no acknowledged request waited, beside what they granted.

use crate::common::modem::{
    CODEL, DOCSIS_PIE, DROP_TAIL, FLOW, Flow, Frame, LRED, Modem, PIE, RF, START, number,
};
use device::QueueId;
use proptest::prelude::*;

const MAX_PACKET: u64 = 1522;
/// Units of tokens in a byte.
const BYTE: u64 = 8_000_000;

fn modem(manager: u8, rate: u64, burst: u64) -> Modem {
    let mut modem = Modem::new(&Flow {
        manager,
        rate,
        max_burst: burst,
        ..Flow::default()
    });
    let bucket = [("max_sustained_rate", rate), ("max_burst", burst)];
    modem.parameters("token_bucket.msr_bucket", "set_bucket", &bucket);
    modem.set_state("msr_tokens", burst * BYTE);
    modem.set_state("msr_updated", START / 1000);
    modem
}

fn frame(number: u32, length: usize) -> Frame {
    Frame {
        session: 1,
        number,
        length,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn it_counts_exactly_then(
        rate in 1_000_000u64..50_000_000,
        burst in MAX_PACKET..60_000,
        load in prop::collection::vec((0u64..20_000, prop::collection::vec(64usize..1500, 1..40)), 1..40),
    ) {
        let mut modem = modem(DOCSIS_PIE, rate, burst);
        let (mut now, mut lengths, mut queued) = (START, Vec::new(), 0);
        let (mut tokens, mut updated, mut met) = (burst * BYTE, START / 1000, 0);
        let (mut empty, mut spent) = (0, 0);
        let mut run = |modem: &mut Modem, now, lengths: &[u64], queued: &mut u64| {
            modem.run(now, |modem, at, frame| {
                let length = lengths[number(frame) as usize];
                *queued -= length;
                // The bucket's recursion, in the pipeline's microseconds.
                let at = at / 1000;
                tokens = (burst * BYTE).min(tokens + (at - updated) * rate);
                tokens = tokens.saturating_sub(length * BYTE);
                updated = at;
                assert_eq!(modem.state("msr_tokens"), tokens);
                if *queued == 0 || tokens < MAX_PACKET * BYTE {
                    met += 1;
                    empty += usize::from(*queued == 0);
                    spent += usize::from(*queued > 0);
                }
                assert_eq!(modem.state("sf_requests_met"), met);
            });
        };
        for (pause, frames) in load {
            now += pause * 1000;
            run(&mut modem, now, &lengths, &mut queued);
            for length in frames {
                modem.receive(now, frame(lengths.len() as u32, length));
                lengths.push(length as u64);
                queued += length as u64;
            }
        }
        run(&mut modem, u64::MAX, &lengths, &mut queued);
        prop_assert_eq!(queued, 0);
        prop_assert!(empty > 0);
    }
}

/// To the byte: tokens for a frame of 1522 bytes are enough.
#[test]
fn the_tokens_of_a_largest_frame_are_enough() {
    let rate = 8_000_000;
    for (tokens, met) in [
        (MAX_PACKET + 100, 0),
        (MAX_PACKET + 99, 1),
        (MAX_PACKET, 1),
        (0, 1),
    ] {
        let mut modem = modem(DOCSIS_PIE, rate, 10_000);
        modem.set_state("msr_tokens", tokens * BYTE);
        // Something else waits, so that the queue is not empty.
        modem.set_backlog(5_000);
        assert!(modem.passes(START, frame(0, 100)));
        assert_eq!(modem.state("sf_requests_met"), met, "{tokens}");
    }
}

#[test]
fn without_a_rate_only_an_empty_queue_counts() {
    let mut modem = Modem::new(&Flow {
        manager: DOCSIS_PIE,
        ..Flow::default()
    });
    modem.set_backlog(5_000);
    assert!(modem.passes(START, frame(0, 100)));
    assert_eq!(modem.state("sf_requests_met"), 0);
    modem.set_backlog(0);
    assert!(modem.passes(START, frame(0, 100)));
    assert_eq!(modem.state("sf_requests_met"), 1);
}

/// Nobody else's law asks for it.
#[test]
fn other_managers_do_not_count() {
    for manager in [DROP_TAIL, CODEL, PIE, LRED] {
        let mut modem = modem(manager, 8_000_000, 10_000);
        assert!(modem.passes(START, frame(0, 100)));
        assert_eq!(modem.state("sf_requests_met"), 0);
    }
}

const QUEUE: QueueId = QueueId {
    port: RF,
    queue_id: FLOW,
};
const REGISTERS: [&str; 3] = ["sf_granted_bytes", "sf_acked_req_bytes", "sf_requests_met"];

fn registers(modem: &Modem) -> [u64; 3] {
    REGISTERS.map(|name| modem.state(name))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    /// Behind a request/grant MAC the registers have what MAPs said until the last frame left.
    #[test]
    fn a_frame_that_a_grant_lets_go_tells_of_all_maps_before_it(
        steps in prop::collection::vec(
            (prop::collection::vec((0u64..40_000, 0u64..4), 0..4), 0usize..3),
            1..60,
        ),
        bursts in 0u64..3,
    ) {
        // A bucket that is spent at once, too: it is of no account here.
        let mut modem = modem(DOCSIS_PIE, 8_000_000 * bursts, MAX_PACKET);
        modem.device.set_granted(START, RF, FLOW).unwrap();
        let (mut granted, mut acked, mut met, mut said) = (0, 0, 0, [0; 3]);
        let (mut sent, mut taken) = (0, Vec::new());
        let mut now = START;
        for (maps, frames) in steps {
            now += 2_000_000;
            for (bytes, waiting) in maps {
                modem.device.read_map(QUEUE, bytes, waiting * MAX_PACKET);
                granted += bytes;
                acked = waiting * MAX_PACKET;
                met += u64::from(waiting == 0);
            }
            prop_assert_eq!(registers(&modem), said);
            for _ in 0..frames {
                modem.receive(now, frame(sent, 100));
                sent += 1;
                if modem.device.take(now, QUEUE, u32::MAX, &mut taken).is_some() {
                    said = [granted, acked, met];
                }
                prop_assert_eq!(registers(&modem), said);
            }
        }
    }
}

/// What a MAC said of one frame is not said of another that leaves without a grant.
#[test]
fn a_port_without_grants_counts_as_before() {
    let mut modem = modem(DOCSIS_PIE, 0, 10_000);
    modem.device.read_map(QUEUE, 1_000, 0);
    assert!(modem.passes(START, frame(0, 100)));
    assert_eq!(registers(&modem), [0, 0, 1]);

    modem.device.set_granted(START, RF, FLOW).unwrap();
    modem.device.read_map(QUEUE, 1_526, 3_052);
    modem.receive(START, frame(1, 100));
    let mut taken = Vec::new();
    assert!(
        modem
            .device
            .take(START, QUEUE, u32::MAX, &mut taken)
            .is_some()
    );
    assert_eq!(registers(&modem), [1_526, 3_052, 0]);
    // One that is given up has left, too.
    modem.device.read_map(QUEUE, 0, 0);
    modem.receive(START, frame(2, 100));
    assert!(modem.device.give_up(START, QUEUE));
    assert_eq!(registers(&modem), [1_526, 0, 1]);
}

#[test]
fn behind_a_mac_other_managers_do_not_count_either() {
    let mut modem = modem(CODEL, 0, 10_000);
    modem.device.set_granted(START, RF, FLOW).unwrap();
    modem.device.read_map(QUEUE, 1_526, 0);
    modem.receive(START, frame(0, 100));
    let mut taken = Vec::new();
    assert!(
        modem
            .device
            .take(START, QUEUE, u32::MAX, &mut taken)
            .is_some()
    );
    assert_eq!(registers(&modem), [0; 3]);
}
