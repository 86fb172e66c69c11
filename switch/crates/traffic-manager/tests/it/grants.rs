// SPDX-License-Identifier: Apache-2.0
//! Ports whose frames are let go by grants: what may be asked for when, what a grant takes, and
//! who is told.

use crate::plain::Tokens;
use proptest::prelude::*;
use traffic_manager::{
    Commit, Configuration, PEAK_BURST, PortConfig, QueueId, ServiceFlowConfig, Slot, Traffic,
    TrafficManager,
};

const PORT: u16 = 1;
const FLOW: u32 = 1;
/// A byte, in bit/s times nanoseconds.
const BYTE: i128 = 8_000_000_000;

fn id(queue_id: u32) -> QueueId {
    QueueId {
        port: PORT,
        queue_id,
    }
}

/// Port 1 is granted, with queue 1 for its primary service flow; port 2 is not.
fn manager(flows: Vec<ServiceFlowConfig>) -> TrafficManager<u64> {
    let mut tm = TrafficManager::default();
    tm.add_port(PORT);
    tm.add_port(2);
    tm.set_granted(0, PORT, FLOW).unwrap();
    configure(&mut tm, 0, flows);
    tm
}

fn configure(tm: &mut TrafficManager<u64>, now: u64, service_flows: Vec<ServiceFlowConfig>) {
    let request = Configuration {
        service_flows,
        ..Default::default()
    };
    tm.configure(now, &request, &mut |_| ()).unwrap();
}

fn slot(tm: &TrafficManager<u64>) -> Slot {
    tm.lookup(id(FLOW)).unwrap()
}

fn flow(rate: u64, burst: u64, peak: u64) -> ServiceFlowConfig {
    ServiceFlowConfig {
        queue: id(FLOW),
        max_sustained_rate: rate,
        max_burst: burst,
        peak_rate: peak,
        ..Default::default()
    }
}

/// A grant lets the head go, if it may.
fn take(tm: &mut TrafficManager<u64>, now: u64, len: usize) -> Option<u64> {
    let slot = slot(tm);
    tm.grant(now, slot, u32::MAX)?;
    match tm.commit(len) {
        Some(Commit::Sent(item)) => Some(item),
        _ => None,
    }
}

#[derive(Debug, Clone)]
enum Step {
    /// Time passes, ns.
    Wait(u64),
    /// Until more may be asked for, and so much longer.
    More(u64),
    /// A frame of so many bytes comes, to a sub-queue.
    Arrive(usize, u32),
    /// A grant of so many frames.
    Take(u8),
    /// Egress drops the head.
    Discard,
    /// Egress recirculates the head, or the modem gives it up.
    Withdraw,
    /// Egress makes the head so much longer.
    Longer(usize),
    /// Other rates, with the tokens that there are.
    Configure(ServiceFlowConfig),
}

fn rates() -> impl Strategy<Value = ServiceFlowConfig> {
    (
        prop_oneof![Just(0u64), 10_000u64..1_000_000_000],
        1522u64..30_000,
        prop_oneof![Just(0u64), 10_000u64..1_000_000_000],
    )
        .prop_map(|(rate, burst, peak)| flow(rate, burst, peak))
}

/// What changes no frame's place in the order or its length.
fn plain_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0u64..3_000_000).prop_map(Step::Wait),
        prop_oneof![Just(0u64), 0u64..100_000].prop_map(Step::More),
        (64usize..1523, 0u32..8).prop_map(|(len, sub)| Step::Arrive(len, sub)),
        (64usize..1523, 0u32..8).prop_map(|(len, sub)| Step::Arrive(len, sub)),
        any::<u8>().prop_map(Step::Take),
    ]
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => plain_step(),
        1 => Just(Step::Discard),
        1 => Just(Step::Withdraw),
        1 => (1usize..3000).prop_map(Step::Longer),
    ]
}

/// For all windows: bytes <= dt * rate / 8 + burst, and never more than `slack` bytes above that.
#[derive(Debug)]
struct Bound {
    rate: u64,
    burst: u64,
    lowest: i128,
}

impl Bound {
    fn new(rate: u64, burst: u64) -> Self {
        Self {
            rate,
            burst,
            lowest: 0,
        }
    }

