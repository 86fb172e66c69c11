// SPDX-License-Identifier: Apache-2.0
//! Minimum reserved rates, one by one: who goes first, what spends the
//! reservation, what is saved up, and what becomes of it when something changes.

use traffic_manager::{
    Commit, Configuration, PortConfig, QueueId, ServiceFlowConfig, ServiceFlowState, TrafficManager,
};

const PORT: u16 = 1;
/// A byte a nanosecond, in bit/s.
const BYTE_RATE: u64 = 8_000_000_000;

fn flow(queue_id: u32, priority: u8, min: u64) -> ServiceFlowConfig {
    ServiceFlowConfig {
        queue: QueueId {
            port: PORT,
            queue_id,
        },
        traffic_priority: priority,
        min_reserved_rate: min,
        ..Default::default()
    }
}

struct Bench {
    tm: TrafficManager<u64>,
    now: u64,
}

impl Bench {
    fn new(rate: u64, flows: &[ServiceFlowConfig]) -> Self {
        let mut tm = TrafficManager::default();
        tm.add_port(PORT);
        let mut bench = Self { tm, now: 0 };
        bench.port(rate);
        flows.iter().for_each(|flow| bench.set(*flow));
        bench
    }

    fn apply(&mut self, request: Configuration) -> usize {
        let mut flushed = 0;
        let sink = &mut |_| flushed += 1;
        self.tm.configure(self.now, &request, sink).unwrap();
        flushed
    }

    fn port(&mut self, rate: u64) {
        let port = PortConfig {
            port: PORT,
            rate,
            ..Default::default()
        };
        self.apply(Configuration {
            ports: vec![port],
            ..Default::default()
        });
    }

    fn set(&mut self, flow: ServiceFlowConfig) {
        self.apply(Configuration {
            service_flows: vec![flow],
            ..Default::default()
        });
    }

    fn queue(&mut self, queue_id: u32, frames: usize, len: usize) {
        let slot = self.tm.lookup(flow(queue_id, 0, 0).queue).unwrap();
        for _ in 0..frames {
            self.tm
                .enqueue(self.now, slot, 0, len, len as u64)
                .unwrap_or_else(|_| panic!("queue {queue_id} is full"));
        }
    }

    /// Goes to the moment of the next offer; its queue.
    fn offer(&mut self) -> u32 {
        loop {
            self.now = self.now.max(self.tm.next_deadline().expect("a deadline"));
            if let Some(offer) = self.tm.offer(self.now) {
                return offer.queue.queue_id;
            }
        }
    }

    /// Sends the next frame; its queue.
    fn send(&mut self) -> u32 {
        let queue = self.offer();
        let len = *self.tm.offered_mut().unwrap() as usize;
        assert!(matches!(self.tm.commit(len), Some(Commit::Sent(_))));
        queue
    }

    fn sends(&mut self, frames: usize) -> Vec<u32> {
        (0..frames).map(|_| self.send()).collect()
    }

    fn state(&self, queue_id: u32) -> ServiceFlowState {
        let states = self.tm.service_flows(self.now);
        let of = |state: &&ServiceFlowState| state.config.queue.queue_id == queue_id;
        *states.iter().find(of).unwrap()
    }
}

#[test]
fn the_minimum_goes_before_the_priority_and_nothing_more() {
    // A tenth of the port for the flow of the lowest priority.
    let mut bench = Bench::new(BYTE_RATE, &[flow(1, 7, 0), flow(2, 0, BYTE_RATE / 10)]);
    bench.queue(1, 100, 1522);
    bench.queue(2, 100, 1522);
    // A frame saved up, then one in ten.
    assert_eq!(bench.send(), 2);
    assert_eq!(bench.sends(9), [1; 9]);
    let sent = bench.sends(50);
    for ten in sent.chunks(10) {
        assert_eq!(ten.iter().filter(|&&queue| queue == 2).count(), 1);
    }
    assert_eq!(bench.state(2).reserved, bench.state(2).dequeued);
    assert_eq!(bench.state(1).reserved.frames, 0);
}

#[test]
fn what_is_borrowed_is_not_paid_back() {
    let mut bench = Bench::new(BYTE_RATE, &[flow(1, 0, BYTE_RATE / 4), flow(2, 7, 0)]);
    // Alone, it takes all of the port; a quarter of that is its reservation.
    bench.queue(1, 110, 1000);
    assert_eq!(bench.sends(100), [1; 100]);
    let state = bench.state(1);
    assert_eq!(state.dequeued.frames, 100);
    // And what was saved up before: 1522 bytes. The port's own burst is as long.
    assert!((25..=26).contains(&state.reserved.frames), "{state:?}");
    // From the first moment on that others want the port it has its quarter, too.
    bench.queue(2, 100, 1000);
    let quarter = bench.sends(16).iter().filter(|&&queue| queue == 1).count();
    assert!((4..=5).contains(&quarter));
}

