// SPDX-License-Identifier: Apache-2.0
//! The loop of the devices' thread: what it receives and sends together, when it wakes, and what it
//! does with ports that are full, that vanish, and that come back.

use super::far_end::{FarEnd, Line, Traffic};
use super::faulty::{Faults, Faulty, Troubled};
use super::stand::{Setup, Stand, begin, frame, number};
use super::world::{AnotherLink, Fake, World};
use crate::control::Command;
use crate::port::BATCH;
use device::{Configuration, DeviceConfig, ModelKind, PortConfig};
use std::sync::{Arc, Mutex};

const US: u64 = 1_000;
const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;
/// Time that a look at the clock takes.
const LOOK: u64 = 1;
/// Looks at the clock between a due time and the call that sends, at the most, without other work.
const LOOKS: u64 = 20;

/// Frames that reached a far end, with the times at which they were sent.
type Sent = Arc<Mutex<Vec<(u64, Vec<u8>)>>>;

/// A far end that sends what is listed, takes at its line's speed, and keeps what it gets.
fn far_end(traffic: Vec<(u64, Vec<u8>)>, line: Line) -> (FarEnd, Sent) {
    let sent = Sent::default();
    let kept = Arc::clone(&sent);
    let sink = move |now, frame: &[u8]| kept.lock().unwrap().push((now, frame.to_vec()));
    let traffic: Traffic = Box::new(traffic.into_iter());
    let end = FarEnd::new(traffic, usize::MAX, line, Box::new(sink));
    (end, sent)
}

/// Two far ends: the first sends `traffic`, the second has `line`; what reaches that.
fn one_way(traffic: Vec<(u64, Vec<u8>)>, line: Line) -> (Arc<World>, Sent) {
    let (near, _) = far_end(traffic, Line::default());
    let (far, sent) = far_end(Vec::new(), line);
    (World::new(LOOK, vec![near, far]), sent)
}

/// Port 2 sends at a rate, bit/s.
fn shaped(rate: u64) -> Configuration {
    Configuration {
        ports: vec![PortConfig {
            port: 2,
            rate,
            queue_limit: 64 << 20,
            ..Default::default()
        }],
        ..Default::default()
    }
}

fn numbers(sent: &Sent) -> Vec<u64> {
    let sent = sent.lock().unwrap();
    sent.iter().map(|(_, bytes)| number(bytes)).collect()
}

/// More frames than a batch holds come at once: none of them waits for another to come.
#[test]
fn no_frame_waits_behind_a_full_batch() {
    let few = BATCH as u64;
    for count in [1, few - 1, few, few + 1, 3 * few + 7, 1_000] {
        let traffic = (0..count).map(|n| (MS, frame(n, 60))).collect();
        let (world, sent) = one_way(traffic, Line::default());
        let stand = Stand::<Fake>::new(&world, world.ports(), &Setup::default());
        let outcome = stand.run(SECOND, MS);
        assert_eq!(numbers(&sent), (0..count).collect::<Vec<_>>());
        // A handful of looks for each frame, and no sleep between them.
        let last = sent.lock().unwrap().last().unwrap().0;
        assert!(last - MS < LOOKS * (count + 10), "{count}: {}", last - MS);
        assert!(world.sleeps() < 5, "{count}: {} sleeps", world.sleeps());
        outcome.assert_device_balances();
    }
}

/// Frames of several calls to a port, and of both ports, are given to the device in the order in
/// which they came, at the times at which they did.
#[test]
fn frames_that_waited_are_merged_by_the_time_at_which_they_came() {
    let ours = |from: u64| {
        let own = (0..150).map(move |n| (MS + 200 * n + from, frame(2 * n + from / 100, 60)));
        own.collect::<Vec<_>>()
    };
    let (one, at_one) = far_end(ours(0), Line::default());
    let (two, at_two) = far_end(ours(100), Line::default());
    let world = World::new(LOOK, vec![one, two]);
    // The thread wakes when all of them wait.
    world.set_oversleep(|| 2 * MS);
    let setup = Setup {
        captures: true,
        ..Setup::default()
    };
    let stand = Stand::<Fake>::new(&world, world.ports(), &setup);
    let outcome = stand.run(SECOND, MS);
    // No time is lost: the device saw each at its own, and it was due at that time.
    assert_eq!(outcome.came(1), ours(0));
    assert_eq!(outcome.came(2), ours(100));
    assert_eq!(outcome.left(2), ours(0));
    assert_eq!(outcome.left(1), ours(100));
    assert_eq!(numbers(&at_two).len() + numbers(&at_one).len(), 300);
    outcome.assert_device_balances();
}

