// SPDX-License-Identifier: Apache-2.0
//! Delay lines: the propagation delay of a port's link, in each direction.

use crate::limits::LEAST_FRAME;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Frames on their way along one link, in order.
#[derive(Debug)]
struct Line<F> {
    delay: u64,
    limit: u64,
    bytes: u64,
    fifo: VecDeque<(u64, u32, F)>,
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
    /// Adds a line without delay and returns its index.
    pub fn add(&mut self) -> usize {
        self.lines.push(Line {
            delay: 0,
            limit: crate::limits::DEFAULT_DELAY_LIMIT,
            bytes: 0,
            fifo: VecDeque::new(),
        });
        self.lines.len() - 1
    }

    /// Sets a line's delay in nanoseconds and its limit in bytes, for frames from now on.
    pub fn configure(&mut self, line: usize, delay: u64, limit: u64) {
        let line = &mut self.lines[line];
        line.delay = delay;
        line.limit = limit;
    }

    /// True when a frame would pass at once: no delay and nothing before it.
    #[must_use]
    pub fn is_wire(&self, line: usize) -> bool {
        let line = &self.lines[line];
        line.delay == 0 && line.fifo.is_empty()
    }

    /// True when a frame of `len` bytes still fits.
    #[must_use]
    pub fn has_room(&self, line: usize, len: usize) -> bool {
        let line = &self.lines[line];
        let frames = line.fifo.len() as u64;
        line.bytes + len as u64 <= line.limit && frames * LEAST_FRAME <= line.limit
    }

    /// Puts a frame of `len` bytes, for which there is room, on the line.
    pub fn push(&mut self, now: u64, index: usize, len: usize, frame: F) {
        let line = &mut self.lines[index];
        let at = match line.fifo.back() {
            Some(&(before, ..)) => before.max(now + line.delay),
            None => now + line.delay,
        };
        if line.fifo.is_empty() {
            self.due.push(Reverse((at, index as u32)));
        }
        line.bytes += len as u64;
        line.fifo.push_back((at, len as u32, frame));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_arrive_after_the_delay_and_in_order() {
        let mut lines = DelayLines::default();
        let (a, b) = (lines.add(), lines.add());
        assert!(lines.is_wire(a));
        lines.configure(a, 100, 5000);
        lines.configure(b, 10, 5000);
        lines.push(0, a, 1000, 'a');
        lines.push(50, b, 1000, 'b');
        assert_eq!(lines.next_deadline(), Some(60));
        assert_eq!(lines.pop(59), None);
        assert_eq!(lines.pop(60), Some((b, 'b')));
        assert_eq!(lines.pop(99), None);
        // A shorter delay does not overtake.
        lines.configure(a, 0, 5000);
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
        let line = lines.add();
        lines.configure(line, 1, 1500);
        assert!(lines.has_room(line, 1500) && !lines.has_room(line, 1501));
        lines.push(0, line, 1000, ());
        assert!(lines.has_room(line, 500) && !lines.has_room(line, 501));
        lines.pop(1);
        assert!(lines.has_room(line, 1500));
    }
}