    fn check(&mut self, now: u64, bytes: u64, slack: u64) {
        if self.rate == 0 {
            return;
        }
        let above = i128::from(bytes) * BYTE - i128::from(now) * i128::from(self.rate);
        let limit = i128::from(self.burst + slack) * BYTE;
        assert!(
            above - self.lowest <= limit,
            "{} bytes too many at {now} ns",
            (above - self.lowest - limit) / BYTE
        );
        self.lowest = self.lowest.min(above);
    }
}

/// When each frame may be asked for, found frame by frame with two plain buckets.
struct Reference {
    buckets: [Tokens; 2],
    at: u64,
    eligible: Vec<(u64, u64)>,
}

impl Reference {
    fn arrive(&mut self, now: u64, bytes: u64) {
        let ready = self.buckets.iter().map(|bucket| bucket.ready_at(bytes));
        self.at = ready.fold(self.at.max(now), u64::max);
        for bucket in &mut self.buckets {
            bucket.pass(self.at);
            if bucket.rate > 0 {
                bucket.spend(bytes);
            }
        }
        self.eligible.push((self.at, bytes));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(128) })]

    /// Each frame may be asked for when both buckets have it: to the nanosecond, whenever and
    /// however often somebody looks, and whenever grants come.
    #[test]
    fn frames_become_eligible_as_from_two_plain_buckets(
        rates in rates(),
        steps in prop::collection::vec(plain_step(), 1..150),
    ) {
        let mut tm = manager(vec![rates]);
        let mut reference = Reference {
            buckets: [
                Tokens::full(rates.max_sustained_rate, rates.max_burst),
                Tokens::full(rates.peak_rate, PEAK_BURST),
            ],
            at: 0,
            eligible: Vec::new(),
        };
        let (mut now, mut left) = (0, 0usize);
        for step in steps {
            let slot = slot(&tm);
            match step {
                Step::Wait(ns) => now += ns,
                Step::More(beyond) => {
                    now = tm.backlog(now, slot).more_at.unwrap_or(now).max(now) + beyond;
                }
                Step::Arrive(len, _) => {
                    reference.arrive(now, len as u64);
                    let number = reference.eligible.len() as u64 - 1;
                    prop_assert!(tm.enqueue(now, slot, 0, len, number).is_ok());
                }
                Step::Take(frames) => for _ in 0..frames {
                    let next = reference.eligible.get(left).filter(|(at, _)| *at <= now);
                    let len = next.map_or(64, |(_, len)| *len as usize);
                    prop_assert_eq!(take(&mut tm, now, len), next.map(|_| left as u64));
                    if next.is_none() {
                        break;
                    }
                    left += 1;
                },
                _ => unreachable!(),
            }
            let backlog = tm.backlog(now, slot);
            let waiting = &reference.eligible[left..];
            let count = |until: u64| {
                let mut traffic = Traffic::default();
                for (_, len) in waiting.iter().take_while(|(at, _)| *at <= until) {
                    traffic.count(*len as usize);
                }
                traffic
            };
            prop_assert_eq!(backlog.waiting, count(u64::MAX));
            prop_assert_eq!(backlog.eligible, count(now));
            let more = waiting.iter().find(|(at, _)| *at > now);
            prop_assert_eq!(backlog.more_at, more.map(|(at, _)| *at));
            prop_assert_eq!(backlog.head.map(u64::from), waiting.first().map(|(_, len)| *len));
            let lengths = (0..).map_while(|place| tm.length_at(slot, place)).map(u64::from);
            prop_assert!(lengths.eq(waiting.iter().map(|(_, len)| *len)));
            // A grant that is shorter than the head is of no use.
            let shorter = backlog.head.unwrap_or(1) - 1;
            prop_assert!(tm.grant(now, slot, shorter).is_none());
            // Nothing goes by itself.
            prop_assert_eq!((tm.offer(now), tm.next_deadline()), (None, None));
        }
        let mut bounds = [
            Bound::new(rates.max_sustained_rate, rates.max_burst),
            Bound::new(rates.peak_rate, PEAK_BURST),
        ];
        let mut bytes = 0;
        for (at, len) in reference.eligible {
            bytes += len;
            bounds.iter_mut().for_each(|bound| bound.check(at, bytes, 0));
        }
    }

    /// Whatever egress does and however frames lie in sub-queues: what has left and what may be
    /// asked for is within both inequalities, every frame leaves once, counted, and in the order
    /// of its sub-queue, and none is stuck.
    #[test]
    fn nothing_is_asked_for_beyond_the_buckets_and_nothing_is_lost(
        rates in rates(),
        sub_queues in prop_oneof![Just(0u32), 1u32..6],
        steps in prop::collection::vec(any_step(), 1..200),
    ) {
        let rates = ServiceFlowConfig { sub_queues, ..rates };
        let mut tm = manager(vec![rates]);
        let mut bounds = [
            Bound::new(rates.max_sustained_rate, rates.max_burst),
            Bound::new(rates.peak_rate, PEAK_BURST),
        ];
        let (mut now, mut sent, mut next) = (0, 0, 0u64);
        let mut lengths = Vec::new();
        let mut gone: Vec<u64> = Vec::new();
        let slot = slot(&tm);
        // At last all that is still there leaves.
        let end = std::iter::repeat_n([Step::More(0), Step::Take(255)], 2000).flatten();
        for step in steps.into_iter().chain(end) {
            match step {
                Step::Wait(ns) => now += ns,
                Step::More(beyond) => {
                    now = tm.backlog(now, slot).more_at.unwrap_or(now).max(now) + beyond;
                }
                Step::Arrive(len, sub_queue) => {
                    if tm.enqueue(now, slot, sub_queue, len, next).is_ok() {
                        lengths.push((len, sub_queue % sub_queues.max(1)));
                        next += 1;
                    }
                }
                Step::Take(frames) => for _ in 0..frames {
                    if tm.grant(now, slot, u32::MAX).is_none() {
                        break;
                    }
                    // The item's length, or what egress has made of it.
                    let at = *tm.offered_mut().unwrap() as usize;
                    let len = lengths[at].0;
                    match tm.commit(len).unwrap() {
                        Commit::Sent(item) => {
                            gone.push(item);
                            sent += len as u64;
                        }
                        Commit::Held(_) => break,
                        Commit::TooLong(item) => gone.push(item),
                    }
                },
                Step::Discard => if tm.grant(now, slot, u32::MAX).is_some() {
                    gone.extend(tm.discard());
                },
                Step::Withdraw => if tm.grant(now, slot, u32::MAX).is_some() {
                    gone.extend(tm.withdraw());
                },
                Step::Longer(by) => if tm.grant(now, slot, u32::MAX).is_some() {
                    let at = *tm.offered_mut().unwrap() as usize;
                    // Egress does that once.
                    let len = lengths[at].0 + by;
                    lengths[at].0 = len;
                    match tm.commit(len).unwrap() {
                        Commit::Sent(item) => {
                            gone.push(item);
                            sent += len as u64;
                        }
                        Commit::Held(_) => {}
                        Commit::TooLong(item) => gone.push(item),
                    }
                },
                Step::Configure(_) => unreachable!(),
            }
            let backlog = tm.backlog(now, slot);
            prop_assert!(backlog.eligible.frames <= backlog.waiting.frames);
            for bound in &mut bounds {
                // Part of a frame may have been allowed already that cannot be seen yet, and what
                // nobody needs any more comes back.
                bound.check(now, sent + backlog.eligible.bytes, 3 * PEAK_BURST);
                // Since the start there is no such part.
                Bound::new(bound.rate, bound.burst).check(now, sent, 0);
            }
            prop_assert_eq!(backlog.eligible.frames > 0, tm.grant(now, slot, u32::MAX).is_some());
            prop_assert_eq!(backlog.waiting.frames + gone.len() as u64, next);
            let state = tm.service_flows(now)[0];
            prop_assert_eq!(state.enqueued.frames, next);
            // A frame that egress has made too long is counted as overflow on top.
            let left = state.dequeued.bytes + state.egress_dropped.bytes + state.queued.bytes;
            prop_assert!(left <= state.enqueued.bytes);
            prop_assert!(state.enqueued.bytes <= left + state.overflow.bytes);
        }
        prop_assert_eq!(gone.len() as u64, next, "frames are stuck");
        for sub_queue in 0..sub_queues.max(1) {
            let of_sub_queue = |item: &&u64| lengths[**item as usize].1 == sub_queue;
            let order: Vec<_> = gone.iter().filter(of_sub_queue).collect();
            prop_assert!(order.is_sorted());
        }
    }

    /// Tokens are neither made nor lost by changes of the rates: bytes that left or may be asked
    /// for are within what the rates in force let come, and the deepest bucket.
    #[test]
    fn rates_change_while_frames_wait(
        first in rates(),
        steps in prop::collection::vec(
            prop_oneof![6 => any_step(), 1 => rates().prop_map(Step::Configure)], 1..150,
        ),
    ) {
        let mut tm = manager(vec![first]);
        let slot = slot(&tm);
        let (mut now, mut earned, mut sent) = (0u64, i128::from(first.max_burst) * BYTE, 0);
        let (mut rates, mut limited, mut changed) = (first, first.max_sustained_rate > 0, 0);
        for step in steps {
            let before = now;
            match step {
                Step::Wait(ns) | Step::More(ns) => now += ns,
                Step::Arrive(len, _) => drop(tm.enqueue(now, slot, 0, len, len as u64)),
                Step::Take(_) => while let Some(offer) = tm.grant(now, slot, u32::MAX) {
                    prop_assert_eq!(offer.queue, id(FLOW));
                    let len = *tm.offered_mut().unwrap();
                    prop_assert!(matches!(tm.commit(len as usize), Some(Commit::Sent(_))));
                    sent += len;
                },
                Step::Configure(config) => {
                    rates = config;
                    limited &= config.max_sustained_rate > 0;
                    configure(&mut tm, now, vec![config]);
                    changed += 1;
                }
                _ => if tm.grant(now, slot, u32::MAX).is_some() {
                    tm.discard();
                },
            }
            earned += i128::from(now - before) * i128::from(rates.max_sustained_rate);
            let backlog = tm.backlog(now, slot);
            if limited {
                let asked = i128::from(sent + backlog.eligible.bytes) * BYTE;
                prop_assert!(asked <= earned, "after {} changes", changed);
            }
            let state = tm.service_flows(now)[0];
            prop_assert!(u128::from(state.sustained_tokens) <= u128::from(rates.max_burst) * 8_000_000);
            if backlog.more_at.is_none() || backlog.eligible.frames > 0 {
                continue;
            }
            // Who waits is told the right moment.
            let at = backlog.more_at.unwrap();
            prop_assert!(at > now);
        }
    }
}