/// A frame of 60 bytes counts for 64: one each 64 us at 8 Mbit/s.
const RATE: u64 = 8_000_000;
const EVERY: u64 = 64 * US;

/// What is due leaves at its due time: to the nanosecond by the schedule, and on the wire as soon
/// after it as a few looks at the clock take, never before it.
#[test]
fn what_is_due_leaves_at_its_due_time() {
    let traffic = (0..200).map(|n| (MS, frame(n, 60))).collect();
    let (world, sent) = one_way(traffic, Line::default());
    let setup = Setup {
        configuration: shaped(RATE),
        captures: true,
        ..Setup::default()
    };
    let outcome = Stand::<Fake>::new(&world, world.ports(), &setup).run(SECOND, MS);
    let due: Vec<u64> = outcome.left(2).into_iter().map(|(at, _)| at).collect();
    assert_eq!(due.len(), 200);
    // What the port has saved up leaves at once.
    assert_eq!(due[0], MS);
    let shaped = due.windows(2).filter(|pair| pair[1] > MS);
    assert!(shaped.clone().count() > 150);
    // The first of them waits for what is left of a frame's tokens.
    assert!(shaped.skip(1).all(|pair| pair[1] - pair[0] == EVERY));
    let sent = sent.lock().unwrap();
    for (due, (at, _)) in due.iter().zip(&*sent).filter(|(due, _)| **due > MS + US) {
        assert!(at >= due, "{at} is before {due}");
        assert!(at - due <= LOOKS * LOOK, "late by {}", at - due);
    }
    let (most, count) = outcome.lateness();
    assert!(count == 200 && most < LOOKS * 200, "{most} {count}");
    assert_eq!(outcome.jumps(), (0, 0));
}

/// The thread wakes late: what was due leaves late, which is counted, and by the schedule nothing
/// changes. No rate is lost either: frames that were due meanwhile leave together.
#[test]
fn a_late_wake_up_is_counted_and_costs_no_rate() {
    const LATE: u64 = 3 * MS;
    let traffic: Vec<_> = (0..200).map(|n| (MS, frame(n, 60))).collect();
    let run = |late: u64| {
        let (world, sent) = one_way(traffic.clone(), Line::default());
        let mut sleeps = 0;
        world.set_oversleep(move || {
            sleeps += 1;
            if sleeps == 100 { late } else { 0 }
        });
        let setup = Setup {
            configuration: shaped(RATE),
            captures: true,
            ..Setup::default()
        };
        let outcome = Stand::<Fake>::new(&world, world.ports(), &setup).run(SECOND, MS);
        let sent = sent.lock().unwrap().clone();
        (outcome, sent)
    };
    let (in_time, on_time) = run(0);
    let (late, after) = run(LATE);
    assert_eq!(late.left(2), in_time.left(2));
    // It sleeps until shortly before a departure.
    let (most, count) = late.lateness();
    assert!((LATE - 100 * US..LATE + 10 * US).contains(&most), "{most}");
    assert_eq!((count, late.jumps()), (200, (0, 0)));
    let together = after.windows(2).filter(|pair| pair[1].0 - pair[0].0 < US);
    let as_always = on_time.windows(2).filter(|pair| pair[1].0 - pair[0].0 < US);
    let more = together.count() - as_always.count();
    assert!((40..=48).contains(&more), "{more} frames left together");
    // The last frame leaves when it is due.
    let end = |sent: &[(u64, Vec<u8>)]| sent.last().unwrap().0;
    assert!(end(&after).abs_diff(end(&on_time)) < US);
}

