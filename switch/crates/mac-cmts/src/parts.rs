// SPDX-License-Identifier: Apache-2.0
//! Grants requests in parts, where that is allowed: first it decides each flow's share of the MAP,
//! then the minislots. Bursts that must not be cut get their minislots first.

use mac_wire::GrantPlace;

use crate::flow::FlowIndex;
use crate::scheduler::Scheduler;
use crate::turn::needs_whole;

/// How a flow's turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// It has all that it may have in this MAP.
    Satisfied,
    /// It used up its turn.
    Turn,
    /// The MAP is full.
    Full,
    /// It could not be given anything of use.
    Nothing,
}

impl Scheduler {
    /// Flows below their reserved rates, then by priority, round robin among equals.
    pub(crate) fn grant_parts(&mut self) {
        self.chosen.clear();
        self.share_reserved();
        if let Some(priority) = self.to_rescue() {
            self.share_rescue(priority);
        }
        for priority in (0..self.queues.rings.len()).rev() {
            self.share_ring(priority);
        }
        self.place_parts();
    }

    /// Minislots that nobody has been promised.
    fn unshared(&self) -> u64 {
        let free = self.draft.free().min(self.grantable);
        free.saturating_sub(self.promised)
    }

    /// Flows that may still join the MAP: each takes an information element, and one more may be
    /// cut by what lies in the MAP already.
    fn more_flows(&self) -> bool {
        let kept = self.draft.holes().len() + 2;
        self.draft.left() > self.draft.for_pending() + self.chosen.len() + kept
    }

    fn share_reserved(&mut self) {
        let quantum = u32::try_from(self.quantum()).unwrap_or(u32::MAX);
        for _ in 0..self.queues.reserved.len() {
            let Some((index, entitled)) = self.next_reserved() else {
                continue;
            };
            // Many small parts would go to headers: it waits until it is entitled to a whole turn.
            let most = self.turn(index).map_or(0, |turn| turn.most);
            let minislots = if entitled < self.sizes.bytes(most.min(quantum)) {
                0
            } else if self.is_whole(index) {
                // What it was not entitled to is owed.
                most
            } else {
                self.sizes.minislots(entitled)
            };
            // A burst that must not be cut is granted at once, a part when all shares are known.
            self.reserve(index, minislots);
            let (end, given) = self.share(index, minislots.into());
            let placed = self.is_whole(index);
            self.reserve(index, if placed { 0 } else { given as u32 });
            if (end, given) == (End::Full, 0) {
                self.queues.reserved.push_front(index);
                break;
            }
            self.queues.reserved.push_back(index);
        }
    }

    fn share_rescue(&mut self, priority: usize) {
        if let Some(&index) = self.queues.rings[priority].flows.front()
            && let Some(turn) = self.turn(index)
        {
            let minislots = if self.is_whole(index) {
                turn.most.into()
            } else {
                self.quantum()
            };
            self.share(index, minislots);
            // The next rescue is another's.
            self.queues.rings[priority].flows.rotate_left(1);
        }
    }

    /// Deficit round robin (Shreedhar and Varghese, 1996), in minislots. Flows that could not be
    /// served keep their places in front of those that were.
    fn share_ring(&mut self, priority: usize) {
        let flows = self.queues.rings[priority].flows.len() as u64;
        let quantum = self.quantum().max(self.unshared() / flows.max(1));
        let least = u64::from(self.sizes.least_part);
        let mut skipped = std::mem::take(&mut self.skipped);
        let mut done = std::mem::take(&mut self.done);
        while let Some(index) = self.queues.rings[priority].flows.pop_front() {
            let Some(turn) = self.turn(index) else {
                if let Some(flow) = self.flows.get_mut(index) {
                    flow.queued = false;
                    flow.deficit = 0;
                }
                continue;
            };
            if self.unshared() == 0 {
                self.queues.rings[priority].flows.push_front(index);
                break;
            }
            let Some(flow) = self.flows.get_mut(index) else {
                continue;
            };
            if turn.minislots >= turn.most {
                flow.deficit = 0;
                if turn.most > 0 {
                    &mut done
                } else {
                    &mut skipped
                }
                .push(index);
                continue;
            }
            let whole = needs_whole(flow.config.policy, self.sizes.cutting);
            if flow.deficit < least || whole {
                flow.deficit = flow.deficit.saturating_add(quantum);
            }
            let mut deficit = flow.deficit;
            if whole && deficit < u64::from(turn.most) {
                self.queues.rings[priority].flows.push_back(index);
                continue;
            }
            let (end, given) = self.share(index, deficit);
            deficit = if end == End::Satisfied {
                0
            } else {
                deficit - given
            };
            if let Some(flow) = self.flows.get_mut(index) {
                flow.deficit = deficit;
            }
            match end {
                End::Satisfied => done.push(index),
                End::Turn => self.queues.rings[priority].flows.push_back(index),
                End::Full | End::Nothing => skipped.push(index),
            }
        }
        let ring = &mut self.queues.rings[priority];
        for &index in skipped.iter().rev() {
            ring.flows.push_front(index);
        }
        ring.flows.extend(&done);
        skipped.clear();
        done.clear();
        (self.skipped, self.done) = (skipped, done);
    }