#[test]
fn a_modem_that_has_nothing_to_ask_for_is_told_when_it_has() {
    // 1000 bytes a millisecond, and one frame of 1522 saved up.
    let mut tm = manager(vec![flow(8_000_000, 1522, 0)]);
    let slot = slot(&tm);
    assert_eq!(tm.next_notice(), None);
    for number in 0..3 {
        tm.enqueue(1000, slot, 0, 1000, number).unwrap();
    }
    // Once, and not for each frame.
    let notice = tm.next_notice().unwrap();
    assert_eq!((notice.queue, notice.at), (id(FLOW), 1000));
    assert_eq!(tm.next_notice(), None);
    assert_eq!(take(&mut tm, 1000, 1000), Some(0));
    // The rest waits: whoever took the first has seen until when.
    let backlog = tm.backlog(1000, slot);
    assert_eq!(backlog.eligible.frames, 0);
    assert_eq!(backlog.more_at, Some(1000 + 478_000));
    assert_eq!(take(&mut tm, 478_999, 1000), None);
    assert_eq!(take(&mut tm, 479_000, 1000), Some(1));
    assert_eq!(take(&mut tm, 3_000_000, 1000), Some(2));
    // The queue was empty; what comes now may only be asked for later.
    tm.enqueue(3_000_000, slot, 0, 1522, 3).unwrap();
    let at = tm.next_notice().unwrap().at;
    assert!(at > 3_000_000);
    assert_eq!(take(&mut tm, at - 1, 1522), None);
    // Another rate: another moment.
    configure(&mut tm, at - 1, vec![flow(0, 0, 0)]);
    assert_eq!(tm.next_notice().unwrap().at, at - 1);
    // A frame that has left in the meantime is no news.
    configure(&mut tm, at - 1, vec![flow(0, 0, 0)]);
    assert_eq!(take(&mut tm, at - 1, 1522), Some(3));
    assert_eq!(tm.next_notice(), None);
}