/// A thread that wakes later than it makes up for: time jumps by what is beyond the bound.
#[test]
fn time_jumps_where_the_thread_is_later_than_the_bound() {
    let traffic: Vec<_> = (0..200).map(|n| (MS, frame(n, 60))).collect();
    let (world, sent) = one_way(traffic, Line::default());
    let mut sleeps = 0;
    world.set_oversleep(move || {
        sleeps += 1;
        if sleeps == 100 { 50 * MS } else { 0 }
    });
    let setup = Setup {
        configuration: shaped(RATE),
        config: DeviceConfig {
            lateness_bound: 2 * MS,
            ..DeviceConfig::default()
        },
        ..Setup::default()
    };
    let outcome = Stand::<Fake>::new(&world, world.ports(), &setup).run(SECOND, MS);
    let (jumps, jumped) = outcome.jumps();
    assert_eq!(jumps, 1);
    assert!((47 * MS..=48 * MS).contains(&jumped), "{jumped}");
    assert_eq!(numbers(&sent), (0..200).collect::<Vec<_>>());
    outcome.assert_device_balances();
}

/// An interface vanishes, and another one of its name comes: frames that were to leave meanwhile
/// are counted as failed, the thread sleeps in the meantime, and then all is as before.
#[test]
fn a_port_goes_and_comes_back() {
    for vanishes in [false, true] {
        // A frame a millisecond, both ways.
        let traffic = |from: u64| {
            let own = (0..100).map(move |n| ((n + 1) * MS, frame(1_000 * from + n, 60)));
            own.collect::<Vec<_>>()
        };
        let (one, at_one) = far_end(traffic(1), Line::default());
        let (two, at_two) = far_end(traffic(2), Line::default());
        let world = World::new(LOOK, vec![one, two]);
        let stand = Stand::<Fake>::new(&world, world.ports(), &Setup::default());
        let (control, there) = (stand.control.clone(), Arc::clone(&world));
        world.at(30 * MS + 500 * US, move |_| {
            let away = if vanishes {
                FarEnd::vanish
            } else {
                FarEnd::down
            };
            there.far_end(1, away);
            control.send(Command::LinkDown { port: 1 });
        });
        let (control, there) = (stand.control.clone(), Arc::clone(&world));
        world.at(60 * MS + 500 * US, move |_| {
            if !vanishes {
                there.far_end(1, FarEnd::up);
            }
            let link = vanishes.then_some(AnotherLink);
            control.send(Command::LinkUp { port: 1, link });
        });
        let outcome = stand.run(SECOND, MS);
        let way = |from: u64| (0..100).map(move |n| 1_000 * from + n);
        let is_there = |n: &u64| !(30..60).contains(&(n % 1_000));
        assert_eq!(
            numbers(&at_two),
            way(1).filter(is_there).collect::<Vec<_>>()
        );
        assert_eq!(
            numbers(&at_one),
            way(2).filter(is_there).collect::<Vec<_>>()
        );
        let two = outcome.port(2);
        assert_eq!((two.sent.frames, two.send_failed.frames), (70, 30));
        assert_eq!(world.counts(1).unheard, 30);
        let link = outcome.link(2);
        assert!(link.up && link.changes == 2, "{link:?}");
        // Once for each frame, and for commands: not again and again for a port that is gone.
        assert!(world.sleeps() < 500, "{} sleeps", world.sleeps());
        outcome.assert_device_balances();
    }
}

/// 8 Mbit/s, and room for ten frames.
const NARROW: Line = Line {
    byte_ns: 1_000,
    room: 15_000,
    longest: usize::MAX,
};

