// SPDX-License-Identifier: Apache-2.0
//! The metadata field `sub_queue`, from a program to the queues and back.

use crate::common::{Recorder, program};
use device::{Configuration, Device, DeviceConfig, QueueId, ServiceFlowConfig};

/// What sub_queues.p4's egress does.
const SEND: u8 = 0;
const DROP: u8 = 1;
const GROW: u8 = 2;

const LEN: usize = 1000;

/// A device whose flow sends a frame of [`LEN`] bytes a millisecond, one at a time.
struct Bench {
    device: Device,
    now: u64,
    sent: Vec<u8>,
}

impl Bench {
    fn new(sub_queues: u32) -> Self {
        let mut device = Device::new(DeviceConfig::default());
        (1..=2).for_each(|port| device.add_port(port));
        device.load(0, program("sub_queues.json"));
        let (now, sent) = (0, Vec::new());
        let mut bench = Self { device, now, sent };
        bench.configure(sub_queues);
        bench
    }

    fn configure(&mut self, sub_queues: u32) {
        let flow = ServiceFlowConfig {
            queue: QueueId {
                port: 2,
                queue_id: 1,
            },
            max_sustained_rate: 8_000_000,
            max_burst: 1522,
            sub_queues,
            ..Default::default()
        };
        let request = Configuration {
            service_flows: vec![flow],
            ..Default::default()
        };
        self.device.configure(self.now, &request).unwrap();
    }

    fn receive(&mut self, sub_queue: u16, egress: u8, number: u8) {
        let mut frame = vec![0; LEN];
        frame[0..2].copy_from_slice(&1u16.to_be_bytes());
        frame[2..4].copy_from_slice(&sub_queue.to_be_bytes());
        frame[4] = egress;
        frame[5] = number;
        self.device.receive(self.now, 1, &frame);
        // Through ingress; what egress lets go waits for tokens but for the first.
        self.poll();
    }

    fn poll(&mut self) {
        let mut out = Recorder::default();
        self.device.poll(self.now, &mut out);
        for (port, frame) in out.sent {
            assert_eq!(port, 2);
            // The filler, where egress made it, is in front.
            let at = frame.len() - LEN + 5;
            self.sent.push(frame[at]);
        }
    }

    /// The numbers of what has left when all has.
    fn finish(&mut self) -> Vec<u8> {
        while let Some(at) = self.device.next_deadline() {
            self.now = self.now.max(at);
            self.poll();
        }
        assert!(self.device.is_empty());
        std::mem::take(&mut self.sent)
    }
}

#[test]
fn the_program_says_into_which_sub_queue() {
    let mut bench = Bench::new(4);
    (0..6).for_each(|n| bench.receive(0, SEND, n));
    (0..2).for_each(|n| bench.receive(3, SEND, 10 + n));
    // 0 leaves at once. Turns of 1522 bytes: one frame, then two.
    assert_eq!(bench.finish(), [0, 1, 10, 2, 3, 11, 4, 5]);
}

#[test]
fn without_sub_queues_the_field_says_nothing() {
    for sub_queues in 0..2 {
        let mut bench = Bench::new(sub_queues);
        (0..8).for_each(|n| bench.receive(u16::from(n % 3), SEND, n));
        assert_eq!(bench.finish(), [0, 1, 2, 3, 4, 5, 6, 7]);
    }
}

#[test]
fn what_egress_drops_is_not_charged() {
    let mut bench = Bench::new(2);
    bench.receive(0, SEND, 0);
    (1..4).for_each(|n| bench.receive(0, DROP, n));
    bench.receive(0, SEND, 4);
    bench.receive(1, SEND, 10);
    // 522 bytes of the first turn are left and 1522 of the next, of which 4 costs 1000.
    assert_eq!(bench.finish(), [0, 4, 10]);
    let state = &bench.device.traffic_manager_state(bench.now).service_flows[0];
    assert_eq!(state.egress_dropped.frames, 3);
    assert_eq!(state.config.sub_queues, 2);
}

#[test]
fn a_frame_that_egress_has_seen_is_sent_as_it_is_wherever_it_is_put() {
    let mut bench = Bench::new(4);
    // Egress makes it longer than the tokens that are left: it is held.
    bench.receive(1, SEND, 0);
    bench.receive(3, GROW, 1);
    bench.now = 478_000;
    bench.poll();
    bench.receive(1, SEND, 2);
    bench.configure(2);
    bench.receive(1, SEND, 3);
    assert_eq!(bench.finish(), [0, 2, 1, 3]);
    // Long enough to grow a second time, if egress were to see it again.
    let state = &bench.device.traffic_manager_state(bench.now).service_flows[0];
    assert_eq!(state.dequeued.frames, 4);
    let sent = &bench.device.traffic_manager_state(bench.now).ports[1].sent;
    assert_eq!(sent.bytes as usize, 4 * LEN + 32);
}