    /// Adds up to `minislots` to a flow's share of the MAP; says how that ended, and what it got.
    fn share(&mut self, index: FlowIndex, minislots: u64) -> (End, u64) {
        let (more_flows, free) = (self.more_flows(), self.unshared());
        if self.is_whole(index) {
            return self.share_whole(index, minislots, more_flows);
        }
        let Some(flow) = self.flows.get_mut(index) else {
            return (End::Nothing, 0);
        };
        let turn = &mut flow.turn;
        let wanted = u64::from(turn.most.saturating_sub(turn.minislots));
        let step = wanted.min(minislots).min(free);
        let has = u64::from(turn.minislots) + step;
        let least = self.sizes.least_part.min(turn.most);
        if step == 0 || has < u64::from(least) || (turn.minislots == 0 && !more_flows) {
            let full = free < wanted.min(minislots);
            return (if full { End::Full } else { End::Nothing }, 0);
        }
        if turn.minislots == 0 {
            self.chosen.push(index);
            let priority = usize::from(flow.config.priority) % self.queues.rings.len();
            self.queues.rings[priority].served = self.now;
        }
        turn.minislots += step as u32;
        self.promised += step;
        let end = if step == wanted {
            End::Satisfied
        } else if step == free {
            End::Full
        } else {
            End::Turn
        };
        (end, step)
    }

    fn is_whole(&self, index: FlowIndex) -> bool {
        let flow = self.flows.get(index);
        flow.is_some_and(|flow| needs_whole(flow.config.policy, self.sizes.cutting))
    }

    /// A burst that must not be cut finds its place at once, if it may have so many minislots: what
    /// the others share goes around it.
    fn share_whole(&mut self, index: FlowIndex, minislots: u64, more_flows: bool) -> (End, u64) {
        let Some(turn) = self.turn(index) else {
            return (End::Nothing, 0);
        };
        let may = minislots >= turn.most.into() && more_flows;
        if may && self.grant_burst(index) {
            (End::Satisfied, turn.most.into())
        } else {
            (End::Nothing, 0)
        }
    }

    /// Gives all shares their minislots, one behind the other, from where the profile says.
    fn place_parts(&mut self) {
        let chosen = std::mem::take(&mut self.chosen);
        // Free minislots that may stay free in front, or between.
        let mut slack = self.draft.free().saturating_sub(self.promised);
        let mut at = self.draft.start();
        if self.profile.grant_place == GrantPlace::Random {
            let skip = self.random.below(slack + 1);
            slack -= skip;
            at = self.behind_free(skip);
        }
        for &index in &chosen {
            let Some(flow) = self.flows.get(index) else {
                continue;
            };
            at = self.place_share(index, flow.turn.minislots, at, &mut slack);
        }
        self.chosen = chosen;
    }

    /// The minislot behind the first `skip` free ones.
    fn behind_free(&self, mut skip: u64) -> u64 {
        for &(first, end) in self.draft.holes() {
            if skip < end - first {
                return first + skip;
            }
            skip -= end - first;
        }
        self.draft.end()
    }

    /// Gives a share its minislots from `at` on, in one grant where there is slack for it; says
    /// where it ended.
    fn place_share(
        &mut self,
        index: FlowIndex,
        minislots: u32,
        mut at: u64,
        slack: &mut u64,
    ) -> u64 {
        let mut left = minislots;
        while left > 0 && self.draft.has_room() {
            let holes = self.draft.holes();
            let near = holes.partition_point(|&(_, end)| end <= at);
            let Some(&(first, end)) = holes.get(near) else {
                break;
            };
            let first = first.max(at);
            let room = end - first;
            if room < u64::from(left) {
                let later = holes[near + 1..].iter();
                let fits = later.clone().any(|hole| hole.1 - hole.0 >= u64::from(left));
                if room <= *slack && fits {
                    *slack -= room;
                    at = end;
                    continue;
                }
                if room < u64::from(self.sizes.least_part) {
                    at = end;
                    continue;
                }
            }
            let given = room.min(left.into()) as u32;
            if !self.grant(index, first, given, false) {
                break;
            }
            left -= given;
            at = first + u64::from(given);
        }
        at
    }
}
