// SPDX-License-Identifier: Apache-2.0
//! Lets the ports, links and thread of a switch fail at random for a long time. Every frame must be
//! accounted for, and memory must stay bounded. `make test-all` runs an hour of it.

use super::far_end::{FarEnd, Line, Sink};
use super::faulty::{Faults, Faulty, Troubled};
use super::stand::{Setup, Stand, begin, frame, number};
use super::world::{AnotherLink, World};
use crate::control::{Command, Control};
use crate::device_core::Core;
use crate::lock::Lock;
use crate::ports::BACKLOG;
use device::handle::DeviceHandle;
use device::{Configuration, PortConfig};
use rand_xoshiro::Xoshiro256StarStar;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use std::sync::{Arc, Mutex, Weak};

const US: u64 = 1_000;
const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;
const HOUR: u64 = 3_600 * SECOND;
/// The time that a look at the clock takes, ns. It is long, so that a thread that waits awake looks
/// rarely.
const LOOK: u64 = 500;
/// The most frames that wait in front of a port.
const MOST_WAITING: usize = 400;
/// The most frames that a faulty port holds back.
const MOST_HELD: usize = 200;
/// The most bytes in the queue of a port.
const QUEUE: u64 = 60_000;
/// The first number of the frames of the second side; those of the first side have lower ones.
const OTHER_SIDE: u64 = 1 << 40;

/// Random numbers.
struct Random(Xoshiro256StarStar);

impl Random {
    fn new(seed: u64) -> Self {
        Self(Xoshiro256StarStar::seed_from_u64(seed))
    }

    /// Draws a number below a bound.
    fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.0.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// Draws a number from `least` to below `most`.
    fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.below(most - least)
    }
}

/// Bursts of frames with pauses between them, until a time.
struct Bursts {
    random: Random,
    now: u64,
    until: u64,
    number: u64,
    left: u64,
    gap: u64,
}

impl Bursts {
    fn new(seed: u64, until: u64, number: u64) -> Self {
        Self {
            random: Random::new(seed),
            now: MS,
            until,
            number,
            left: 0,
            gap: 0,
        }
    }
}

impl Iterator for Bursts {
    type Item = (u64, Vec<u8>);

    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 {
            self.now += self.random.between(MS, 1_000 * MS);
            // One burst in ten is longer than what the queues hold.
            self.left = match self.random.below(10) {
                0 => self.random.between(200, 900),
                _ => self.random.between(1, 60),
            };
            self.gap = self.random.between(0, 300 * US);
        }
        self.left -= 1;
        self.now += self.random.below(self.gap + 1);
        if self.now >= self.until {
            return None;
        }
        let len = self.random.between(60, 1_515) as usize;
        self.number += 1;
        Some((self.now, frame(self.number, len)))
    }
}

/// The frames that have arrived at a far end, one bit for each.
#[derive(Default)]
struct Seen {
    bits: Vec<u64>,
    count: u64,
}

impl Seen {
    /// Notes that a frame with this number has arrived, which must be for the first time.
    fn note(&mut self, number: u64) {
        let (word, bit) = ((number / 64) as usize, number % 64);
        if self.bits.len() <= word {
            self.bits.resize(word + 1, 0);
        }
        assert_eq!(self.bits[word] >> bit & 1, 0, "frame {number} came twice");
        self.bits[word] |= 1 << bit;
        self.count += 1;
    }
}

/// Makes trouble again and again.
struct Trouble {
    random: Mutex<Random>,
    world: Weak<World>,
    control: Control<Troubled>,
    handle: DeviceHandle,
    core: Weak<Lock<Core<Troubled>>>,
    until: u64,
    made: Mutex<[u64; KINDS as usize]>,
}

/// How many kinds of trouble there are.
const KINDS: u64 = 6;

impl Trouble {
    /// Plans the next trouble, some time after `now`.
    fn plan(self: &Arc<Self>, now: u64) {
        let at = now + self.random.lock().unwrap().between(50 * MS, 4 * SECOND);
        let Some(world) = self.world.upgrade().filter(|_| at < self.until) else {
            return;
        };
        let own = Arc::clone(self);
        world.at(at, move |now| {
            own.make(now);
            own.plan(now);
        });
    }