#[test]
fn what_egress_drops_is_the_next_frame_s_to_ask_for() {
    let mut tm = manager(vec![flow(8_000, 3000, 0)]);
    let slot = slot(&tm);
    for number in 0..4 {
        tm.enqueue(0, slot, 0, 1500, number).unwrap();
    }
    assert_eq!(tm.backlog(0, slot).eligible.frames, 2);
    tm.grant(0, slot, u32::MAX).unwrap();
    assert_eq!(tm.discard(), Some(0));
    // As many as before, as no token was spent.
    assert_eq!(tm.backlog(0, slot).eligible.frames, 2);
    assert_eq!(take(&mut tm, 0, 1500), Some(1));
    assert_eq!(take(&mut tm, 0, 1500), Some(2));
    assert_eq!(take(&mut tm, 0, 1500), None);
    // A queue that is empty needs no tokens: they come back, as far as there is room.
    let at = tm.backlog(0, slot).more_at.unwrap();
    tm.grant(at, slot, u32::MAX).unwrap();
    assert_eq!(tm.discard(), Some(3));
    assert_eq!(tm.service_flows(at)[0].sustained_tokens, 1500 * 8_000_000);
}

#[test]
fn tokens_that_may_have_been_asked_for_are_not_shown_twice() {
    let mut tm = manager(vec![flow(8_000_000, 3000, 0)]);
    let slot = slot(&tm);
    tm.enqueue(0, slot, 0, 1500, 0).unwrap();
    tm.enqueue(0, slot, 0, 1522, 1).unwrap();
    let tokens = |tm: &TrafficManager<u64>, now| tm.service_flows(now)[0].sustained_tokens;
    // The second frame's are complete 22 us later, and gone in that moment, asked for or not.
    assert_eq!(tokens(&tm, 0), 1500 * 8_000_000);
    assert_eq!(tokens(&tm, 21_999), 1_521_999 * 8_000);
    assert_eq!(tokens(&tm, 22_000), 0);
    assert_eq!(tm.backlog(22_000, slot).eligible.frames, 2);
    assert_eq!(tokens(&tm, 22_000), 0);
}