/// A port says "would block": frames wait behind it in their order, and none is lost.
#[test]
fn frames_wait_for_a_port_that_is_full() {
    let traffic = (0..1_000).map(|n| (MS, frame(n, 1_500))).collect();
    let (world, sent) = one_way(traffic, NARROW);
    let outcome = Stand::<Fake>::new(&world, world.ports(), &Setup::default()).run(5 * SECOND, MS);
    assert_eq!(numbers(&sent), (0..1_000).collect::<Vec<_>>());
    assert_eq!(outcome.port(2).send_failed.frames, 0);
    // It sleeps until there is room, and not until something else happens.
    let last = sent.lock().unwrap().last().unwrap().0;
    assert!((1_484 * MS..1_490 * MS).contains(&last), "{last}");
    assert!(world.sleeps() < 1_000, "{} sleeps", world.sleeps());
    // Frames that waited for room are not late: the link is slow.
    let (most, _) = outcome.lateness();
    assert!(most < MS, "{most}");
    outcome.assert_device_balances();
}

/// More waits than is kept: the rest is lost and counted.
#[test]
fn what_waits_for_a_full_port_is_bounded() {
    const FRAMES: u64 = 2_000;
    const LENGTH: u64 = 16_000;
    let traffic = (0..FRAMES).map(|n| (MS, frame(n, LENGTH as usize)));
    let traffic = traffic.collect();
    let (world, sent) = one_way(traffic, NARROW_AND_ROOMY);
    let outcome = Stand::<Fake>::new(&world, world.ports(), &Setup::default()).run(60 * SECOND, MS);
    let failed = outcome.port(2).send_failed.frames;
    let kept = FRAMES - failed;
    assert_eq!(numbers(&sent), (0..kept).collect::<Vec<_>>());
    // 16 MiB, a batch, and what the port takes.
    let expected = (16 << 20) / LENGTH + BATCH as u64 + NARROW_AND_ROOMY.room / LENGTH;
    assert!(kept.abs_diff(expected) < 100, "{kept} {expected}");
    outcome.assert_device_balances();
}

const NARROW_AND_ROOMY: Line = Line {
    byte_ns: 1_000,
    room: 160_000,
    longest: usize::MAX,
};

/// With the bmv2 traffic manager a full port holds its queues: what they have no room for is lost
/// there, and nothing fails behind them.
#[test]
fn a_full_port_holds_the_queues_of_bmv2() {
    let traffic = (0..1_000).map(|n| (MS, frame(n, 1_500))).collect();
    let (world, sent) = one_way(traffic, NARROW);
    let setup = Setup {
        config: DeviceConfig {
            traffic_manager: ModelKind::Bmv2 { priorities: 1 },
            ..DeviceConfig::default()
        },
        ..Setup::default()
    };
    let outcome = Stand::<Fake>::new(&world, world.ports(), &setup).run(5 * SECOND, MS);
    let two = outcome.port(2);
    assert_eq!(two.send_failed.frames, 0);
    assert!(two.queue_overflow.frames > 700, "{two:?}");
    assert_eq!(numbers(&sent).len() as u64, two.sent.frames);
    assert!(numbers(&sent).is_sorted());
    outcome.assert_device_balances();
}

/// At the end, what a port has no room for is counted as failed when its time is up.
#[test]
fn what_waits_for_room_at_the_end_is_counted() {
    let traffic = (0..1_000).map(|n| (MS, frame(n, 1_500))).collect();
    let (world, sent) = one_way(traffic, NARROW);
    let outcome =
        Stand::<Fake>::new(&world, world.ports(), &Setup::default()).run(10 * MS, 100 * MS);
    let two = outcome.port(2);
    assert_eq!(numbers(&sent).len() as u64, two.sent.frames);
    assert_eq!(two.sent.frames + two.send_failed.frames, 1_000);
    // 110 ms at 1.5 ms a frame.
    assert!((70..90).contains(&two.sent.frames), "{two:?}");
    let end = world.time();
    assert!((110 * MS..116 * MS).contains(&end), "{end}");
}

