// SPDX-License-Identifier: Apache-2.0
//! Orders events: one entry for each source of events, by time.
//!
//! A source (a device, a link, an application) has at most one next time. Its later
//! events wait at the source, so the queue has no more entries than there are
//! sources, and a source changes its time without looking at others. A source whose
//! turn has come has no time until it sets a new one.

/// Who goes first of what is due at one time; each source has its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank {
    /// What it is.
    pub kind: Kind,
    /// The device, by its device_id, at which it is.
    pub device: u64,
    /// The device's port.
    pub port: u16,
    /// Among several of one port.
    pub number: u32,
}

/// Kinds of sources. A device does what is due before a frame reaches it at that time,
/// as in real time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A device has something to do.
    Device,
    /// A frame reaches a device.
    ToDevice,
    /// The MAC of an upstream channel has something to do.
    Channel,
    /// A device's process runs.
    Process,
    /// A frame reaches a host.
    ToHost,
    /// A host's processes run.
    Host,
    /// An application's timer.
    Application,
    /// Samples are taken.
    Sampler,
}

/// No time at all.
const NEVER: u64 = u64::MAX;

/// A tournament among the sources: every place of the tree has the source of the two below it that
/// is earlier, so the first place has what is next. The leaves are the sources in the order of
/// their ranks, so of equal times the left one is first. A source whose time changes plays its way
/// up until it makes no difference any more, and no branch depends on who wins.
#[derive(Debug, Default)]
pub struct Schedule {
    /// Place 1 is the root; below place n are 2n and 2n + 1, and the leaves are the second half.
    tree: Vec<u32>,
    /// By source.
    leaves: Vec<u32>,
    /// By source.
    ranks: Vec<Rank>,
    /// By source, and at last that of leaves without one.
    times: Vec<u64>,
    /// The source whose turn it is still has its time in the tree: most get another one at once,
    /// and play once for both.
    taken: Option<u32>,
    /// Sources were added, and are not in the tree.
    grown: bool,
}

impl Schedule {
    /// Another source, without a time. Its number counts up from 0.
    pub fn add(&mut self, rank: Rank) -> u32 {
        let source = self.ranks.len() as u32;
        self.ranks.push(rank);
        self.times.truncate(source as usize);
        self.times.extend([NEVER, NEVER]);
        if let Some(taken) = self.taken.take() {
            self.times[taken as usize] = NEVER;
        }
        self.grown = true;
        source
    }

    /// The next thing, if it is due by `until`: when, and which source, which has no time
    /// from now on.
    pub fn take(&mut self, until: u64) -> Option<(u64, u32)> {
        if self.grown {
            self.build();
        } else if let Some(taken) = self.taken.take() {
            self.play(taken, NEVER);
        }
        let source = *self.tree.get(1)?;
        let time = self.times[source as usize];
        if time > until || time == NEVER {
            return None;
        }
        self.taken = Some(source);
        Some((time, source))
    }

    /// Who is likely to be next after the source that was taken last.
    #[must_use]
    pub fn likely(&self) -> Option<u32> {
        let mut place = *self.leaves.get(self.taken? as usize)? as usize;
        let (mut likely, mut earliest) = (None, NEVER);
        // All others have lost to one of those that it met.
        while place > 1 {
            let other = self.tree[place ^ 1];
            let time = self.times[other as usize];
            if time < earliest {
                (likely, earliest) = (Some(other), time);
            }
            place /= 2;
        }
        likely
    }

    /// When a source is due; `NEVER` where it is not.
    #[inline]
    fn time_of(&self, source: u32) -> u64 {
        if self.taken == Some(source) {
            return NEVER;
        }
        self.times[source as usize]
    }

    /// When a source is due.
    #[cfg(test)]
    pub fn time(&self, source: u32) -> Option<u64> {
        let time = self.time_of(source);
        (time != NEVER).then_some(time)
    }

    /// A source is due at a time, instead of the one before, or not at all.
    pub fn set(&mut self, source: u32, time: Option<u64>) {
        let time = time.unwrap_or(NEVER);
        if self.taken == Some(source) {
            self.taken = None;
        }
        if self.grown {
            self.times[source as usize] = time;
        } else {
            self.play(source, time);
        }
    }

