// SPDX-License-Identifier: Apache-2.0
//! What happens next: one entry for each source of events, in one order.
//!
//! A source (a device, a link, an application) has one next time at most. What is
//! behind that waits at the source, so the queue has no more entries than there are
//! sources, and a source changes its time without looking at others.

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

#[derive(Debug)]
struct Source {
    rank: Rank,
    /// Its place in the heap.
    place: u32,
}

/// A heap that knows where each source is.
#[derive(Debug, Default)]
pub struct Schedule {
    heap: Vec<(u64, u32)>,
    sources: Vec<Source>,
}

impl Schedule {
    /// Another source, without a time. Its number counts up from 0.
    pub fn add(&mut self, rank: Rank) -> u32 {
        let source = self.sources.len() as u32;
        self.sources.push(Source {
            rank,
            place: NOWHERE,
        });
        source
    }

    /// The next thing: when, and which source.
    #[must_use]
    pub fn next(&self) -> Option<(u64, u32)> {
        self.heap.first().copied()
    }

    /// When a source is due.
    #[must_use]
    pub fn time(&self, source: u32) -> Option<u64> {
        let place = self.sources[source as usize].place;
        self.heap.get(place as usize).map(|entry| entry.0)
    }

    /// A source is due at a time, instead of the one before, or not at all.
    pub fn set(&mut self, source: u32, time: Option<u64>) {
        let place = self.sources[source as usize].place as usize;
        match (place < self.heap.len(), time) {
            (true, Some(time)) => {
                let before = std::mem::replace(&mut self.heap[place].0, time);
                if time < before {
                    self.rise(place);
                } else if time > before {
                    self.sink(place);
                }
            }
            (false, Some(time)) => {
                self.heap.push((time, source));
                self.rise(self.heap.len() - 1);
            }
            (true, None) => {
                self.sources[source as usize].place = NOWHERE;
                let last = self.heap.len() - 1;
                let moved = self.heap.swap_remove(place);
                debug_assert_eq!(moved.1, source);
                if place < last {
                    // It may belong above or below.
                    self.rise(place);
                    self.sink(self.sources[self.heap[place].1 as usize].place as usize);
                }
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

    fn before(&self, one: (u64, u32), other: (u64, u32)) -> bool {
        if one.0 != other.0 {
            return one.0 < other.0;
        }
        let rank = |source: u32| self.sources[source as usize].rank;
        (rank(one.1), one.1) < (rank(other.1), other.1)
    }

    fn put(&mut self, place: usize, entry: (u64, u32)) {
        self.heap[place] = entry;
        self.sources[entry.1 as usize].place = place as u32;
    }

    fn rise(&mut self, mut place: usize) {
        let entry = self.heap[place];
        while place > 0 {
            let parent = (place - 1) / CHILDREN;
            if !self.before(entry, self.heap[parent]) {
                break;
            }
            self.put(place, self.heap[parent]);
            place = parent;
        }
        self.put(place, entry);
    }

    fn sink(&mut self, mut place: usize) {
        let entry = self.heap[place];
        loop {
            let first = place * CHILDREN + 1;
            let last = (first + CHILDREN).min(self.heap.len());
            if first >= last {
                break;
            }
            let mut least = first;
            for child in first + 1..last {
                if self.before(self.heap[child], self.heap[least]) {
                    least = child;
                }
            }
            if !self.before(self.heap[least], entry) {
                break;
            }
            self.put(place, self.heap[least]);
            place = least;
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
        while let Some((_, source)) = schedule.next() {
            order.push(source);
            schedule.set(source, None);
        }
        assert_eq!(order, [device, other, frame, timer]);
    }

    proptest! {
        #[test]
        fn the_next_is_always_the_least(
            changes in prop::collection::vec((0..20u32, prop::option::of(0..50u64)), 1..300),
        ) {
            let mut schedule = Schedule::default();
            let mut times = [None; 20];
            for number in 0..20 {
                // Ranks do not follow the order of adding.
                schedule.add(rank(Kind::Host, number * 7 % 20));
            }
            for (source, time) in changes {
                schedule.set(source, time);
                times[source as usize] = time;
                let least = (0..20u32)
                    .filter_map(|s| times[s as usize].map(|t: u64| (t, s * 7 % 20, s)))
                    .min();
                prop_assert_eq!(schedule.next(), least.map(|(time, _, s)| (time, s)));
                prop_assert_eq!(schedule.time(source), time);
            }
        }
    }
}
