// SPDX-License-Identifier: Apache-2.0
//! Whether periodic loads all keep their jitter windows, before they are admitted.
//!
//! [`crate::periodic`] places them by earliest deadline, without preemption. The test is the
//! processor demand criterion (Baruah, Rosier, Howell 1990; with blocking: George, Rivierre, Spuri
//! 1996). Let a piece first come late at b, and let a be the earliest release among the pieces with
//! deadlines up to b that were given minislots since the channel last gave any to another piece, or
//! to none. Then the pieces released from a on with deadlines up to b need more than b - a, less
//! what was lost to
//!
//! - one piece with a later deadline that began before a (blocking),
//! - the ends of MAPs that do not stretch: maintenance, and up to a piece less a minislot, because no
//!   piece crosses.
//!
//! So if for every load i as the one released at a, and every length, demand and losses are not
//! more than the length, nothing ever comes late. Between two loads the distance of releases is
//! known up to multiples of the greatest common divisor of their intervals; demand takes the
//! densest case. Contention takes part as a piece a MAP, that may be cut, due at the MAP's end.
//!
//! Removing a load only lowers every term, so a load that pauses or goes harms no other.

use std::cmp::Reverse;

use mac_wire::Clock;

use crate::load::Load;

/// The channel as the test sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ground {
    pub(crate) clock: Clock,
    /// Minislots of a MAP.
    pub(crate) map: u64,
    /// The first minislot of some MAP, if all are equally long; `None` if they stretch.
    pub(crate) grid: Option<u64>,
    pub(crate) maintenance: u64,
    pub(crate) contention: u64,
    /// Pieces that a MAP may have.
    pub(crate) pieces: u64,
}

/// Deadlines that are looked at for one load: above, the channel is too full to be checked.
const MOST_POINTS: usize = 50_000;

/// Steps to the end of a busy time: above, the channel is too full to be checked.
const MOST_ROUNDS: usize = 1000;

/// Minislots of a busy time: above, the channel is too full to be checked.
const LONGEST: u64 = 1 << 24;

/// Fractions of the channel are parts of this.
pub(crate) const WHOLE: u128 = 1 << 32;

impl Ground {
    /// A MAP's length, picoseconds.
    fn map_ps(&self) -> u64 {
        self.ps(self.map)
    }

    fn ps(&self, minislots: u64) -> u64 {
        let frames = minislots / u64::from(self.clock.per_frame.max(1));
        frames.saturating_mul(self.clock.frame_ps)
    }

    /// Whole frames of a time, in minislots.
    fn minislots(&self, ps: u64) -> u64 {
        ps / self.clock.frame_ps.max(1) * u64::from(self.clock.per_frame.max(1))
    }

    /// What the end of a MAP costs: maintenance, and a piece that does not fit before it. A MAP that
    /// may stretch ends behind the piece.
    fn end_loss(&self, loads: &[Load]) -> u64 {
        if self.grid.is_none() {
            return 0;
        }
        let longest = loads.iter().map(|load| u64::from(load.cost)).max();
        self.maintenance + longest.unwrap_or(1) - 1
    }

    /// Parts of [`WHOLE`] that a load takes.
    pub(crate) fn share(&self, load: &Load) -> u128 {
        let minislots = u128::from(load.cost) * u128::from(load.count);
        let per_frame = u128::from(self.clock.per_frame.max(1));
        (minislots * u128::from(self.clock.frame_ps) * WHOLE)
            .div_ceil(u128::from(load.interval) * 1000 * per_frame)
    }

    /// Whether all loads, at the times that they have, come in time whatever else happens.
    pub(crate) fn holds(&self, loads: &[Load]) -> bool {
        let holds = |anchor, from| View::new(self, anchor, from, loads).holds(loads);
        // What holds in whichever phases needs no look at them. The last load is the new one.
        holds(None, From::Release)
            || loads.iter().rev().all(|load| {
                holds(Some(load), From::Release)
                    && (self.grid.is_none() || holds(Some(load), From::StartOfMap))
            })
    }
}

/// Where the length begins that is looked at: a, above.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum From {
    /// At the anchor's release.
    Release,
    /// At the start of the MAP in which the anchor is released, and no other load before it:
    /// contention is the piece that is released at a.
    StartOfMap,
}

/// Where everything is, at the densest.
struct View<'a> {
    ground: &'a Ground,
    /// To the first release of each load, picoseconds.
    ahead: Vec<u64>,
    /// Lengths below the deadline of the piece released at a do not matter.
    least: u64,
    /// To the first start of a MAP.
    next_map: u64,
    /// To the first end of what may be given of a MAP.
    next_end: u64,
    /// What the end of a MAP costs.
    loss: u64,
    /// Pieces that may have begun before: deadline, and the most that it or a later one keeps; the
    /// latest first.
    blockers: Vec<(u64, u64)>,
}

