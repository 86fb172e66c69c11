// SPDX-License-Identifier: Apache-2.0
//! Unsolicited grants, polls and proactive grants find their places: the earliest deadline first,
//! without preemption, MAP after MAP. Which loads this keeps within their jitter is
//! [`crate::schedulable`]'s question.
//!
//! A load costs nothing in MAPs in which nothing of it is due: the next piece of each waits in a
//! heap.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use mac_wire::Clock;

use crate::load::{Kinds, Load, Together};

/// A load's place in the table.
pub(crate) type Slot = u32;

#[derive(Debug, Clone, Copy)]
struct Stream {
    flow: u32,
    load: Load,
    /// Pieces of other generations are stale.
    generation: u64,
    running: bool,
}

/// A piece that is due. Compared by deadline, then by what makes it unique.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Job {
    /// The minislot before which it ends if it starts in time.
    deadline: u64,
    slot: Slot,
    generation: u64,
    release: u64,
    latest: u64,
    cost: u32,
}

/// A piece that has its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Placed {
    pub(crate) flow: u32,
    pub(crate) slot: Slot,
    pub(crate) first: u64,
    /// The last minislot in which a piece of this interval may start.
    pub(crate) latest: u64,
}

/// What a MAP offers to periodic loads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Offer {
    /// The first minislot that may be given.
    pub(crate) from: u64,
    /// The first that may not: maintenance begins there, or the MAP ends.
    pub(crate) limit: u64,
    /// The end of the MAP: what may also start there is not urgent.
    pub(crate) end: u64,
    /// Minislots that contention needs: what is not urgent leaves them free.
    pub(crate) contention: u64,
    /// Pieces: where more are due, those wait that are not urgent.
    pub(crate) pieces: usize,
    /// A MAP that may stretch does so for a piece that would cross its end, up to this minislot:
    /// to such loads, MAPs have no ends.
    pub(crate) stretch_to: u64,
}

/// Pieces of a MAP at the most: with a gap behind each they leave information elements for
/// contention and maintenance.
const MOST_PIECES: usize = 108;

/// All periodic loads of a channel.
#[derive(Debug, Default, Clone)]
pub(crate) struct Timers {
    streams: Vec<Option<Stream>>,
    unused: Vec<Slot>,
    /// All of them, for the test of admission: it would take long to put them together each time.
    kinds: Kinds,
    generations: u64,
    /// The next interval of each running load: its first minislot, load, generation, interval.
    next: BinaryHeap<Reverse<(u64, Slot, u64, u64)>>,
    /// Due pieces that found no place yet.
    ready: BinaryHeap<Reverse<Job>>,
    arriving: VecDeque<Job>,
    waiting: Vec<Job>,
    /// Pieces whose window passed without a place.
    pub(crate) missed: u64,
}

impl Timers {
    /// Adds a load of a flow, and starts it if it is to run.
    pub(crate) fn add(
        &mut self,
        flow: u32,
        load: Load,
        from: u64,
        run: bool,
        clock: &Clock,
    ) -> Slot {
        let stream = Stream {
            flow,
            load,
            generation: 0,
            running: false,
        };
        self.kinds.add(&load);
        let slot = match self.unused.pop() {
            Some(slot) => {
                self.streams[slot as usize] = Some(stream);
                slot
            }
            None => {
                self.streams.push(Some(stream));
                (self.streams.len() - 1) as Slot
            }
        };
        if run {
            self.run(slot, from, clock);
        }
        slot
    }

    /// Removes a load; what is due of it is forgotten.
    pub(crate) fn remove(&mut self, slot: Slot) {
        if let Some(stream) = self.streams[slot as usize].take() {
            self.kinds.remove(&stream.load);
        }
        self.unused.push(slot);
    }

    /// The load in a place.
    pub(crate) fn load(&self, slot: Slot) -> Option<&Load> {
        let stream = self.streams.get(slot as usize)?.as_ref()?;
        Some(&stream.load)
    }

    /// All loads but those of one flow.
    pub(crate) fn loads_without(&self, flow: Option<u32>) -> impl Iterator<Item = Load> {
        let others = self.streams.iter().flatten();
        others
            .filter(move |stream| Some(stream.flow) != flow)
            .map(|stream| stream.load)
    }

    /// The same for the test of admission.
    pub(crate) fn together_without(&self, flow: Option<u32>) -> Together {
        let mut together = self.kinds.together();
        let streams = self.streams.iter().flatten();
        for stream in streams.filter(|stream| Some(stream.flow) == flow) {
            together.remove(&stream.load);
        }
        together
    }

    /// Lets a load run from a minislot on, in the phase that it always had.
    pub(crate) fn run(&mut self, slot: Slot, from: u64, clock: &Clock) {
        let Some(Some(stream)) = self.streams.get_mut(slot as usize) else {
            return;
        };
        if stream.running {
            return;
        }
        self.generations += 1;
        stream.generation = self.generations;
        stream.running = true;
        let interval = stream.load.interval_from(from, clock);
        let (first, _) = stream.load.starts(interval, clock);
        self.next
            .push(Reverse((first, slot, stream.generation, interval)));
        self.forget_stale();
    }

    /// Loads that have gone leave an interval each, which may be due in an hour. They are thrown out
    /// before they are more than the others. What is due and waits needs no such care: every MAP
    /// looks at all of it.
    fn forget_stale(&mut self) {
        if self.next.len() <= 64 + 2 * self.streams.len() {
            return;
        }
        let mut next = std::mem::take(&mut self.next).into_vec();
        next.retain(|&Reverse((_, slot, generation, _))| self.current(slot, generation).is_some());
        self.next = BinaryHeap::from(next);
    }

