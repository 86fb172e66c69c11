// SPDX-License-Identifier: Apache-2.0
//! Delay lines: the propagation delay of a port's link in each direction, with its jitter and loss.

use crate::config::{LEAST_FRAME, MILLION};
use rand_xoshiro::Xoshiro256StarStar;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// What happens to frames on their way along a link, in one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Path {
    /// Nanoseconds of every frame.
    pub delay: u64,
    /// Most nanoseconds that a frame takes longer, drawn uniformly from 0 on. Frames keep their
    /// order, as in the queues that jitter comes from: one that draws little waits for the one
    /// before it.
    pub jitter: u64,
    /// Frames of a million that are lost, each drawn by itself.
    pub loss_ppm: u32,
    /// Bytes that may be on their way.
    pub limit: u64,
}

/// Frames on their way along one link, in order.
#[derive(Debug)]
struct Line<F> {
    path: Path,
    bytes: u64,
    fifo: VecDeque<(u64, u32, F)>,
    /// Its own, so that what one link draws depends on no other link's traffic.
    random: Xoshiro256StarStar,
}

/// A set of delay lines, addressed by dense indexes.
///
/// A line keeps order: where a delay is shortened, frames leave behind those
/// that are already under way.
#[derive(Debug)]
pub struct DelayLines<F> {
    lines: Vec<Line<F>>,
    /// Exactly one entry for every line that is not empty: when its head is due.
    due: BinaryHeap<Reverse<(u64, u32)>>,
}

impl<F> Default for DelayLines<F> {
    fn default() -> Self {
        Self {
            lines: Vec::new(),
            due: BinaryHeap::new(),
        }
    }
}

impl<F> DelayLines<F> {
    /// Adds a line without delay, jitter and loss, and returns its index.
    ///
    /// `seed` and `names`, which tell the line from others of that seed, determine what it draws.
    pub fn add(&mut self, seed: u64, names: &[u64]) -> usize {
        let seed = names.iter().fold(seed, |seed, name| {
            Xoshiro256StarStar::seed_from_u64(seed ^ name).next_u64()
        });
        self.lines.push(Line {
            path: Path {
                limit: crate::config::DEFAULT_DELAY_LIMIT,
                ..Path::default()
            },
            bytes: 0,
            fifo: VecDeque::new(),
            random: Xoshiro256StarStar::seed_from_u64(seed),
        });
        self.lines.len() - 1
    }

    /// Sets what happens to frames on a line from now on.
    pub fn configure(&mut self, line: usize, path: Path) {
        self.lines[line].path = path;
    }

    /// True when every frame would pass at once: no delay, no jitter, no loss and nothing before it.
    #[must_use]
    pub fn is_wire(&self, line: usize) -> bool {
        let line = &self.lines[line];
        let Path {
            delay,
            jitter,
            loss_ppm,
            ..
        } = line.path;
        delay == 0 && jitter == 0 && loss_ppm == 0 && line.fifo.is_empty()
    }

    /// Draws whether the link loses the next frame of a line.
    pub fn loses(&mut self, line: usize) -> bool {
        let line = &mut self.lines[line];
        let loss = u64::from(line.path.loss_ppm);
        loss != 0 && below(&mut line.random, u64::from(MILLION)) < loss
    }

    /// True when a frame of `len` bytes still fits.
    #[must_use]
    pub fn has_room(&self, line: usize, len: usize) -> bool {
        let line = &self.lines[line];
        let frames = line.fifo.len() as u64;
        line.bytes + len as u64 <= line.path.limit && frames * LEAST_FRAME <= line.path.limit
    }

    /// Puts a frame of `len` bytes, for which there is room, on the line.
    pub fn push(&mut self, now: u64, index: usize, len: usize, frame: F) {
        let line = &mut self.lines[index];
        let more = match line.path.jitter {
            0 => 0,
            most => below(&mut line.random, most + 1),
        };
        let own = now + line.path.delay + more;
        let at = match line.fifo.back() {
            Some(&(before, ..)) => before.max(own),
            None => own,
        };
        if line.fifo.is_empty() {
            self.due.push(Reverse((at, index as u32)));
        }
        line.bytes += len as u64;
        line.fifo.push_back((at, len as u32, frame));
    }

    /// Frames on all lines.
    #[must_use]
    pub fn frames(&self) -> usize {
        self.lines.iter().map(|line| line.fifo.len()).sum()
    }

    /// When the next frame arrives.
    #[must_use]
    pub fn next_deadline(&self) -> Option<u64> {
        self.due.peek().map(|&Reverse((at, _))| at)
    }

    /// The earliest frame that has arrived by `now`, and its line.
    pub fn pop(&mut self, now: u64) -> Option<(usize, F)> {
        let &Reverse((at, index)) = self.due.peek()?;
        if at > now {
            return None;
        }
        self.due.pop();
        let line = &mut self.lines[index as usize];
        let (_, len, frame) = line.fifo.pop_front()?;
        line.bytes -= u64::from(len);
        if let Some(&(next, ..)) = line.fifo.front() {
            self.due.push(Reverse((next, index)));
        }
        Some((index as usize, frame))
    }
}