impl<'a> View<'a> {
    fn new(ground: &'a Ground, anchor: Option<&Load>, from: From, loads: &[Load]) -> Self {
        let due = ground.map - ground.maintenance;
        let mut view = Self {
            ground,
            ahead: Vec::with_capacity(loads.len()),
            least: anchor.map_or(0, |load| load.window + u64::from(load.cost)),
            next_map: 0,
            next_end: 0,
            loss: ground.end_loss(loads),
            blockers: Vec::new(),
        };
        let mut behind = 0;
        if let (Some(anchor), Some(grid)) = (anchor, ground.grid) {
            let frames = u128::from(grid) / u128::from(ground.clock.per_frame.max(1));
            let grid = frames * u128::from(ground.clock.frame_ps);
            let step = gcd(ps(anchor.interval), ground.map_ps());
            match from {
                From::Release => {
                    let ahead = distance(ps(anchor.t0).into(), grid, step);
                    let end = if ahead == 0 { step } else { ahead };
                    view.next_map = ground.minislots(ahead);
                    view.next_end = ground.minislots(end).saturating_sub(ground.maintenance);
                }
                From::StartOfMap => {
                    behind = distance(grid, ps(anchor.t0).into(), step);
                    view.least = due;
                    view.next_end = due;
                }
            }
        }
        for load in loads {
            let (ahead, before) = anchor.map_or((0, 0), |anchor| {
                let step = gcd(ps(anchor.interval), ps(load.interval));
                let ahead = distance(ps(anchor.t0).into(), ps(load.t0).into(), step);
                (ahead, step - ahead)
            });
            view.ahead.push(ahead + behind);
            let deadline = load.window + u64::from(load.cost);
            let before = ground.minislots(before);
            // No piece crosses the start of a MAP.
            if from == From::Release && deadline > before {
                let keeps = u64::from(load.cost) - 1;
                view.blockers.push((deadline - before, keeps));
            }
        }
        view.blockers
            .sort_unstable_by_key(|blocker| Reverse(blocker.0));
        for index in 1..view.blockers.len() {
            view.blockers[index].1 = view.blockers[index].1.max(view.blockers[index - 1].1);
        }
        view
    }

    fn holds(&self, loads: &[Load]) -> bool {
        let Some(points) = self.busy(loads).and_then(|busy| self.points(loads, busy)) else {
            return false;
        };
        let mut demand = 0;
        let mut points = points.iter().peekable();
        while let Some(&(length, cost, _)) = points.next() {
            demand += cost;
            let whole_point = points.peek().is_none_or(|next| next.0 > length);
            if !whole_point || length < self.least {
                continue;
            }
            let lost = self.blocking(length) + self.ends(length) * self.loss;
            if demand + lost > length {
                return false;
            }
        }
        self.pieces_hold(loads)
    }

    /// Information elements are few too: pieces, with MAPs that have room for so many each.
    fn pieces_hold(&self, loads: &[Load]) -> bool {
        let (map, room) = (self.ground.map, self.ground.pieces);
        let mut busy = map;
        for _ in 0..MOST_ROUNDS {
            let released = loads.iter().zip(&self.ahead);
            let pieces = released.fold(0_u64, |sum, (load, &ahead)| {
                let count = u64::from(load.count);
                sum.saturating_add(self.releases(load, ahead, busy).saturating_mul(count))
            });
            let needed = pieces.div_ceil(room.max(1)).saturating_mul(map);
            if needed <= busy {
                let Some(points) = self.points(loads, busy) else {
                    return false;
                };
                let mut pieces = 0;
                return points.iter().all(|&(length, _, count)| {
                    pieces += count;
                    pieces <= room * (length / map).max(1)
                });
            }
            busy = needed;
            if busy > LONGEST {
                return false;
            }
        }
        false
    }

    /// How often a load is released within a length, at the most.
    fn releases(&self, load: &Load, ahead: u64, length: u64) -> u64 {
        let frame = self.ground.clock.frame_ps;
        let until = self.ground.ps(length).saturating_add(frame);
        until
            .checked_sub(ahead + 1)
            .map_or(0, |more| 1 + more / ps(load.interval))
    }

    /// The first length after which nothing that came can be waiting: what comes later is another
    /// anchor's.
    fn busy(&self, loads: &[Load]) -> Option<u64> {
        let blocking = self.blocking(0);
        let mut length = 1_u64;
        for _ in 0..MOST_ROUNDS {
            let maps = length
                .checked_sub(self.next_map + 1)
                .map_or(0, |more| 1 + more / self.ground.map);
            let mut work = blocking + self.ends(length) * self.loss;
            work += maps * self.ground.contention;
            for (load, &ahead) in loads.iter().zip(&self.ahead) {
                let releases = self.releases(load, ahead, length);
                let cost = u64::from(load.cost) * u64::from(load.count);
                work = work.saturating_add(releases.saturating_mul(cost));
            }
            if work <= length {
                return Some(length);
            }
            length = work;
            if length > LONGEST {
                return None;
            }
        }
        None
    }

