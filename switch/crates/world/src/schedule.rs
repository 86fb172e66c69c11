// SPDX-License-Identifier: Apache-2.0
//! What happens next: one entry for each source of events, in one order.
//!
//! A source (a device, a link, an application) has one next time at most. What is
//! behind that waits at the source, so the queue has no more entries than there are
//! sources, and a source changes its time without looking at others. The source whose
//! turn it is has no time any more; who gets one next takes its place in the queue, as
//! nearly always somebody soon does.

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

/// Children of a node: fewer levels than with two.
const CHILDREN: usize = 4;
const NOWHERE: u32 = u32::MAX;

/// A heap that knows where each source is.
#[derive(Debug, Default)]
pub struct Schedule {
    heap: Vec<(u64, u32)>,
    /// By source: its place in the heap. Apart from the ranks: every entry that moves writes
    /// one, and these few bytes stay in the nearest cache.
    places: Vec<u32>,
    /// By source. Only what is due at one time is compared by it.
    ranks: Vec<Rank>,
    /// The heap's first place is free: what stands there has been taken.
    taken: bool,
}

impl Schedule {
    /// Another source, without a time. Its number counts up from 0.
    pub fn add(&mut self, rank: Rank) -> u32 {
        let source = self.ranks.len() as u32;
        self.ranks.push(rank);
        self.places.push(NOWHERE);
        source
    }

    /// The next thing, if it is due by `until`: when, and which source, which has no time
    /// from now on.
    pub fn take(&mut self, until: u64) -> Option<(u64, u32)> {
        self.close();
        let first = self
            .heap
            .first()
            .copied()
            .filter(|first| first.0 <= until)?;
        self.places[first.1 as usize] = NOWHERE;
        self.taken = true;
        Some(first)
    }

    /// When a source is due.
    #[must_use]
    pub fn time(&self, source: u32) -> Option<u64> {
        let place = self.places[source as usize];
        self.heap.get(place as usize).map(|entry| entry.0)
    }

    /// A source is due at a time, instead of the one before, or not at all.
    pub fn set(&mut self, source: u32, time: Option<u64>) {
        let place = self.places[source as usize] as usize;
        match (place < self.heap.len(), time) {
            (true, Some(time)) => {
                let entry = (time, source);
                let before = self.heap[place].0;
                if time < before {
                    self.rise(place, entry);
                } else if time > before {
                    self.sink(place, entry);
                }
            }
            (false, Some(time)) if self.taken => {
                self.taken = false;
                self.sink(0, (time, source));
            }
            (false, Some(time)) => {
                let entry = (time, source);
                self.heap.push(entry);
                self.rise(self.heap.len() - 1, entry);
            }
            (true, None) => {
                self.places[source as usize] = NOWHERE;
                self.fill(place);
            }
            (false, None) => {}
        }
    }

    /// A source is due at a time, unless it is already due before.
    pub fn set_earlier(&mut self, source: u32, time: u64) {
        if self.time(source).is_none_or(|at| time < at) {
            self.set(source, Some(time));
        }
    }

    /// Nobody has taken the place of what was taken.
    fn close(&mut self) {
        if std::mem::take(&mut self.taken) {
            self.fill(0);
        }
    }

    /// Puts the last entry into a place that is free.
    fn fill(&mut self, place: usize) {
        if let Some(last) = self.heap.pop()
            && place < self.heap.len()
        {
            // It may belong above or below.
            let place = self.rise(place, last);
            self.sink(place, last);
        }
    }

    #[inline]
    fn before(&self, one: (u64, u32), other: (u64, u32)) -> bool {
        if one.0 != other.0 {
            return one.0 < other.0;
        }
        let rank = |source: u32| self.ranks[source as usize];
        (rank(one.1), one.1) < (rank(other.1), other.1)
    }

    #[inline]
    fn put(&mut self, place: usize, entry: (u64, u32)) {
        self.heap[place] = entry;
        self.places[entry.1 as usize] = place as u32;
    }

    /// Puts an entry into a place, or above it; returns where.
    fn rise(&mut self, mut place: usize, entry: (u64, u32)) -> usize {
        // What has been taken is nobody to compare with.
        let top = if self.taken { CHILDREN } else { 0 };
        while place > top {
            let parent = (place - 1) / CHILDREN;
            if !self.before(entry, self.heap[parent]) {
                break;
            }
            self.put(place, self.heap[parent]);
            place = parent;
        }
        self.put(place, entry);
        place
    }

    /// Puts an entry into a place, or below it.
    fn sink(&mut self, mut place: usize, entry: (u64, u32)) {
        loop {
            let first = place * CHILDREN + 1;
            let last = (first + CHILDREN).min(self.heap.len());
            let Some(children) = self.heap.get(first..last) else {
                break;
            };
            let mut least = entry;
            let mut to = place;
            for (child, &other) in children.iter().enumerate() {
                if self.before(other, least) {
                    least = other;
                    to = first + child;
                }
            }
            if to == place {
                break;
            }
            self.put(place, least);
            place = to;
        }
        self.put(place, entry);
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
            // Takes what is due by a time, or sets a source's.
            steps in prop::collection::vec(
                prop_oneof![
                    (0..50u64).prop_map(|until| (None, Some(until))),
                    (0..20u32, prop::option::of(0..50u64)).prop_map(|(s, time)| (Some(s), time)),
                ],
                1..300,
            ),
        ) {
            let mut schedule = Schedule::default();
            let mut times = [None; 20];
            for number in 0..20 {
                // Ranks do not follow the order of adding.
                schedule.add(rank(Kind::Host, number * 7 % 20));
            }
            for step in steps {
                match step {
                    (Some(source), time) => {
                        schedule.set(source, time);
                        times[source as usize] = time;
                        prop_assert_eq!(schedule.time(source), time);
                    }
                    (None, until) => {
                        let until = until.unwrap_or(u64::MAX);
                        let least = (0..20u32)
                            .filter_map(|s| times[s as usize].map(|t: u64| (t, s * 7 % 20, s)))
                            .min()
                            .filter(|(time, ..)| *time <= until);
                        let next = schedule.take(until);
                        prop_assert_eq!(next, least.map(|(time, _, s)| (time, s)));
                        if let Some((_, source)) = next {
                            times[source as usize] = None;
                            prop_assert_eq!(schedule.time(source), None);
                        }
                    }
                }
            }
        }
    }
}
