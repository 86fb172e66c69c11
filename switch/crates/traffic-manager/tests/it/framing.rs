// SPDX-License-Identifier: Apache-2.0
//! A channel's downstream: frames in packets of a fixed length, and messages that go before them,
//! to the nanosecond.

use proptest::prelude::*;
use traffic_manager::{
    Commit, Configuration, Framing, PortConfig, QueueId, ServiceFlowConfig, TrafficManager,
};

/// Paper 004's raw downstream, bit/s: 30.34 Mbps.
const RATE: u64 = 30_340_000;
/// DOCSIS's MAC header before each frame, MPEG packets with 4 bytes of header.
const MPEG: Framing = Framing {
    packet: 188,
    header: 4,
    frame_header: 6,
    own_packets: false,
};
const OWN: Framing = Framing {
    own_packets: true,
    ..MPEG
};
const FRAME: usize = 1518;

fn manager(rate: u64, framing: Framing) -> TrafficManager<u64> {
    let mut tm = TrafficManager::default();
    tm.add_port(1);
    let port = PortConfig {
        port: 1,
        rate,
        framing,
        ..Default::default()
    };
    let flow = ServiceFlowConfig {
        queue: QueueId {
            port: 1,
            queue_id: 1,
        },
        ..Default::default()
    };
    let request = Configuration {
        ports: vec![port],
        service_flows: vec![flow],
        ..Default::default()
    };
    tm.configure(0, &request, &mut |_| ()).unwrap();
    tm
}

fn enqueue(tm: &mut TrafficManager<u64>, now: u64, len: usize) {
    let slot = tm
        .lookup(QueueId {
            port: 1,
            queue_id: 1,
        })
        .unwrap();
    tm.enqueue(now, slot, 0, len, len as u64).unwrap();
}

/// When the next frame leaves.
fn leave(tm: &mut TrafficManager<u64>, now: u64) -> u64 {
    let (at, _) = tm.offer_by(now, u64::MAX).unwrap();
    let len = *tm.offered_mut().unwrap();
    assert!(matches!(tm.commit(len as usize), Some(Commit::Sent(_))));
    at
}

/// Time of so many bytes at RATE from the time 0 on, rounded up: nothing leaves early.
fn time_of(bytes: u64) -> u64 {
    (bytes * 8_000_000_000).div_ceil(RATE)
}

#[test]
fn a_saturated_channel_sends_packets_back_to_back() {
    // 1,524 bytes in packets of 184: 1,558 shared, 9 packets alone. (1,522 bytes are saved up.)
    for (framing, line) in [(Framing::default(), 1518), (MPEG, 1558), (OWN, 9 * 188)] {
        assert_eq!(framing.line_bytes(FRAME as u64), line);
        let mut tm = manager(RATE, framing);
        (0..10).for_each(|_| enqueue(&mut tm, 0, FRAME));
        let mut now = 0;
        for sent in 0..10 {
            now = leave(&mut tm, now);
            // The bucket is 1,522 bytes deep: a longer frame waits until it is full, and what it
            // earns in the last nanosecond beyond that is lost.
            let at = if line > 1522 {
                sent * time_of(line)
            } else {
                time_of(((sent + 1) * line).saturating_sub(1522))
            };
            assert_eq!(now, at, "frame {sent}");
        }
    }
}

#[test]
fn a_map_goes_before_data() {
    // A MAP of 12 elements: 94 bytes, 100 with the MAC header, 103 in packets.
    let mut tm = manager(RATE, MPEG);
    assert_eq!(MPEG.line_bytes(46 + 4 * 12), 103);
    enqueue(&mut tm, 0, FRAME);
    enqueue(&mut tm, 0, FRAME);
    assert_eq!(leave(&mut tm, 0), 0);
    // While the first is on the line.
    tm.occupy(100_000, 1, 46 + 4 * 12);
    let at = tm.next_deadline().unwrap();
    assert_eq!(at, time_of(1558 + 103));
    assert_eq!(leave(&mut tm, 100_000), at);
    // On an idle line, which has saved up 1,522 bytes: a frame waits for the rest.
    tm.occupy(10_000_000, 1, 46 + 4 * 12);
    enqueue(&mut tm, 10_000_000, FRAME);
    let left = leave(&mut tm, 10_000_000);
    assert_eq!(left, 10_000_000 + time_of(103));
}

#[test]
fn nothing_happens_without_a_rate_or_a_port() {
    let mut tm = manager(0, MPEG);
    tm.occupy(0, 1, 1_000_000);
    tm.occupy(0, 2, 1_000_000);
    enqueue(&mut tm, 0, FRAME);
    assert_eq!(leave(&mut tm, 0), 0);
    // What has no rate is on the line all the same.
    let carried = MPEG.line_bytes(1_000_000) + MPEG.line_bytes(FRAME as u64);
    assert_eq!((tm.line_bytes(1), tm.line_bytes(2)), (Some(carried), None));
}

proptest! {
    /// Whatever comes, the line carries its rate and no more: bytes in packets, MAPs included,
    /// are at most what it earns and has saved up, or one frame.
    #[test]
    fn never_above_the_rate(
        steps in prop::collection::vec((64usize..1519, 0u64..1_000_000, 0u64..4), 1..100),
        own_packets in any::<bool>(),
    ) {
        let framing = Framing { own_packets, ..MPEG };
        let mut tm = manager(RATE, framing);
        let (mut now, mut line) = (0, 0);
        for (len, pause, maps) in steps {
            now += pause;
            for _ in 0..maps {
                tm.occupy(now, 1, 94);
                line += framing.line_bytes(94);
            }
            enqueue(&mut tm, now, len);
            now = leave(&mut tm, now);
            line += framing.line_bytes(len as u64);
            let longest = framing.line_bytes(1518).max(1522);
            prop_assert_eq!(tm.line_bytes(1), Some(line));
            let earned = u128::from(now) * u128::from(RATE) / 8_000_000_000;
            prop_assert!(u128::from(line) <= earned + u128::from(longest) + 1);
        }
    }
}
