// SPDX-License-Identifier: Apache-2.0
//! Demand, blocking and losses in the lengths that begin at one place.

use std::cmp::Reverse;

use crate::ground::Ground;
use crate::load::Load;

/// Deadlines that are looked at for one load: above, the channel is too full to be checked.
const MOST_POINTS: usize = 50_000;

/// Steps to the end of a busy time: above, the channel is too full to be checked.
const MOST_ROUNDS: usize = 1000;

/// Minislots of a busy time: above, the channel is too full to be checked.
const LONGEST: u64 = 1 << 24;

/// Where the length begins that is looked at: a, in [`crate::schedulable`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum From {
    /// At the anchor's release.
    Release,
    /// At the start of the MAP in which the anchor is released, and no other load before it:
    /// contention is the piece that is released at a.
    StartOfMap,
}

/// Where everything is, at the densest.
pub(crate) struct View<'a> {
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
    pub(crate) fn new(
        ground: &'a Ground,
        anchor: Option<&Load>,
        from: From,
        loads: &[Load],
    ) -> Self {
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
            let grid = (grid % u128::from(ground.map_ps().max(1))) as u64;
            let step = gcd(ps(anchor.interval), ground.map_ps());
            match from {
                From::Release => {
                    let ahead = distance(phase(anchor), grid, step);
                    let end = if ahead == 0 { step } else { ahead };
                    view.next_map = ground.minislots(ahead);
                    view.next_end = ground.minislots(end).saturating_sub(ground.maintenance);
                }
                From::StartOfMap => {
                    behind = distance(grid, phase(anchor), step);
                    view.least = due;
                    view.next_end = due;
                }
            }
        }
        for load in loads {
            let (ahead, before) = anchor.map_or((0, 0), |anchor| {
                let step = gcd(ps(anchor.interval), ps(load.interval));
                let ahead = distance(phase(anchor), phase(load), step);
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

    pub(crate) fn holds(&self, loads: &[Load]) -> bool {
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
            if !self.ground.effort.spend(loads.len()) {
                return false;
            }
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
            if !self.ground.effort.spend(loads.len()) {
                return None;
            }
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
        if !ground.effort.spend(4 * points.len()) {
            return None;
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

/// When a load is released, picoseconds, up to multiples of its interval.
fn phase(load: &Load) -> u64 {
    ps(load.t0 % load.interval.max(1))
}

/// From `one` to the next `other`, of which there is one every `step`.
fn distance(one: u64, other: u64, step: u64) -> u64 {
    let (one, other) = (one % step, other % step);
    if other >= one {
        other - one
    } else {
        other + step - one
    }
}

fn gcd(mut one: u64, mut other: u64) -> u64 {
    // Most loads of a channel have one interval.
    if one == other {
        return one.max(1);
    }
    while other > 0 {
        (one, other) = (other, one % other);
    }
    one.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_go_forward() {
        assert_eq!(distance(3, 5, 10), 2);
        assert_eq!(distance(5, 3, 10), 8);
        assert_eq!(distance(25, 5, 10), 0);
        assert_eq!(gcd(20, 12), 4);
    }
}