/// A frame that the port refuses is counted, and those around it leave.
#[test]
fn a_frame_that_a_port_refuses_takes_no_other_with_it() {
    let long = |n: u64| if n % 10 == 3 { 2_000 } else { 100 };
    let traffic = (0..100).map(|n| (MS, frame(n, long(n)))).collect();
    let line = Line {
        longest: 1_514,
        ..Line::default()
    };
    let (world, sent) = one_way(traffic, line);
    let outcome = Stand::<Fake>::new(&world, world.ports(), &Setup::default()).run(SECOND, MS);
    let expected: Vec<u64> = (0..100).filter(|n| n % 10 != 3).collect();
    assert_eq!(numbers(&sent), expected);
    assert_eq!(outcome.port(2).send_failed.frames, 10);
    outcome.assert_device_balances();
}

/// A request waits for frames that came before it, and runs at once where there are none.
#[test]
fn a_request_comes_after_the_frames_that_came_before_it() {
    let traffic = vec![(MS, frame(1, 60))];
    let (world, _) = one_way(traffic, Line::default());
    let stand = Stand::<Fake>::new(&world, world.ports(), &Setup::default());
    let seen = Arc::new(Mutex::new(Vec::new()));
    // The second comes with the frame, in the same nanosecond.
    for time in [MS / 2, MS, 2 * MS] {
        let (handle, seen) = (stand.handle.clone(), Arc::clone(&seen));
        world.at(time, move |_| {
            begin(handle.call(move |device, now| {
                let state = device.traffic_manager_state(now);
                let received = state.ports[0].received.frames;
                seen.lock().unwrap().push((time, received));
            }));
        });
    }
    stand.run(SECOND, MS);
    assert_eq!(*seen.lock().unwrap(), [(MS / 2, 0), (MS, 1), (2 * MS, 1)]);
}

/// Faults in front of both ports: every frame counts once, wherever it was lost, and the loop wakes
/// for frames that a port holds back.
#[test]
fn every_frame_counts_once_on_a_line_with_faults() {
    const FRAMES: u64 = 5_000;
    let traffic = (0..FRAMES)
        .map(|n| (MS + 10 * US * n, frame(n, 60)))
        .collect();
    let (world, sent) = one_way(traffic, Line::default());
    let faults = Faults {
        seed: 7,
        lost: 50_000,
        lost_sent: 20_000,
        refused: 100_000,
        delay: 3 * MS,
        reordered: 100_000,
        reordered_by: 5 * MS,
        most_held: 300,
    };
    let ports = world.ports().into_iter().enumerate();
    let ports = ports.map(|(place, port)| {
        let seed = faults.seed + place as u64;
        Faulty::new(port, world.clock(), Faults { seed, ..faults })
    });
    let ports = ports.collect();
    let setup = Setup {
        captures: true,
        ..Setup::default()
    };
    let outcome = Stand::<Troubled>::new(&world, ports, &setup).run(SECOND, MS);
    let came = outcome.came(1);
    let core = outcome.core.lock();
    let [one, two] = [0, 1].map(|index| core.members[0].ports.port(index).counts());
    drop(core);
    assert_eq!(one.came, FRAMES);
    assert_eq!(one.came, one.lost + one.overflow + one.delivered);
    assert_eq!(one.delivered, outcome.port(1).received.frames);
    assert_eq!(two.passed + two.lost_sent, outcome.port(2).sent.frames);
    assert_eq!(two.passed, numbers(&sent).len() as u64);
    assert!(
        one.lost > 150 && two.lost_sent > 50 && one.overtaken > 300,
        "{one:?} {two:?}"
    );
    assert!(two.refused > 10 && one.most_held <= 300, "{one:?} {two:?}");
    // The captures are of what the switch saw: in its order of time, without what was lost.
    assert_eq!(came.len() as u64, one.delivered);
    assert!(came.is_sorted_by_key(|(at, _)| *at));
    let delay = |(at, bytes): &(u64, Vec<u8>)| at - (MS + 10 * US * number(bytes));
    assert!(came.iter().map(delay).max().unwrap() <= 5 * MS);
    let mut seen = numbers(&sent);
    assert!(!seen.is_sorted());
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len() as u64, two.passed, "a frame left twice");
    outcome.assert_device_balances();
}
