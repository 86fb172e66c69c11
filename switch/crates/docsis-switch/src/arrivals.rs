// SPDX-License-Identifier: Apache-2.0
//! Frames that wait in the ports' sockets, in the order in which the kernel
//! received them, whatever port they came from.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

/// The origin of frames: the ports' sockets, or a test.
pub trait Source {
    /// Receives frames of a port into these slots without waiting, and returns how many.
    fn receive(&mut self, port: usize, slots: Range<usize>) -> usize;

    /// The time at which the frame in a slot was received, on the switch's clock.
    fn stamp(&self, slot: usize) -> u64;
}

/// A frame that is next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// The time at which the kernel received it.
    pub at: u64,
    /// The index of its port.
    pub port: usize,
    /// The slot that it is in.
    pub slot: usize,
    run: usize,
}

/// A port's frames, as they were received together.
#[derive(Debug)]
struct Run {
    port: usize,
    slots: Range<usize>,
    /// The slots whose frames have not been handed out.
    waiting: Range<usize>,
    /// The time at which the last frame came. A later frame of the port counts as at least as late,
    /// so that frames of one port do not overtake each other.
    last: u64,
    /// Whether every slot got a frame, so that the socket may have more.
    full: bool,
}

/// How much is received at a time.
#[derive(Debug, Clone, Copy)]
pub struct Portion {
    /// How many slots there are.
    pub slots: usize,
    /// The most frames of a port that one call receives.
    pub at_once: usize,
    /// About how many frames of all ports are received until something else has its turn.
    pub frames: usize,
}

/// Merges the ports' frames by time, then port, then sequence. When all received frames of a port
/// have been handed out, the port is asked for more before a later frame of another port is handed
/// out, as long as it may have frames that came before the merging began.
#[derive(Debug, Default)]
pub struct Arrivals {
    runs: Vec<Run>,
    next: BinaryHeap<Reverse<(u64, usize)>>,
    /// The time at which the merging began. All frames that came before it are merged.
    began: u64,
    /// How many further frames may be received in this turn.
    left: usize,
    /// Whether a port may have frames that came before those here although its turn is over.
    is_behind: bool,
}

impl Arrivals {
    /// Receives from these ports, which are ascending, each into an equal part of the slots. If the
    /// turn before was over too early, its merging goes on instead.
    pub fn gather(
        &mut self,
        ports: &[usize],
        now: u64,
        portion: Portion,
        source: &mut impl Source,
    ) {
        self.left = portion.frames;
        if std::mem::take(&mut self.is_behind) {
            for n in 0..self.runs.len() {
                if self.runs[n].waiting.is_empty()
                    && ports.binary_search(&self.runs[n].port).is_ok()
                {
                    self.fill(n, source);
                }
            }
            return;
        }
        debug_assert!(ports.len() <= portion.slots && self.next.is_empty());
        self.runs.clear();
        self.began = now;
        let part = portion.slots / ports.len().max(1);
        let part = part.min(portion.at_once).max(1);
        for (n, &port) in ports.iter().enumerate() {
            let slots = n * part..(n + 1) * part;
            self.runs.push(Run {
                port,
                waiting: slots.start..slots.start,
                slots,
                last: 0,
                full: false,
            });
            self.fill(n, source);
        }
    }

    fn fill(&mut self, n: usize, source: &mut impl Source) {
        let run = &mut self.runs[n];
        let count = source.receive(run.port, run.slots.clone());
        run.waiting = run.slots.start..run.slots.start + count;
        run.full = count == run.slots.len();
        self.left = self.left.saturating_sub(count);
        self.queue(n, source);
    }

    /// Queues the run by the time of its first frame, if it has one.
    fn queue(&mut self, n: usize, source: &impl Source) {
        let run = &mut self.runs[n];
        if !run.waiting.is_empty() {
            run.last = run.last.max(source.stamp(run.waiting.start));
            self.next.push(Reverse((run.last, n)));
        }
    }

    /// The time at which the first frame came.
    pub fn first(&self) -> Option<u64> {
        self.next.peek().map(|&Reverse((at, _))| at)
    }

    /// Whether a port may have frames that came before those here, or before what is due now. If
    /// so, the next [`Self::gather`] must come before anything else happens.
    pub fn is_behind(&self) -> bool {
        self.is_behind
    }

    /// Hands out the next frame. Its slot is in use until the next call.
    pub fn next(&mut self, source: &impl Source) -> Option<Arrival> {
        if self.is_behind {
            return None;
        }
        let Reverse((at, n)) = self.next.pop()?;
        let run = &mut self.runs[n];
        let slot = run.waiting.start;
        run.waiting.start += 1;
        let port = run.port;
        self.queue(n, source);
        Some(Arrival {
            at,
            port,
            slot,
            run: n,
        })
    }