#[test]
fn the_one_that_has_been_entitled_for_longest_is_first() {
    let flows = [flow(1, 0, BYTE_RATE / 5), flow(2, 0, BYTE_RATE / 4)];
    let mut bench = Bench::new(BYTE_RATE, &[flows[0], flows[1], flow(3, 7, 0)]);
    for queue in 1..=3 {
        bench.queue(queue, 20, 1522);
    }
    // Both have saved up a frame. They have earned the next after 7610 and 6088 ns.
    assert_eq!(bench.sends(3), [1, 2, 3]);
    bench.now = 8000;
    assert_eq!(bench.sends(3), [2, 1, 3]);
}

#[test]
fn idleness_saves_up_one_frame_and_waiting_for_the_port_more() {
    let reserved = flow(1, 0, BYTE_RATE / 10);
    let mut bench = Bench::new(BYTE_RATE, &[reserved, flow(2, 7, 0)]);
    bench.now = 1_000_000;
    bench.queue(2, 100, 1522);
    bench.queue(1, 100, 1522);
    assert_eq!(bench.sends(3), [1, 2, 2]);
    // The port stands still for 100,000 ns, 10,000 bytes of the reservation; while it
    // sends those, it earns 1000 more.
    bench.now += 100_000;
    assert_eq!(bench.sends(7), [1; 7]);
    assert_eq!(bench.sends(3), [2; 3]);
}

#[test]
fn a_short_frame_counts_for_the_assumed_size() {
    let voice = ServiceFlowConfig {
        assumed_packet_size: 1000,
        ..flow(1, 0, BYTE_RATE / 2)
    };
    let mut bench = Bench::new(BYTE_RATE, &[voice, flow(2, 7, 0)]);
    bench.queue(1, 1000, 100);
    bench.queue(2, 1000, 100);
    bench.sends(1000);
    // A twentieth of the bytes at half of the rate, and the frame saved up.
    let frames = bench.state(1).reserved.frames;
    assert!((50..=52).contains(&frames), "{frames}");
    assert_eq!(bench.state(1).dequeued.frames, frames);
}

#[test]
fn its_own_rate_holds_a_flow_back_and_it_comes_back_entitled() {
    let shaped = ServiceFlowConfig {
        max_sustained_rate: BYTE_RATE / 10,
        max_burst: 1522,
        ..flow(1, 0, BYTE_RATE / 10)
    };
    let mut bench = Bench::new(BYTE_RATE, &[shaped, flow(2, 7, 0)]);
    bench.queue(1, 10, 1522);
    bench.queue(2, 100, 1522);
    let sent = bench.sends(41);
    let mine: Vec<usize> = (0..41).filter(|&n| sent[n] == 1).collect();
    // A frame in 15,220 ns, ten of the port's.
    assert_eq!(mine, [0, 10, 20, 30, 40]);
    assert_eq!(bench.state(1).reserved.frames, 5);
}

#[test]
fn whoever_asks_late_takes_nothing_from_a_reservation() {
    let shaped = ServiceFlowConfig {
        max_sustained_rate: BYTE_RATE / 2,
        max_burst: 40_000,
        initial_tokens: Some(0),
        ..flow(1, 0, BYTE_RATE / 2)
    };
    let mut bench = Bench::new(BYTE_RATE, &[shaped, flow(2, 7, 0)]);
    bench.queue(1, 20, 1522);
    bench.queue(2, 20, 1522);
    // It waited for its own rate until 3044 ns, and then for us: 10,000 bytes more.
    bench.now = 3044 + 20_000;
    assert_eq!(bench.sends(8), [1; 8]);
}

#[test]
fn another_priority_and_another_reservation_while_frames_wait() {
    let mut bench = Bench::new(BYTE_RATE, &[flow(1, 0, 0), flow(2, 3, 0), flow(3, 3, 0)]);
    for queue in 1..=3 {
        bench.queue(queue, 50, 1522);
    }
    assert_eq!(bench.sends(4), [2, 3, 2, 3]);
    bench.set(flow(3, 2, 0));
    assert_eq!(bench.sends(2), [2, 2]);
    // One frame at once, and half of the port from now on.
    bench.set(flow(1, 0, BYTE_RATE / 2));
    assert_eq!(bench.sends(5), [1, 1, 2, 1, 2]);
    // All of it: what it has saved up meanwhile stays.
    bench.set(flow(1, 0, BYTE_RATE));
    assert_eq!(bench.sends(5), [1; 5]);
    bench.set(flow(1, 0, 0));
    assert_eq!(bench.sends(3), [2; 3]);
    // It has none to lose: a frame is all it gets.
    bench.set(flow(1, 0, 1));
    assert_eq!(bench.sends(3), [1, 2, 2]);
    bench.set(flow(1, 7, 1));
    assert_eq!(bench.sends(3), [1; 3]);
}