#[test]
fn what_egress_makes_longer_than_was_asked_for_waits_for_tokens() {
    let mut tm = manager(vec![flow(8_000_000, 3000, 0)]);
    let slot = slot(&tm);
    tm.enqueue(0, slot, 0, 1400, 0).unwrap();
    tm.enqueue(0, slot, 0, 1000, 1).unwrap();
    tm.grant(0, slot, u32::MAX).unwrap();
    // 600 are left in the bucket and 1000 asked for on account of the next frame.
    assert!(matches!(tm.commit(3000), Some(Commit::Sent(0))));
    assert_eq!(tm.backlog(0, slot).more_at, Some(1_000_000));
    tm.grant(1_000_000, slot, u32::MAX).unwrap();
    assert!(matches!(tm.commit(1500), Some(Commit::Held(1))));
    assert_eq!(tm.backlog(1_000_000, slot).head, Some(1500));
    assert!(tm.grant(1_499_999, slot, u32::MAX).is_none());
    assert_eq!(take(&mut tm, 1_500_000, 1500), Some(1));
    // Longer than the bucket is deep: it never could.
    tm.enqueue(9_000_000, slot, 0, 1000, 2).unwrap();
    tm.grant(9_000_000, slot, u32::MAX).unwrap();
    assert!(matches!(tm.commit(3001), Some(Commit::TooLong(2))));
    assert_eq!(tm.service_flows(9_000_000)[0].overflow.frames, 1);
}

#[test]
fn frames_without_a_service_flow_are_the_primary_one_s() {
    let mut tm = manager(vec![]);
    let own = tm.lookup(id(0)).unwrap();
    // A modem without service flows sends nothing.
    assert_eq!(tm.enqueue(0, own, 0, 100, 0), Err(0));
    assert_eq!(tm.port_state(PORT).unwrap().1.frames, 1);
    configure(&mut tm, 0, vec![flow(0, 0, 0)]);
    let own = tm.lookup(id(0)).unwrap();
    tm.enqueue(0, own, 0, 100, 1).unwrap();
    assert_eq!(tm.next_notice().unwrap().queue, id(FLOW));
    assert_eq!(tm.service_flows(0)[0].queued.frames, 1);
    assert_eq!(take(&mut tm, 0, 100), Some(1));
    // It goes, and another comes.
    tm.enqueue(0, own, 0, 100, 2).unwrap();
    let removed = Configuration {
        removed: vec![id(FLOW)],
        ..Default::default()
    };
    let mut flushed = Vec::new();
    tm.configure(0, &removed, &mut |item| flushed.push(item))
        .unwrap();
    assert_eq!((flushed, tm.next_notice()), (vec![2], None));
    let own = tm.lookup(id(0)).unwrap();
    assert_eq!(tm.enqueue(0, own, 0, 100, 3), Err(3));
    configure(&mut tm, 0, vec![flow(0, 0, 0)]);
    let own = tm.lookup(id(0)).unwrap();
    tm.enqueue(0, own, 0, 100, 4).unwrap();
    assert_eq!(take(&mut tm, 0, 100), Some(4));
}