    /// Asks a port for more frames after `arrival` has been delivered, if that was the last frame
    /// of a full run.
    pub fn delivered(&mut self, arrival: Arrival, source: &mut impl Source) {
        let run = &self.runs[arrival.run];
        if run.waiting.is_empty() && run.full && run.last < self.began {
            if self.left > 0 {
                self.fill(arrival.run, source);
            } else {
                self.is_behind = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    /// Sockets with the times at which their frames came, and what is in the slots.
    struct Sockets {
        waiting: Vec<VecDeque<u64>>,
        slots: Vec<u64>,
    }

    impl Source for Sockets {
        fn receive(&mut self, port: usize, slots: Range<usize>) -> usize {
            let queue = &mut self.waiting[port];
            let count = slots.len().min(queue.len());
            let taken = queue.drain(..count);
            taken
                .zip(slots)
                .for_each(|(at, slot)| self.slots[slot] = at);
            count
        }

        fn stamp(&self, slot: usize) -> u64 {
            self.slots[slot]
        }
    }

    const LATER: u64 = 10_000;

    /// What is handed out in one turn.
    fn turn(
        arrivals: &mut Arrivals,
        sockets: &mut Sockets,
        at_once: usize,
        frames: usize,
    ) -> Vec<(u64, usize)> {
        let ports: Vec<usize> = (0..sockets.waiting.len()).collect();
        let slots = sockets.slots.len();
        let portion = Portion {
            slots,
            at_once,
            frames,
        };
        arrivals.gather(&ports, LATER, portion, sockets);
        let mut order = Vec::new();
        while let Some(arrival) = arrivals.next(&*sockets) {
            assert_eq!(sockets.slots[arrival.slot], arrival.at);
            order.push((arrival.at, arrival.port));
            arrivals.delivered(arrival, sockets);
        }
        order
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

        #[test]
        fn frames_come_in_the_order_of_time_then_port(
            ports in prop::collection::vec(prop::collection::vec(0u64..1000, 0..40), 1..6),
            at_once in 1usize..10,
            frames in 1usize..50,
        ) {
            let sorted = |mut times: Vec<u64>| { times.sort_unstable(); VecDeque::from(times) };
            let waiting: Vec<VecDeque<u64>> = ports.into_iter().map(sorted).collect();
            let mut expected: Vec<(u64, usize)> = waiting.iter().enumerate()
                .flat_map(|(port, times)| times.iter().map(move |&at| (at, port)))
                .collect();
            expected.sort_unstable();
            let mut sockets = Sockets { waiting, slots: vec![0; 16] };
            // However many turns it takes.
            let (mut arrivals, mut order) = (Arrivals::default(), Vec::new());
            loop {
                order.extend(turn(&mut arrivals, &mut sockets, at_once, frames));
                if !arrivals.is_behind() {
                    break;
                }
            }
            prop_assert_eq!(order, expected);
        }
    }

    #[test]
    fn a_port_s_frames_stay_in_their_order_though_stamps_do_not() {
        let waiting = vec![VecDeque::from([5, 3, 9]), VecDeque::from([4])];
        let mut sockets = Sockets {
            waiting,
            slots: vec![0; 8],
        };
        let mut arrivals = Arrivals::default();
        let portion = Portion {
            slots: 8,
            at_once: 8,
            frames: 8,
        };
        arrivals.gather(&[0, 1], LATER, portion, &mut sockets);
        let mut order = Vec::new();
        while let Some(arrival) = arrivals.next(&sockets) {
            order.push((arrival.at, arrival.port, arrival.slot));
        }
        assert_eq!(order, [(4, 1, 4), (5, 0, 0), (5, 0, 1), (9, 0, 2)]);
    }

    #[test]
    fn sockets_that_are_never_empty_end() {
        let waiting = vec![(0..10_000).collect(), (0..10_000).collect()];
        let mut sockets = Sockets {
            waiting,
            slots: vec![0; 8],
        };
        let mut arrivals = Arrivals::default();
        let order = turn(&mut arrivals, &mut sockets, 4, 20);
        assert!(arrivals.is_behind());
        assert_eq!((order.len(), order[15]), (16, (7, 1)));
        let order = turn(&mut arrivals, &mut sockets, 4, 20);
        assert_eq!(order[..2], [(8, 0), (8, 1)]);
    }

    /// What came after the merging began is no reason to go on: a departure may be due.
    #[test]
    fn frames_that_come_meanwhile_wait_for_the_next_turn() {
        let waiting = vec![(LATER - 2..LATER + 100).collect()];
        let mut sockets = Sockets {
            waiting,
            slots: vec![0; 4],
        };
        let mut arrivals = Arrivals::default();
        let order = turn(&mut arrivals, &mut sockets, 4, 1_000);
        assert!(!arrivals.is_behind());
        assert_eq!(order.len(), 4);
    }
}