#[test]
fn another_port_rate_while_frames_wait() {
    // The port carries a quarter of what is reserved, then all of it.
    let half = BYTE_RATE / 2;
    let mut bench = Bench::new(
        BYTE_RATE / 4,
        &[flow(1, 0, half), flow(2, 0, half), flow(3, 7, 0)],
    );
    for queue in 1..=3 {
        bench.queue(queue, 100, 1522);
    }
    let sent = bench.sends(40);
    assert_eq!(sent.iter().filter(|&&queue| queue == 1).count(), 20);
    assert_eq!(sent.iter().filter(|&&queue| queue == 2).count(), 20);
    // 240 frames' time, 40 sent: 160 frames are due to the two before the third has one
    // that would be another's.
    bench.port(2 * BYTE_RATE);
    assert!(bench.sends(100).iter().all(|&queue| queue != 3));
    // Without a rate order is all that is left.
    bench.port(0);
    let sent = bench.sends(160);
    assert_eq!(sent.iter().filter(|&&queue| queue == 3).count(), 100);
    assert!(bench.tm.is_empty());
}

#[test]
fn where_more_is_reserved_than_there_is_nobody_starves() {
    const MBIT: u64 = 1_000_000;
    let flows = [flow(1, 0, 80 * MBIT), flow(2, 0, 20 * MBIT), flow(3, 7, 0)];
    let mut bench = Bench::new(50 * MBIT, &flows);
    (1..=3).for_each(|queue| bench.queue(queue, 2, 1250));
    let mut sent = [0; 3];
    let mut until = |bench: &mut Bench, end: u64| {
        let before = sent;
        while bench.now < end {
            let queue = bench.send();
            bench.queue(queue, 1, 1250);
            sent[queue as usize - 1] += 1;
        }
        [0, 1, 2].map(|n| sent[n] - before[n])
    };
    // In proportion: 5000 frames a second, 4 of 5 and 1 of 5.
    let [first, second, third] = until(&mut bench, 1_000_000_000);
    assert!((3980..=4020).contains(&first), "{first}");
    assert!((980..=1020).contains(&second), "{second}");
    assert_eq!(third, 0);
    // Both lag by a second after two; then no minimum is made up for any more.
    until(&mut bench, 4_000_000_000);
    let [first, second, third] = until(&mut bench, 5_000_000_000);
    assert!(
        first >= 3000 && second >= 900 && third == 0,
        "{first} {second}"
    );
    // A port that carries all again makes up for one second of each.
    bench.port(200 * MBIT);
    until(&mut bench, 6_000_000_000);
    let [first, second, third] = until(&mut bench, 7_000_000_000);
    assert!((7980..=8020).contains(&first), "{first}");
    assert!((1980..=2020).contains(&second), "{second}");
    assert!((9980..=10_020).contains(&third), "{third}");
}

#[test]
fn removed_and_made_anew_it_begins_with_one_frame() {
    let reserved = flow(1, 0, BYTE_RATE / 100);
    let mut bench = Bench::new(BYTE_RATE, &[reserved, flow(2, 7, 0)]);
    bench.queue(1, 10, 1522);
    bench.queue(2, 100, 1522);
    assert_eq!(bench.sends(2), [1, 2]);
    let removed = Configuration {
        removed: vec![reserved.queue],
        ..Default::default()
    };
    assert_eq!(bench.apply(removed), 9);
    assert_eq!(bench.sends(2), [2, 2]);
    // Its slot serves the next one.
    bench.set(flow(3, 0, BYTE_RATE / 100));
    bench.queue(3, 10, 1522);
    assert_eq!(bench.sends(3), [3, 2, 2]);
    // And a flush leaves nothing in line.
    let mut flushed = 0;
    let now = bench.now;
    bench.tm.flush(now, &mut |_| flushed += 1);
    assert_eq!(flushed, 9 + 100 - 5);
    assert_eq!(bench.tm.next_deadline(), None);
    bench.now += 1_000_000;
    bench.queue(2, 5, 1522);
    bench.queue(3, 5, 1522);
    assert_eq!(bench.sends(4), [3, 2, 2, 2]);
}