/// Draws from 0 up to `count`, which is not among them. The bias is below `count` in 2^64.
fn below(random: &mut Xoshiro256StarStar, count: u64) -> u64 {
    ((u128::from(random.next_u64()) * u128::from(count)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn after(delay: u64) -> Path {
        Path {
            delay,
            limit: 5000,
            ..Path::default()
        }
    }

    /// When each of so many frames arrives that are sent at an interval.
    fn arrivals(seed: u64, path: Path, frames: u64, interval: u64) -> Vec<u64> {
        let mut lines = DelayLines::default();
        let line = lines.add(seed, &[]);
        let path = Path {
            limit: u64::MAX,
            ..path
        };
        lines.configure(line, path);
        for number in 0..frames {
            if !lines.loses(line) {
                lines.push(number * interval, line, 100, number);
            }
        }
        let mut found = Vec::new();
        while let Some(at) = lines.next_deadline() {
            lines.pop(at);
            found.push(at);
        }
        found
    }

    #[test]
    fn frames_arrive_after_the_delay_and_in_order() {
        let mut lines = DelayLines::default();
        let (a, b) = (lines.add(1, &[]), lines.add(1, &[]));
        assert!(lines.is_wire(a));
        lines.configure(a, after(100));
        lines.configure(b, after(10));
        lines.push(0, a, 1000, 'a');
        lines.push(50, b, 1000, 'b');
        assert_eq!(lines.next_deadline(), Some(60));
        assert_eq!(lines.pop(59), None);
        assert_eq!(lines.pop(60), Some((b, 'b')));
        assert_eq!(lines.pop(99), None);
        // A shorter delay does not overtake.
        lines.configure(a, after(0));
        assert!(!lines.is_wire(a));
        lines.push(70, a, 1000, 'c');
        assert_eq!(lines.pop(99), None);
        assert_eq!(lines.pop(100), Some((a, 'a')));
        assert_eq!(lines.pop(100), Some((a, 'c')));
        assert_eq!(lines.next_deadline(), None);
        assert!(lines.is_wire(a));
    }

    #[test]
    fn a_line_holds_its_limit() {
        let mut lines = DelayLines::default();
        let line = lines.add(1, &[]);
        lines.configure(
            line,
            Path {
                limit: 1500,
                ..after(1)
            },
        );
        assert!(lines.has_room(line, 1500) && !lines.has_room(line, 1501));
        lines.push(0, line, 1000, ());
        assert!(lines.has_room(line, 500) && !lines.has_room(line, 501));
        lines.pop(1);
        assert!(lines.has_room(line, 1500));
    }

    #[test]
    fn jitter_is_uniform_and_keeps_the_order() {
        let path = Path {
            jitter: 1_000,
            ..after(500)
        };
        // Far apart, so that no frame waits for another.
        let delays: Vec<u64> = (0..)
            .zip(arrivals(7, path, 10_000, 10_000))
            .map(|(number, at)| at - number * 10_000)
            .collect();
        assert!(delays.iter().all(|delay| (500..=1_500).contains(delay)));
        assert_eq!(delays.iter().min(), Some(&500));
        assert_eq!(delays.iter().max(), Some(&1_500));
        let mean = delays.iter().sum::<u64>() as f64 / 10_000.0;
        // Of a uniform draw's mean the deviation is 289 / sqrt(10,000).
        assert!((mean - 1_000.0).abs() < 5.0 * 2.89, "{mean}");

        let near = arrivals(7, path, 10_000, 10);
        assert!(near.is_sorted());
        assert_ne!(near, arrivals(8, path, 10_000, 10));
        assert_eq!(near, arrivals(7, path, 10_000, 10));
    }

    #[test]
    fn a_link_loses_all_or_nothing_where_that_is_its_share() {
        let path = |loss_ppm| Path {
            loss_ppm,
            ..after(0)
        };
        assert!(arrivals(7, path(MILLION), 1_000, 10).is_empty());
        assert_eq!(arrivals(7, path(0), 1_000, 10).len(), 1_000);
    }

    proptest! {
        #[test]
        fn a_link_loses_its_share(seed: u64, loss_ppm in 0..=MILLION) {
            const FRAMES: u64 = 20_000;
            let path = Path { loss_ppm, ..after(0) };
            let lost = FRAMES - arrivals(seed, path, FRAMES, 10).len() as u64;
            let share = f64::from(loss_ppm) / f64::from(MILLION);
            let (mean, frames) = (FRAMES as f64 * share, FRAMES as f64);
            // Bernstein's bound: a binomial count is farther from its mean than `far` with a
            // probability below 2 * exp(-25), so that no number of cases makes this fail.
            let (variance, exponent) = (frames * share * (1.0 - share), 25.0);
            let far = exponent / 3.0
                + (exponent * exponent / 9.0 + 2.0 * exponent * variance).sqrt();
            prop_assert!((lost as f64 - mean).abs() <= far, "{} of {}", lost, FRAMES);
        }

        #[test]
        fn links_draw_by_themselves(seed: u64, names in prop::collection::vec(any::<u64>(), 3)) {
            let lost = |other: bool, names: &[u64]| {
                let mut lines = DelayLines::<()>::default();
                let line = lines.add(seed, names);
                let beside = lines.add(seed, &[99]);
                for one in [line, beside] {
                    lines.configure(one, Path { loss_ppm: MILLION / 2, ..after(0) });
                }
                (0..256)
                    .map(|_| {
                        if other {
                            lines.loses(beside);
                        }
                        lines.loses(line)
                    })
                    .collect::<Vec<bool>>()
            };
            let alone = lost(false, &names);
            prop_assert_eq!(&alone, &lost(true, &names), "another link's traffic");
            let another = [names[0], names[1], names[2] ^ 1];
            prop_assert_ne!(&alone, &lost(false, &another), "another name");
        }
    }

    #[test]
    fn a_lossy_link_is_no_wire() {
        let mut lines = DelayLines::<()>::default();
        let line = lines.add(1, &[]);
        for (jitter, loss_ppm) in [(1, 0), (0, 1)] {
            lines.configure(
                line,
                Path {
                    jitter,
                    loss_ppm,
                    ..after(0)
                },
            );
            assert!(!lines.is_wire(line));
        }
        lines.configure(line, after(0));
        assert!(lines.is_wire(line) && !lines.loses(line));
    }
}