    /// A source is due at a time, unless it is already due before.
    pub fn set_earlier(&mut self, source: u32, time: u64) {
        if time < self.time_of(source) {
            self.set(source, Some(time));
        }
    }

    /// Gives a source its time, and the tree who is first now.
    fn play(&mut self, source: u32, time: u64) {
        if self.times[source as usize] == time {
            return;
        }
        self.times[source as usize] = time;
        let mut place = self.leaves[source as usize] as usize;
        let (mut first, mut earliest) = (source, time);
        while place > 1 {
            let other = self.tree[place ^ 1];
            let others = self.times[other as usize];
            // The left one has even places.
            let loses = others < earliest || (others == earliest && place % 2 == 1);
            first = if loses { other } else { first };
            earliest = earliest.min(others);
            place /= 2;
            // Neither was the source first here, nor is it.
            if self.tree[place] == first && first != source {
                return;
            }
            self.tree[place] = first;
        }
    }

    /// Gives every source its leaf.
    fn build(&mut self) {
        self.grown = false;
        let nobody = self.ranks.len() as u32;
        let mut sources: Vec<u32> = (0..nobody).collect();
        let ranks = &self.ranks;
        sources.sort_unstable_by_key(|&source| (ranks[source as usize], source));
        let leaves = self.ranks.len().next_power_of_two();
        self.tree.clear();
        self.tree.resize(2 * leaves, nobody);
        self.leaves.resize(self.ranks.len(), 0);
        for (leaf, &source) in sources.iter().enumerate() {
            self.leaves[source as usize] = (leaves + leaf) as u32;
            self.tree[leaves + leaf] = source;
        }
        for place in (1..leaves).rev() {
            let [left, right] = [self.tree[2 * place], self.tree[2 * place + 1]];
            let right_first = self.times[right as usize] < self.times[left as usize];
            self.tree[place] = if right_first { right } else { left };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rank(kind: Kind, number: u32) -> Rank {
        Rank {
            kind,
            device: 0,
            port: 0,
            number,
        }
    }

    #[test]
    fn at_one_time_the_rank_decides_and_not_who_was_added_first() {
        let mut schedule = Schedule::default();
        let timer = schedule.add(rank(Kind::Application, 0));
        let frame = schedule.add(rank(Kind::ToDevice, 1));
        let other = schedule.add(rank(Kind::ToDevice, 0));
        let device = schedule.add(rank(Kind::Device, 0));
        for source in [timer, frame, other, device] {
            schedule.set(source, Some(5));
        }
        let mut order = Vec::new();
        while let Some((_, source)) = schedule.take(5) {
            order.push(source);
        }
        assert_eq!(order, [device, other, frame, timer]);
    }

    proptest! {
        #[test]
        fn the_next_is_always_the_least(
            // Takes what is due by a time, or sets a source's; one that is not there is added first.
            steps in prop::collection::vec(
                prop_oneof![
                    (0..50u64).prop_map(|until| (None, Some(until))),
                    (0..20u32, prop::option::of(0..50u64)).prop_map(|(s, time)| (Some(s), time)),
                ],
                1..300,
            ),
        ) {
            let mut schedule = Schedule::default();
            let mut times = Vec::new();
            for step in steps {
                match step {
                    (Some(source), time) => {
                        while times.len() <= source as usize {
                            // Ranks do not follow the order of adding.
                            let number = times.len() as u32 * 7 % 20;
                            schedule.add(rank(Kind::Host, number));
                            times.push(None);
                        }
                        schedule.set(source, time);
                        times[source as usize] = time;
                        prop_assert_eq!(schedule.time(source), time);
                    }
                    (None, until) => {
                        let until = until.unwrap_or(u64::MAX);
                        let least = (0..times.len() as u32)
                            .filter_map(|s| times[s as usize].map(|t: u64| (t, s * 7 % 20, s)))
                            .min()
                            .filter(|(time, ..)| *time <= until);
                        let next = schedule.take(until);
                        prop_assert_eq!(next, least.map(|(time, _, s)| (time, s)));
                        if let Some((_, source)) = next {
                            times[source as usize] = None;
                            // Of those that are due at one time it may be any.
                            let likely = schedule.likely().map(|source| times[source as usize]);
                            prop_assert_eq!(likely.flatten(), times.iter().copied().flatten().min());
                            prop_assert_eq!(schedule.time(source), None);
                        }
                    }
                }
            }
        }
    }
}
