// SPDX-License-Identifier: Apache-2.0
//! The frames of a queue: one after another, or in sub-queues that take turns.

use crate::frame::Frame;
use crate::sub_queues::{RoundRobin, SubQueues};
use std::collections::VecDeque;

/// The frames of a queue. The head is the same until it is popped or removed, or
/// [`Self::reconfigure`] is called, whatever is pushed: timers are set for its length.
#[derive(Debug)]
pub enum Frames<T> {
    /// In the order of their arrival.
    One(VecDeque<Frame<T>>),
    /// Behind a pointer: most queues have none.
    Several(Box<SubQueues<T>>),
}

impl<T> Frames<T> {
    /// None yet; `sub_queues` of 0 and 1 are the same.
    pub fn new(sub_queues: u32, round_robin: RoundRobin) -> Self {
        match sub_queues {
            0 | 1 => Self::One(VecDeque::new()),
            n => Self::Several(Box::new(SubQueues::new(n, round_robin))),
        }
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        match self {
            Self::One(fifo) => fifo.is_empty(),
            Self::Several(queues) => queues.is_empty(),
        }
    }

    /// Behind all frames of its sub-queue.
    #[inline]
    pub fn push(&mut self, sub_queue: u32, len: u32, item: T) {
        let needs = len;
        // Made where it goes to: frames are long.
        match self {
            Self::One(fifo) => fifo.push_back(Frame { len, needs, item }),
            Self::Several(queues) => queues.push(sub_queue, Frame { len, needs, item }),
        }
    }

    /// The frame that is next.
    #[inline]
    pub fn head(&self) -> Option<&Frame<T>> {
        match self {
            Self::One(fifo) => fifo.front(),
            Self::Several(queues) => queues.head(),
        }
    }

    /// The frame that is next, to change it.
    #[inline]
    pub fn head_mut(&mut self) -> Option<&mut Frame<T>> {
        match self {
            Self::One(fifo) => fifo.front_mut(),
            Self::Several(queues) => queues.head_mut(),
        }
    }

    /// Takes the head out; its sub-queue is charged `sent` bytes.
    #[inline]
    pub fn pop(&mut self, sent: u32) -> Option<T> {
        match self {
            Self::One(fifo) => {
                let frame = fifo.pop_front()?;
                if fifo.is_empty() {
                    // The next one is written where this one was, which the cache has.
                    fifo.clear();
                }
                Some(frame.item)
            }
            Self::Several(queues) => Some(queues.pop(sent)?.item),
        }
    }

    /// The frame at a position from the head on; `None` where sub-queues take turns.
    pub fn get_mut(&mut self, position: usize) -> Option<&mut Frame<T>> {
        match self {
            Self::One(fifo) => fifo.get_mut(position),
            Self::Several(_) => None,
        }
    }

    /// Takes the frame at a position out; nothing where sub-queues take turns.
    pub fn remove(&mut self, position: usize) -> Option<Frame<T>> {
        match self {
            Self::One(fifo) => fifo.remove(position),
            Self::Several(_) => None,
        }
    }

    /// Another number of sub-queues, or other turns of them. The frames of those that go follow those of
    /// sub-queue n % `sub_queues`, in order; the others stay where they are.
    pub fn reconfigure(&mut self, sub_queues: u32, round_robin: RoundRobin) {
        match self {
            Self::One(fifo) if sub_queues > 1 => {
                let mut several = SubQueues::new(sub_queues, round_robin);
                for frame in fifo.drain(..) {
                    several.push(0, frame);
                }
                *self = Self::Several(Box::new(several));
            }
            Self::One(_) => {}
            Self::Several(queues) => {
                queues.take_turns(round_robin);
                queues.resize(sub_queues.max(1));
                if sub_queues <= 1 {
                    *self = Self::One(std::iter::from_fn(|| queues.pop(0)).collect());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sub_queues_cost_the_others_no_memory() {
        let plain = size_of::<VecDeque<Frame<u64>>>();
        assert_eq!(size_of::<Frames<u64>>(), plain);
    }

    #[test]
    fn from_one_to_several_and_back_in_order() {
        let mut frames = Frames::new(1, RoundRobin::Deficit);
        (0..4).for_each(|n| frames.push(7, 100, n));
        frames.reconfigure(3, RoundRobin::Deficit);
        frames.push(2, 100, 10);
        frames.push(1, 100, 20);
        assert_eq!(frames.head().map(|frame| frame.item), Some(0));
        frames.reconfigure(0, RoundRobin::Deficit);
        assert!(matches!(frames, Frames::One(_)));
        let left = std::iter::from_fn(|| frames.pop(100));
        assert_eq!(left.collect::<Vec<_>>(), [0, 1, 2, 3, 20, 10]);
    }

    #[test]
    fn what_egress_has_made_of_a_frame_goes_with_it() {
        let mut frames = Frames::new(2, RoundRobin::Deficit);
        frames.push(1, 100, 'b');
        frames.head_mut().unwrap().needs = 150;
        frames.push(0, 100, 'a');
        assert_eq!(frames.head().map(|frame| frame.needs), Some(150));
        // Behind the frames of sub-queue 0.
        frames.reconfigure(1, RoundRobin::Deficit);
        assert_eq!(frames.head().map(|frame| frame.needs), Some(100));
        assert_eq!(frames.pop(0), Some('a'));
        assert_eq!(frames.head().map(|frame| frame.needs), Some(150));
        assert_eq!(frames.pop(0), Some('b'));
    }
}
