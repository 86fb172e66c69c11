// SPDX-License-Identifier: Apache-2.0
//! Time inside a device is the schedule's: a shell that wakes late changes nothing
//! that the device does, nor when it does it; one that is later than the bound does.

use crate::common::program;
use device::{Configuration, Device, DeviceConfig, Output, PortConfig, QueueId, ServiceFlowConfig};
use proptest::prelude::*;

const MS: u64 = 1_000_000;
/// Lateness that a device makes up for.
const BOUND: u64 = 20 * MS;
/// What the slower flow sends, bit/s.
const RATE: u64 = 8_000_000;

/// What left, when, and through which port.
#[derive(Default)]
struct Wires(Vec<(u64, u16, Vec<u8>)>);

impl Output for Wires {
    fn transmit(&mut self, now: u64, port: u16, frame: &[u8], _paced: bool) {
        self.0.push((now, port, frame.to_vec()));
    }

    fn packet_in(&mut self, _now: u64, _frame: &[u8]) -> bool {
        false
    }
}

/// A frame on its way to a device that runs sub_queues.p4.
#[derive(Debug, Clone)]
struct Arrival {
    at: u64,
    port: u16,
    /// Queue at port 2: 1 and 2 have rates of their own and share the port's, 0 is the port's own.
    queue: u16,
    len: usize,
    /// Egress drops it.
    drop: bool,
}

impl Arrival {
    fn frame(&self, number: usize) -> Vec<u8> {
        let mut frame = vec![0; self.len];
        frame[0..2].copy_from_slice(&self.queue.to_be_bytes());
        frame[4] = self.drop.into();
        frame[6..14].copy_from_slice(&(number as u64).to_be_bytes());
        frame
    }
}

/// Two shaped flows on port 2, whose own rate is short of both; a delay before
/// ingress and one after egress.
fn device() -> Device {
    let mut device = Device::new(DeviceConfig {
        lateness_bound: BOUND,
        ..DeviceConfig::default()
    });
    (1..=3).for_each(|port| device.add_port(port));
    device.load(0, program("sub_queues.json"));
    let flow = |queue_id, rate| ServiceFlowConfig {
        queue: QueueId { port: 2, queue_id },
        max_sustained_rate: rate,
        max_burst: 3000,
        peak_rate: 2 * rate,
        ..Default::default()
    };
    let port = |port, rate, receive_delay_ns, transmit_delay_ns| PortConfig {
        port,
        rate,
        receive_delay_ns,
        transmit_delay_ns,
        ..Default::default()
    };
    let request = Configuration {
        service_flows: vec![flow(1, RATE), flow(2, 3 * RATE)],
        ports: vec![port(2, 3 * RATE, 0, 700_001), port(3, 0, 3 * MS + 7, 0)],
        ..Default::default()
    };
    device.configure(0, &request).unwrap();
    device
}

/// What leaves when the shell is woken at these times, the last of which is after all.
fn run(device: &mut Device, arrivals: &[Arrival], wakes: impl IntoIterator<Item = u64>) -> Wires {
    let mut out = Wires::default();
    let mut waiting = arrivals.iter().enumerate().peekable();
    for now in wakes {
        device.wake(
            now,
            waiting
                .peek()
                .map(|(_, first)| first.at)
                .filter(|&at| at <= now),
        );
        while let Some((number, arrival)) = waiting.next_if(|(_, arrival)| arrival.at <= now) {
            let at = arrival.at.max(device.time());
            device.poll(at, &mut out);
            device.receive(at, arrival.port, &arrival.frame(number));
        }
        device.poll(now, &mut out);
        device.lateness_mut().note(0);
    }
    assert!(waiting.next().is_none());
    out
}

fn arrivals() -> impl Strategy<Value = Vec<Arrival>> {
    let one = (
        0..2 * MS,
        prop::bool::ANY,
        0u16..3,
        14usize..1500,
        prop::bool::weighted(0.1),
    );
    prop::collection::vec(one, 1..200).prop_map(|all| {
        let mut now = 0;
        let arrival = |(gap, delayed, queue, len, drop)| {
            now += gap;
            let port = if delayed { 3 } else { 1 };
            Arrival {
                at: now,
                port,
                queue,
                len,
                drop,
            }
        };
        all.into_iter().map(arrival).collect()
    })
}