    /// Deadlines up to `longest`, in order: length, minislots that come due there, pieces.
    fn points(&self, loads: &[Load], longest: u64) -> Option<Vec<(u64, u64, u64)>> {
        let ground = self.ground;
        let mut points = Vec::new();
        for (load, &ahead) in loads.iter().zip(&self.ahead) {
            let cost = u64::from(load.cost) * u64::from(load.count);
            let mut release = ahead;
            loop {
                let deadline = ground.minislots(release) + load.window + u64::from(load.cost);
                if deadline > longest {
                    break;
                }
                if points.len() >= MOST_POINTS {
                    return None;
                }
                points.push((deadline, cost, load.count.into()));
                release = release.saturating_add(ps(load.interval));
            }
        }
        let mut due = self.next_map + ground.map - ground.maintenance;
        while due <= longest {
            if points.len() >= MOST_POINTS {
                return None;
            }
            points.push((due, ground.contention, 0));
            due += ground.map;
        }
        points.sort_unstable();
        Some(points)
    }

    fn blocking(&self, length: u64) -> u64 {
        let later = self
            .blockers
            .partition_point(|&(deadline, _)| deadline > length);
        later
            .checked_sub(1)
            .map_or(0, |index| self.blockers[index].1)
    }

    fn ends(&self, length: u64) -> u64 {
        length
            .checked_sub(self.next_end + 1)
            .map_or(0, |more| 1 + more / self.ground.map)
    }
}

fn ps(ns: u64) -> u64 {
    ns.saturating_mul(1000)
}

/// From `one` to the next `other`, of which there is one every `step`.
fn distance(one: u128, other: u128, step: u64) -> u64 {
    let step = u128::from(step.max(1));
    ((other % step + step - one % step) % step) as u64
}

fn gcd(mut one: u64, mut other: u64) -> u64 {
    while other > 0 {
        (one, other) = (other, one % other);
    }
    one.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::Kind;

    fn ground() -> Ground {
        Ground {
            clock: Clock {
                per_frame: 1,
                frame_ps: 25_000_000,
            },
            map: 80,
            grid: Some(0),
            maintenance: 3,
            contention: 12,
            pieces: 80,
        }
    }

    /// A call of 17 minislots every 20 ms.
    fn call(t0: u64, jitter: u64) -> Load {
        Load {
            kind: Kind::Grant,
            interval: 20_000_000,
            jitter: jitter * 25_000,
            cost: 17,
            count: 1,
            window: jitter,
            t0: t0 * 25_000,
        }
    }

    #[test]
    fn a_call_alone_holds_where_its_window_has_a_place() {
        assert!(ground().holds(&[call(0, 0)]));
        // It would cross the end of the MAP at once, and has no time to wait for the next.
        assert!(!ground().holds(&[call(70, 0)]));
        assert!(ground().holds(&[call(70, 40)]));
    }

    #[test]
    fn calls_that_meet_share_a_window_only_while_they_fit() {
        assert!(!ground().holds(&[call(0, 10), call(0, 10)]));
        assert!(ground().holds(&[call(0, 17), call(0, 17)]));
        assert!(!ground().holds(&[call(0, 17), call(0, 17), call(0, 17)]));
        // In another MAP they never meet.
        assert!(ground().holds(&[call(0, 0), call(80, 0), call(160, 0)]));
        // The one that began first blocks the other.
        assert!(!ground().holds(&[call(0, 5), call(4, 0)]));
        assert!(ground().holds(&[call(0, 5), call(4, 18)]));
    }

    #[test]
    fn contention_keeps_its_minislots_of_each_map() {
        // Four calls are 68 of 77 minislots, and 12 are contention's.
        let calls = [call(0, 0), call(17, 0), call(34, 0), call(51, 0)];
        assert!(ground().holds(&calls[..3]));
        assert!(!ground().holds(&calls));
    }

    #[test]
    fn a_channel_is_never_more_than_full() {
        let full = Load {
            interval: 2_000_000,
            ..call(0, 40)
        };
        let mut loads = vec![full; 3];
        assert!(ground().holds(&loads));
        loads.push(full);
        assert!(!ground().holds(&loads));
    }

    #[test]
    fn distances_go_forward() {
        assert_eq!(distance(3, 5, 10), 2);
        assert_eq!(distance(5, 3, 10), 8);
        assert_eq!(distance(25, 5, 10), 0);
        assert_eq!(gcd(20, 12), 4);
    }
}