    fn make(&self, now: u64) {
        let Some(world) = self.world.upgrade() else {
            return;
        };
        let mut random = self.random.lock().unwrap();
        let kind = random.below(KINDS);
        self.made.lock().unwrap()[kind as usize] += 1;
        let port = random.below(2) as usize;
        match kind {
            // A link goes down or vanishes, which the main thread tells a little later.
            0 | 1 => {
                let vanishes = kind == 1;
                let away = if vanishes {
                    FarEnd::vanish
                } else {
                    FarEnd::down
                };
                let next = world.far_end(port, |end| end.next_arrival());
                let (at, late) = match next {
                    // The thread has no processor when frames come, and the link vanishes before
                    // it has received them.
                    Some(next) if vanishes && random.below(2) == 0 => {
                        (now.max(next), random.between(MS, 20 * MS))
                    }
                    _ => (now, 0),
                };
                let there = self.world.clone();
                world.at(at, move |_| {
                    if let Some(world) = there.upgrade() {
                        world.stall(late);
                        world.far_end(port, away);
                    }
                });
                let told = at + late + random.below(3 * MS);
                let back = told + random.between(MS, 800 * MS);
                let control = self.control.clone();
                world.at(told, move |_| control.send(Command::LinkDown { port }));
                let (control, there) = (self.control.clone(), self.world.clone());
                world.at(back, move |_| {
                    if let Some(world) = there.upgrade().filter(|_| !vanishes) {
                        world.far_end(port, FarEnd::up);
                    }
                    let link = vanishes.then_some(AnotherLink);
                    control.send(Command::LinkUp { port, link });
                });
            }
            // A line becomes slow or fast, and refuses long frames.
            2 => {
                let byte_ns = [0, 10, 100, 1_000, 20_000][random.below(5) as usize];
                let line = Line {
                    byte_ns,
                    room: random.between(3_000, 100_000),
                    longest: [1_514, 1_000][random.below(2) as usize],
                };
                world.far_end(port, |end| end.set_line(line));
            }
            // A port gets another rate.
            3 => {
                let rate = [0, 500_000, 5_000_000, 80_000_000][random.below(4) as usize];
                let request = shaped(port as u16 + 1, rate, random.below(2) * 5 * MS);
                begin(self.handle.call(move |device, now| {
                    device.configure(now, &request).unwrap();
                }));
            }
            // The thread does not run for a while, sometimes for longer than it makes up for.
            4 => {
                let late = [MS, 5 * MS, 60 * MS][random.below(3) as usize];
                let mut once = Some(random.between(late / 2, late));
                world.set_oversleep(move || once.take().unwrap_or(0));
            }
            // Clients read counters, which asks the kernel how many frames it dropped.
            _ => begin(self.handle.call(|device, now| {
                let _ = device.traffic_manager_state(now);
            })),
        }
        drop(random);
        self.look(&world);
    }

    /// Checks that nothing takes more memory than it may.
    fn look(&self, world: &World) {
        for end in [0, 1] {
            let waiting = world.far_end(end, |end| end.waiting());
            assert!(waiting <= MOST_WAITING, "{waiting}");
        }
        let Some(core) = self.core.upgrade() else {
            return;
        };
        // The thread may hold the lock.
        let Some(core) = core.try_lock() else {
            return;
        };
        let member = &core.members[0];
        for port in member.ports.ports() {
            assert!(port.held() <= MOST_HELD, "{}", port.held());
        }
        for bytes in member.ports.backlogs() {
            assert!(bytes <= BACKLOG, "{bytes}");
        }
        let device = &member.device;
        for port in device.traffic_manager_state(device.time()).ports {
            assert!(port.queued.bytes <= QUEUE, "{port:?}");
        }
    }
}

fn shaped(port: u16, rate: u64, delay: u64) -> Configuration {
    Configuration {
        ports: vec![PortConfig {
            port,
            rate,
            transmit_delay_ns: delay,
            queue_limit: QUEUE,
            ..Default::default()
        }],
        ..Default::default()
    }
}

/// Counts what happened in a soak, so that tests can check that all of it happened.
#[derive(Debug, PartialEq, Eq)]
struct Told {
    made: u64,
    taken: u64,
    troubles: [u64; KINDS as usize],
    jumps: u64,
    fate: Vec<u64>,
}