    /// Stops a load.
    pub(crate) fn stop(&mut self, slot: Slot) {
        if let Some(Some(stream)) = self.streams.get_mut(slot as usize) {
            stream.running = false;
            stream.generation = 0;
        }
    }

    fn current(&self, slot: Slot, generation: u64) -> Option<Stream> {
        let stream = (*self.streams.get(slot as usize)?)?;
        (stream.running && stream.generation == generation).then_some(stream)
    }

    /// Pieces that come due before the end of the MAP.
    fn collect(&mut self, end: u64, clock: &Clock) {
        while let Some(&Reverse((first, slot, generation, interval))) = self.next.peek() {
            if first >= end {
                break;
            }
            self.next.pop();
            let Some(stream) = self.current(slot, generation) else {
                continue;
            };
            let (release, latest) = stream.load.starts(interval, clock);
            let job = Job {
                deadline: latest.saturating_add(stream.load.cost.into()),
                slot,
                generation,
                release,
                latest,
                cost: stream.load.cost,
            };
            for _ in 0..stream.load.count {
                self.arriving.push_back(job);
            }
            let (first, _) = stream.load.starts(interval + 1, clock);
            self.next
                .push(Reverse((first, slot, generation, interval + 1)));
        }
    }

    /// Gives every piece that is due its place, in order of time; pieces that may wait for the
    /// next MAP may have to. Says where the MAP ends then.
    pub(crate) fn place(
        &mut self,
        mut offer: Offer,
        clock: &Clock,
        placed: &mut Vec<Placed>,
    ) -> u64 {
        self.collect(offer.end, clock);
        let end = offer.end;
        let urgent = |job: &Job| job.latest < end;
        let due = self.ready.iter().map(|Reverse(job)| job);
        let (needed, pieces) = due
            .chain(&self.arriving)
            .filter(|job| urgent(job))
            .fold((0, 0), |(needed, pieces), job| {
                (needed + u64::from(job.cost), pieces + 1)
            });
        let mut spare_pieces = offer.pieces.saturating_sub(pieces);
        let room = offer.limit.saturating_sub(offer.from);
        let mut spare = if offer.stretch_to > 0 {
            // Contention finds minislots behind them.
            u64::MAX
        } else {
            room.saturating_sub(offer.contention + needed)
        };
        let mut at = offer.from;
        loop {
            while self.arriving.front().is_some_and(|job| job.release <= at) {
                self.ready.extend(self.arriving.pop_front().map(Reverse));
            }
            let Some(Reverse(job)) = self.ready.pop() else {
                match self.arriving.front() {
                    Some(job) => at = job.release,
                    None => break,
                }
                continue;
            };
            let Some(stream) = self.current(job.slot, job.generation) else {
                continue;
            };
            if at > job.latest {
                self.missed += 1;
                continue;
            }
            let cost = u64::from(job.cost);
            let kept = !urgent(&job) && (spare < cost || spare_pieces == 0);
            let more = (at + cost).saturating_sub(offer.limit);
            if more > 0 && !kept && offer.end + more <= offer.stretch_to {
                offer.limit += more;
                offer.end += more;
                self.collect(offer.end, clock);
            }
            if at + cost > offer.limit || kept || placed.len() >= MOST_PIECES {
                self.waiting.push(job);
                continue;
            }
            if !urgent(&job) {
                spare -= cost;
                spare_pieces -= 1;
            }
            placed.push(Placed {
                flow: stream.flow,
                slot: job.slot,
                first: at,
                latest: job.latest,
            });
            at += cost;
        }
        self.ready.extend(self.waiting.drain(..).map(Reverse));
        offer.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::Kind;

    const CLOCK: Clock = Clock {
        per_frame: 1,
        frame_ps: 25_000_000,
    };

    fn poll(interval: u64) -> Load {
        Load {
            kind: Kind::Poll,
            interval,
            jitter: 0,
            cost: 1,
            count: 1,
            window: 0,
            t0: 0,
        }
    }

    #[test]
    fn loads_that_go_leave_nothing_for_an_hour() {
        const HOUR: u64 = 3_600_000_000_000;
        let mut timers = Timers::default();
        let kept = timers.add(0, poll(1_000_000), 0, true, &CLOCK);
        for _ in 0..1000 {
            let slot = timers.add(1, poll(HOUR), 1, true, &CLOCK);
            timers.stop(kept);
            timers.run(kept, 0, &CLOCK);
            timers.remove(slot);
        }
        assert!(timers.next.len() <= 64 + 2 * 2, "{}", timers.next.len());
        let pieces = |flow| -> u32 {
            let together = timers.together_without(flow);
            together.loads().iter().map(|load| load.count).sum()
        };
        assert_eq!((pieces(None), pieces(Some(0)), pieces(Some(1))), (1, 0, 1));
        // What has not gone is where it was.
        let offer = Offer {
            from: 0,
            limit: 80,
            end: 80,
            contention: 0,
            pieces: 80,
            stretch_to: 0,
        };
        let mut placed = Vec::new();
        timers.place(offer, &CLOCK, &mut placed);
        let places: Vec<_> = placed.iter().map(|one| (one.slot, one.first)).collect();
        assert_eq!(places, [(kept, 0), (kept, 40)]);
    }
}