#[test]
fn a_flush_gives_back_what_was_allowed() {
    let mut tm = manager(vec![flow(8, 3000, 0)]);
    let slot = slot(&tm);
    for number in 0..3 {
        tm.enqueue(0, slot, 0, 1000, number).unwrap();
    }
    let mut flushed = 0;
    tm.flush(0, &mut |_| flushed += 1);
    assert_eq!((flushed, tm.next_notice()), (3, None));
    assert_eq!(tm.service_flows(0)[0].sustained_tokens, 3000 * 8_000_000);
    tm.enqueue(0, slot, 0, 1000, 9).unwrap();
    assert_eq!(tm.next_notice().map(|notice| notice.at), Some(0));
    assert_eq!(take(&mut tm, 0, 1000), Some(9));
}

#[test]
fn other_ports_send_by_themselves() {
    let mut tm = manager(vec![flow(0, 0, 0)]);
    let other = QueueId {
        port: 2,
        queue_id: 0,
    };
    let other = tm.lookup(other).unwrap();
    let slot = slot(&tm);
    tm.enqueue(0, slot, 0, 100, 1).unwrap();
    tm.enqueue(0, other, 0, 100, 2).unwrap();
    assert_eq!(tm.backlog(0, other).eligible.frames, 0);
    assert!(tm.grant(0, other, u32::MAX).is_none());
    assert_eq!(tm.offer(0).unwrap().queue.port, 2);
    assert_eq!(tm.commit(100), Some(Commit::Sent(2)));
    assert_eq!(tm.offer(0), None);
    assert_eq!(take(&mut tm, 0, 100), Some(1));
    assert!(tm.is_empty());
}

#[test]
fn what_a_granted_port_cannot_have_is_refused_by_name() {
    let mut tm = manager(vec![flow(0, 0, 0)]);
    let words = |result: Result<(), traffic_manager::ConfigError>| result.unwrap_err().to_string();
    assert_eq!(words(tm.set_granted(0, 7, 1)), "port 7: no such port");
    assert!(words(tm.set_granted(0, 2, 0)).starts_with("port 2: queue_id 0 cannot be"));
    let port = |config: PortConfig| Configuration {
        ports: vec![config],
        ..Default::default()
    };
    for (field, config) in [
        (
            "rate is 5,",
            PortConfig {
                rate: 5,
                ..Default::default()
            },
        ),
        (
            "transmit_delay_ns is 7,",
            PortConfig {
                transmit_delay_ns: 7,
                ..Default::default()
            },
        ),
        (
            "transmit_jitter_ns is 8,",
            PortConfig {
                transmit_jitter_ns: 8,
                ..Default::default()
            },
        ),
        (
            "transmit_loss_ppm is 9,",
            PortConfig {
                transmit_loss_ppm: 9,
                ..Default::default()
            },
        ),
    ] {
        let granted = port(PortConfig {
            port: PORT,
            ..config
        });
        let refused = words(tm.configure(0, &granted, &mut |_| ()));
        assert!(
            refused.starts_with(&format!("port 1: {field}")),
            "{refused}"
        );
        let other = port(PortConfig { port: 2, ..config });
        tm.configure(0, &other, &mut |_| ()).unwrap();
        let refused = words(tm.set_granted(0, 2, 1));
        assert!(
            refused.starts_with(&format!("port 2: {field}")),
            "{refused}"
        );
    }
    let plain = port(PortConfig {
        port: 2,
        ..Default::default()
    });
    tm.configure(0, &plain, &mut |_| ()).unwrap();
    let other = QueueId {
        port: 2,
        queue_id: 0,
    };
    let other = tm.lookup(other).unwrap();
    tm.enqueue(0, other, 0, 100, 2).unwrap();
    assert!(words(tm.set_granted(0, 2, 1)).starts_with("port 2: it has frames"));
    assert!(!tm.is_granted(2) && tm.is_granted(PORT));
}