/// Times of waking, no further apart than the bound, until everything is over.
fn wakes() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(0..BOUND, 1..100).prop_map(|gaps| {
        let mut now = 0;
        let mut times: Vec<u64> = gaps
            .iter()
            .map(|gap| {
                now += gap;
                now
            })
            .collect();
        times.extend((1..=200).map(|n| now + n * BOUND));
        times
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn a_late_shell_changes_nothing(arrivals in arrivals(), wakes in wakes()) {
        let mut exact = device();
        let every_event = (0..).map(|n| n * 10_000).take_while(|&at| at <= 2_000 * MS);
        let expected = run(&mut exact, &arrivals, every_event);
        prop_assert_eq!(exact.lateness().jumps(), 0);
        let mut late = device();
        let sent = run(&mut late, &arrivals, wakes);
        prop_assert_eq!(late.lateness().jumps(), 0);
        prop_assert_eq!(sent.0, expected.0);
    }

    /// In due time, over every window, after any number of jumps.
    #[test]
    fn a_shell_that_is_far_too_late_never_exceeds_a_rate(
        arrivals in arrivals(),
        gaps in prop::collection::vec(0..5 * BOUND, 1..60),
    ) {
        let mut device = device();
        let mut now = 0;
        let mut wakes: Vec<u64> = gaps.iter().map(|gap| { now += gap; now }).collect();
        wakes.extend((1..=400).map(|n| now + n * BOUND / 2));
        let sent = run(&mut device, &arrivals, wakes);
        let slow: Vec<(u64, usize)> = sent.0.iter()
            .filter(|(_, port, frame)| *port == 2 && frame[0..2] == [0, 1])
            .map(|(at, _, frame)| (*at, traffic_manager::frame_length(frame.len())))
            .collect();
        for first in 0..slow.len() {
            let mut bytes = 0;
            for &(at, len) in &slow[first..] {
                bytes += len as u64;
                let earned = (at - slow[first].0) * RATE / 8_000_000_000;
                prop_assert!(bytes <= earned + 1 + 3000, "{bytes} within {} ns", at - slow[first].0);
            }
        }
    }
}

/// Frames of 1000 bytes with their CRC that wait for one of them a millisecond.
fn waiting() -> (Device, Wires) {
    let (mut device, mut out) = (device(), Wires::default());
    let wire = PortConfig {
        port: 2,
        ..Default::default()
    };
    let request = Configuration {
        ports: vec![wire],
        ..Default::default()
    };
    device.configure(0, &request).unwrap();
    for number in 0..100 {
        let arrival = Arrival {
            at: 0,
            port: 1,
            queue: 1,
            len: 996,
            drop: false,
        };
        device.receive(0, 1, &arrival.frame(number));
    }
    device.poll(10 * MS, &mut out);
    out.0.clear();
    (device, out)
}

#[test]
fn within_the_bound_everything_is_made_up_for() {
    let (mut device, mut out) = waiting();
    device.wake(10 * MS + BOUND, None);
    device.poll(10 * MS + BOUND, &mut out);
    assert_eq!(out.0.len(), 20);
    assert_eq!(device.lateness().jumps(), 0);
}

#[test]
fn beyond_the_bound_time_jumps_and_nothing_is_earned_for_the_gap() {
    let (mut device, mut out) = waiting();
    let next = device.next_deadline().unwrap();
    device.wake(next + 5 * BOUND, None);
    assert_eq!(device.lateness().jumps(), 1);
    assert_eq!(device.lateness().jumped(), 4 * BOUND);
    assert_eq!(device.time(), next + 4 * BOUND);
    device.poll(next + 5 * BOUND, &mut out);
    // One frame a millisecond, as if the gap had not been.
    let times: Vec<u64> = out.0.iter().map(|(at, ..)| *at).collect();
    let expected: Vec<u64> = (0..=20).map(|n| next + 4 * BOUND + n * MS).collect();
    assert_eq!(times, expected);
}

#[test]
fn a_device_with_nothing_to_do_is_never_late() {
    let mut device = device();
    device.wake(3_600_000 * MS, None);
    assert_eq!((device.lateness().jumps(), device.time()), (0, 0));
}

#[test]
fn a_frame_that_waited_longer_than_the_bound_comes_when_time_has_jumped_to() {
    let (mut device, mut out) = (device(), Wires::default());
    device.wake(100 * MS, Some(30 * MS));
    assert_eq!(device.time(), 80 * MS);
    let arrival = Arrival {
        at: 30 * MS,
        port: 1,
        queue: 0,
        len: 100,
        drop: false,
    };
    device.receive(30 * MS, 1, &arrival.frame(0));
    device.poll(100 * MS, &mut out);
    assert_eq!(out.0[0].0, 80 * MS + 700_001);
    assert_eq!(device.lateness().jumped(), 50 * MS);
}

/// A link's own messages may occupy a port for longer than time goes on.
#[test]
fn a_departure_that_never_comes_is_no_deadline() {
    let mut device = device();
    let slow = Configuration {
        ports: vec![PortConfig {
            port: 2,
            rate: 1,
            ..Default::default()
        }],
        ..Default::default()
    };
    device.configure(0, &slow).unwrap();
    device.occupy(0, 2, 1 << 40);
    device.jump(BOUND, BOUND);
    let arrival = Arrival {
        at: BOUND,
        port: 1,
        queue: 0,
        len: 100,
        drop: false,
    };
    device.receive(BOUND, arrival.port, &arrival.frame(0));
    assert_eq!(device.next_deadline(), None);
    device.poll(u64::MAX / 2, &mut Wires::default());
    assert!(!device.is_empty());
}