/// Runs a soak of this length. Equal seeds give equal soaks.
fn soak(seed: u64, time: u64) -> Told {
    let seen = [Arc::new(Mutex::new(Seen::default())), Arc::default()];
    let far_ends = [0u64, 1].map(|side| {
        let traffic = Bursts::new(seed * 10 + side, time, side * OTHER_SIDE);
        let there = Arc::clone(&seen[side as usize]);
        let sink: Sink = Box::new(move |_, bytes: &[u8]| {
            // The frames that arrive here are those that the other side has made.
            let number = number(bytes) - (1 - side) * OTHER_SIDE;
            assert!(number < OTHER_SIDE, "it came back");
            there.lock().unwrap().note(number);
        });
        FarEnd::new(Box::new(traffic), MOST_WAITING, Line::default(), sink)
    });
    let world = World::new(LOOK, far_ends.into());
    let faults = |seed| Faults {
        seed,
        lost: 10_000,
        lost_sent: 5_000,
        refused: 5_000,
        delay: 2 * MS,
        reordered: 20_000,
        reordered_by: 10 * MS,
        most_held: MOST_HELD,
    };
    let ports = world.ports().into_iter().zip(seed * 10 + 2..);
    let ports = ports.map(|(port, seed)| Faulty::new(port, world.clock(), faults(seed)));
    let setup = Setup {
        configuration: shaped(2, 5_000_000, 0),
        ..Setup::default()
    };
    let stand = Stand::<Troubled>::new(&world, ports.collect(), &setup);
    let trouble = Arc::new(Trouble {
        random: Mutex::new(Random::new(seed * 10 + 4)),
        world: Arc::downgrade(&world),
        control: stand.control.clone(),
        handle: stand.handle.clone(),
        core: Arc::downgrade(&stand.core),
        until: time,
        made: Mutex::default(),
    });
    trouble.plan(0);
    // At the end, links that are down come back, and slow lines take the frames that wait.
    let outcome = stand.run(time + 2 * SECOND, 2 * SECOND);

    outcome.assert_device_balances();
    let mut fate = Vec::new();
    let core = outcome.core.lock();
    let behind = [0, 1].map(|index| core.members[0].ports.port(index));
    let faulty = behind.map(|port| (port.counts(), port.held() as u64));
    let backlogs: Vec<usize> = core.members[0].ports.backlogs().collect();
    drop(core);
    assert_eq!(backlogs, [0, 0]);
    for side in [0, 1] {
        let far = world.counts(side);
        let left = world.far_end(side, |end| end.waiting() as u64);
        let number = side as u16 + 1;
        let (port, link) = (outcome.port(number), outcome.link(number));
        // Each frame is followed from the far end to the port, through the faults, and into the
        // device.
        let arrived = far.unheard + far.missed + far.forgotten + far.received + left;
        assert_eq!(far.made, arrived, "{far:?} {left}");
        let (counts, held) = faulty[side];
        assert_eq!(far.received, counts.came, "{far:?} {counts:?}");
        let gone = counts.lost + counts.overflow + counts.delivered + held;
        assert_eq!(counts.came, gone, "{counts:?} {held}");
        assert_eq!(
            counts.delivered, port.received.frames,
            "{counts:?} {port:?}"
        );
        assert_eq!(far.missed, link.missed, "{far:?} {link:?}");
        // Then each frame is followed out of the device, through the faults, to the far end.
        assert_eq!(
            port.sent.frames,
            counts.lost_sent + counts.passed,
            "{port:?} {counts:?}"
        );
        assert_eq!(counts.passed, far.taken, "{counts:?} {far:?}");
        assert_eq!(far.taken, seen[side].lock().unwrap().count);
        fate.extend([
            far.unheard,
            far.missed,
            far.forgotten,
            counts.lost,
            counts.overflow,
        ]);
        fate.extend([counts.overtaken, counts.lost_sent, counts.refused]);
        fate.extend([
            port.queue_overflow.frames,
            port.send_failed.frames,
            link.changes,
        ]);
    }
    let troubles = *trouble.made.lock().unwrap();
    Told {
        made: world.counts(0).made + world.counts(1).made,
        taken: world.counts(0).taken + world.counts(1).taken,
        troubles,
        jumps: outcome.jumps().0,
        fate,
    }
}

/// Two minutes of trouble go well, and are the same with the same seed.
#[test]
fn minutes_of_faults_lose_no_frame_from_the_books() {
    let told = soak(1, 120 * SECOND);
    assert!(told.made > 10_000 && told.taken > told.made / 4, "{told:?}");
    assert_eq!(told, soak(1, 120 * SECOND), "equal seeds, unequal runs");
    assert_ne!(told, soak(2, 120 * SECOND));
}

#[test]
#[ignore = "long: an hour of virtual time, a few minutes of the machine's"]
fn an_hour_of_faults_loses_no_frame_from_the_books() {
    let told = soak(3, HOUR);
    println!("{told:?}");
    assert!(
        told.made > 400_000 && told.taken > told.made / 4,
        "{told:?}"
    );
    // Everything that can go wrong has gone wrong.
    assert!(told.troubles.iter().all(|&times| times > 100), "{told:?}");
    assert!(told.fate.iter().all(|&count| count > 10), "{told:?}");
    assert!(told.jumps > 10, "{told:?}");
}