#[test]
fn a_drop_in_egress_and_a_recirculation_spend_nothing() {
    let reserved = flow(1, 0, 8);
    let mut bench = Bench::new(BYTE_RATE, &[reserved, flow(2, 7, 0)]);
    bench.queue(1, 10, 1522);
    bench.queue(2, 10, 1522);
    assert_eq!(bench.offer(), 1);
    assert_eq!(bench.tm.discard(), Some(1522));
    assert_eq!(bench.offer(), 1);
    assert_eq!(bench.tm.withdraw(), Some(1522));
    assert_eq!(bench.sends(3), [1, 2, 2]);
    let state = bench.state(1);
    assert_eq!((state.reserved.frames, state.egress_dropped.frames), (1, 1));
}

#[test]
fn what_egress_makes_longer_is_spent_as_it_leaves() {
    let mut bench = Bench::new(BYTE_RATE, &[flow(1, 0, BYTE_RATE / 10), flow(2, 7, 0)]);
    bench.queue(1, 10, 522);
    bench.queue(2, 100, 1522);
    // Longer than the reservation covers, and the port lets pass: it goes, and the
    // reservation is overdrawn by 478 bytes.
    assert_eq!(bench.offer(), 1);
    assert!(matches!(bench.tm.commit(2000), Some(Commit::Sent(522))));
    assert_eq!(bench.now, 0);
    // 1000 bytes to earn: 10,000 ns, and 478 + 1522 n for the port.
    assert_eq!(bench.sends(7), [2, 2, 2, 2, 2, 2, 1]);
}

#[test]
fn what_egress_makes_longer_is_held_in_its_place() {
    let mut bench = Bench::new(BYTE_RATE, &[flow(1, 0, BYTE_RATE / 10), flow(2, 7, 0)]);
    bench.queue(2, 4, 1522);
    assert_eq!(bench.send(), 2);
    // Longer than the port lets pass at 1000 ns, and still within the reservation.
    bench.queue(1, 2, 1000);
    assert_eq!(bench.offer(), 1);
    assert_eq!(bench.now, 1000);
    assert!(matches!(bench.tm.commit(1100), Some(Commit::Held(1000))));
    assert_eq!(bench.tm.next_deadline(), Some(1100));
    assert_eq!(bench.offer(), 1);
    assert!(matches!(bench.tm.commit(1100), Some(Commit::Sent(1000))));
    // There are 532 of its tokens left; at 5780 ns there are 1000.
    assert_eq!(bench.sends(1), [2]);
    bench.now = 5000;
    assert_eq!(bench.sends(1), [2]);
    assert_eq!(bench.offer(), 1);
    assert_eq!(bench.now, 6000);
    assert!(matches!(bench.tm.commit(1600), Some(Commit::Held(1000))));
    // Not within the reservation any more: the others' priority counts again.
    assert_eq!(bench.offer(), 2);
    assert_eq!(bench.tm.discard(), Some(1522));
    assert_eq!(bench.offer(), 1);
    assert!(matches!(bench.tm.commit(1600), Some(Commit::Sent(1000))));
    assert_eq!(bench.state(1).reserved.frames, 1);
}

#[test]
fn a_short_entitled_frame_does_not_wait_for_tokens_for_a_long_one() {
    let mut bench = Bench::new(BYTE_RATE, &[flow(1, 0, BYTE_RATE / 10), flow(2, 7, 0)]);
    bench.queue(2, 3, 1522);
    assert_eq!(bench.send(), 2);
    bench.queue(1, 16, 100);
    // 15 of the 1522 bytes saved up; the port has 0, so one each 100 ns.
    assert_eq!(bench.sends(15), [1; 15]);
    assert_eq!(bench.now, 1500);
    // At 1500 ns, 172 bytes: the next is entitled already; then the long one.
    assert_eq!(bench.sends(2), [1, 2]);
    assert_eq!(bench.now, 1600 + 1522);
    // Entitled 100 ns after this, long before the port has 1522 bytes.
    bench.queue(1, 5, 40);
    let before = bench.now;
    assert_eq!(bench.sends(1), [1]);
    assert_eq!(bench.now, before + 40);
}

#[test]
fn many_changes_leave_no_timers_behind() {
    let slow = |rate| ServiceFlowConfig {
        max_sustained_rate: rate,
        max_burst: 1522,
        initial_tokens: Some(0),
        ..flow(1, 0, 1)
    };
    let mut bench = Bench::new(1000, &[slow(1), flow(2, 0, 1)]);
    bench.queue(1, 1, 1500);
    bench.queue(2, 2, 1522);
    bench.send();
    for change in 0..10_000 {
        bench.set(slow(1 + change % 3));
        bench.now += 1;
        bench.tm.next_deadline();
    }
    // As many as are confirmed, and some: the debug view tells.
    let seen = format!("{:?}", bench.tm);
    assert!(seen.matches("Reverse(").count() < 200);
}
