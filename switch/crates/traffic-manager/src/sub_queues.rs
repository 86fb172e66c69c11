// SPDX-License-Identifier: Apache-2.0
//! Sub-queues of a queue. They take turns by deficit round robin, so that each sends as many bytes
//! (Shreedhar and Varghese, 1996), or frame by frame (Nagle, RFC 970).
//!
//! All frames are in one list of places, linked from frame to frame.
//! So memory is bounded by the most that the whole queue has held, in
//! whichever sub-queues that was.

use crate::frame::Frame;
use crate::round_robin::{QUANTUM, Turn};
use std::collections::VecDeque;

/// How sub-queues that have frames take turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RoundRobin {
    /// By deficit: in equal bytes.
    #[default]
    Deficit,
    /// A frame each, however long.
    Packets,
}

impl RoundRobin {
    /// What a frame that needs, or was charged, so many bytes takes of a turn: where frames are
    /// counted all of it, unless nothing was sent.
    #[inline]
    fn cost(self, bytes: u32) -> u32 {
        match self {
            Self::Packets if bytes > 0 => QUANTUM as u32,
            _ => bytes,
        }
    }
}

const NONE: u32 = u32::MAX;

#[derive(Debug)]
struct Place<T> {
    /// The next place of the sub-queue, or the next free one.
    next: u32,
    /// None where the place is free.
    frame: Option<Frame<T>>,
}

/// One of the sub-queues; `last` has no meaning where `first` is none.
#[derive(Debug, Clone)]
struct SubQueue {
    first: u32,
    last: u32,
    turn: Turn,
}

const EMPTY: SubQueue = SubQueue {
    first: NONE,
    last: NONE,
    turn: Turn {
        deficit: 0,
        begun: false,
    },
};

/// The sub-queues of a queue and the frames in them.
#[derive(Debug)]
pub struct SubQueues<T> {
    places: Vec<Place<T>>,
    /// First of the free places.
    free: u32,
    queues: Vec<SubQueue>,
    round_robin: RoundRobin,
    /// Those with frames; the first has begun its turn, which covers its first
    /// frame: that is the head.
    round: VecDeque<u32>,
}

impl<T> SubQueues<T> {
    /// `sub_queues`, at least 1, without frames.
    pub fn new(sub_queues: u32, round_robin: RoundRobin) -> Self {
        Self {
            places: Vec::new(),
            free: NONE,
            queues: vec![EMPTY; sub_queues as usize],
            round_robin,
            round: VecDeque::with_capacity(sub_queues as usize),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.round.is_empty()
    }

    fn head_place(&self) -> Option<usize> {
        let sub_queue = *self.round.front()?;
        Some(self.queues[sub_queue as usize].first as usize)
    }

    pub fn head(&self) -> Option<&Frame<T>> {
        self.places[self.head_place()?].frame.as_ref()
    }

    pub fn head_mut(&mut self) -> Option<&mut Frame<T>> {
        let place = self.head_place()?;
        self.places[place].frame.as_mut()
    }

    /// A place for a frame: a free one, or one more.
    fn place(&mut self, frame: Frame<T>) -> u32 {
        let filled = Place {
            next: NONE,
            frame: Some(frame),
        };
        let at = self.free;
        if let Some(place) = self.places.get_mut(at as usize) {
            self.free = place.next;
            *place = filled;
            return at;
        }
        self.places.push(filled);
        self.places.len() as u32 - 1
    }

    /// Appends linked places to a sub-queue.
    fn append(&mut self, sub_queue: u32, first: u32, last: u32) {
        let queue = &mut self.queues[sub_queue as usize];
        if queue.first == NONE {
            queue.first = first;
            self.round.push_back(sub_queue);
        } else {
            self.places[queue.last as usize].next = first;
        }
        queue.last = last;
    }

    /// Behind all frames of its sub-queue; modulo their number, where there is
    /// none of that number.
    #[inline(never)]
    pub fn push(&mut self, mut sub_queue: u32, frame: Frame<T>) {
        let number = self.queues.len() as u32;
        if sub_queue >= number {
            sub_queue %= number;
        }
        let place = self.place(frame);
        let head = self.round.is_empty();
        self.append(sub_queue, place, place);
        if head {
            self.choose();
        }
    }

    /// Takes the head out; its sub-queue is charged `sent` bytes, 0 for one that
    /// is not sent.
    #[inline(never)]
    pub fn pop(&mut self, sent: u32) -> Option<Frame<T>> {
        let sub_queue = *self.round.front()?;
        let queue = &mut self.queues[sub_queue as usize];
        let at = queue.first;
        let place = &mut self.places[at as usize];
        let frame = place.frame.take();
        queue.first = place.next;
        place.next = self.free;
        self.free = at;
        if queue.first == NONE {
            *queue = EMPTY;
            self.round.pop_front();
        } else {
            queue.turn.deficit -= i64::from(self.round_robin.cost(sent));
        }
        self.choose();
        frame
    }

    /// Turns go on until one covers the first frame of its sub-queue.
    fn choose(&mut self) {
        while let Some(head) = self.head() {
            let needs = self.round_robin.cost(head.needs);
            let sub_queue = self.round[0] as usize;
            if self.queues[sub_queue].turn.covers(needs) {
                return;
            }
            self.round.rotate_left(1);
        }
    }

    /// They take turns in another way. What turns had left is over, and the head's begins.
    pub fn take_turns(&mut self, round_robin: RoundRobin) {
        if round_robin == self.round_robin {
            return;
        }
        self.round_robin = round_robin;
        for queue in &mut self.queues {
            queue.turn = EMPTY.turn;
        }
        self.choose();
    }

    /// Another number of sub-queues, at least 1: the frames of those that go
    /// follow those of sub-queue n % `sub_queues`, in order. The head stays,
    /// where its sub-queue does.
    pub fn resize(&mut self, sub_queues: u32) {
        let number = sub_queues as usize;
        let chosen = self.round.front().copied();
        self.round.retain(|&sub_queue| sub_queue < sub_queues);
        let from = number.min(self.queues.len());
        let gone: Vec<SubQueue> = self.queues.drain(from..).collect();
        self.queues.resize(number, EMPTY);
        for (n, queue) in gone.into_iter().enumerate() {
            if queue.first != NONE {
                self.append((n % number) as u32, queue.first, queue.last);
            }
        }
        self.round.reserve(number - self.round.len());
        if self.round.front().copied() != chosen {
            self.choose();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(queues: &mut SubQueues<u32>, sub_queue: u32, len: u32, item: u32) {
        let needs = len;
        queues.push(sub_queue, Frame { len, needs, item });
    }

    /// What leaves, each frame charged its length.
    fn send(queues: &mut SubQueues<u32>) -> Option<u32> {
        let needs = queues.head()?.needs;
        queues.pop(needs).map(|frame| frame.item)
    }

    fn send_all(queues: &mut SubQueues<u32>) -> Vec<u32> {
        std::iter::from_fn(|| send(queues)).collect()
    }

    #[test]
    fn equal_bytes_whatever_the_lengths() {
        let mut queues = SubQueues::new(2, RoundRobin::Deficit);
        (0..4).for_each(|n| push(&mut queues, 0, 1522, n));
        (0..8).for_each(|n| push(&mut queues, 1, 761, 10 + n));
        let order = [0, 10, 11, 1, 12, 13, 2, 14, 15, 3, 16, 17];
        assert_eq!(send_all(&mut queues), order);
        assert!(queues.is_empty() && queues.head().is_none());
    }

    #[test]
    fn a_frame_each_whatever_the_lengths() {
        let mut queues = SubQueues::new(3, RoundRobin::Packets);
        (0..3).for_each(|n| push(&mut queues, 0, 9000, n));
        (0..3).for_each(|n| push(&mut queues, 1, 60, 10 + n));
        push(&mut queues, 2, 1522, 20);
        assert_eq!(send(&mut queues), Some(0));
        // One that comes back is last, and one that is dropped has not had its turn.
        assert_eq!(queues.pop(0).map(|frame| frame.item), Some(10));
        assert_eq!([(); 2].map(|()| send(&mut queues)), [Some(11), Some(20)]);
        push(&mut queues, 2, 60, 21);
        assert_eq!(send_all(&mut queues), [1, 12, 21, 2]);
    }

    #[test]
    fn what_turns_had_left_is_over_when_they_are_taken_in_another_way() {
        let mut queues = SubQueues::new(2, RoundRobin::Deficit);
        (0..9).for_each(|n| push(&mut queues, 0, 500, n));
        (0..9).for_each(|n| push(&mut queues, 1, 500, 10 + n));
        assert_eq!(send(&mut queues), Some(0));
        queues.take_turns(RoundRobin::Packets);
        assert_eq!(
            [(); 4].map(|()| send(&mut queues)),
            [1, 10, 2, 11].map(Some)
        );
        queues.take_turns(RoundRobin::Deficit);
        let sent = [(); 6].map(|()| send(&mut queues));
        assert_eq!(sent, [3, 4, 5, 12, 13, 14].map(Some));
    }

    #[test]
    fn the_head_stays_whatever_comes() {
        let mut queues = SubQueues::new(3, RoundRobin::Deficit);
        push(&mut queues, 1, 1000, 10);
        push(&mut queues, 1, 1000, 11);
        push(&mut queues, 2, 60, 20);
        push(&mut queues, 0, 60, 0);
        assert_eq!(queues.head().map(|frame| frame.item), Some(10));
        // 522 bytes are left to the turn: not enough for the next.
        assert_eq!(send_all(&mut queues), [10, 20, 0, 11]);
    }

    #[test]
    fn a_head_that_is_dropped_is_not_charged() {
        let mut queues = SubQueues::new(2, RoundRobin::Deficit);
        (0..4).for_each(|n| push(&mut queues, 0, 1500, n));
        push(&mut queues, 1, 1500, 10);
        let dropped = [(); 3].map(|()| queues.pop(0).map(|frame| frame.item));
        assert_eq!(dropped, [0, 1, 2].map(Some));
        assert_eq!(send_all(&mut queues), [3, 10]);
    }

    #[test]
    fn a_frame_that_egress_made_longer_is_paid_for_later() {
        let mut queues = SubQueues::new(2, RoundRobin::Deficit);
        (0..3).for_each(|n| push(&mut queues, 0, 1000, n));
        (0..4).for_each(|n| push(&mut queues, 1, 1000, 10 + n));
        // Three quanta: the next turn and the one after it do not cover 1000.
        assert_eq!(queues.pop(3 * 1522).map(|frame| frame.item), Some(0));
        assert_eq!(send_all(&mut queues), [10, 11, 12, 13, 1, 2]);
    }

    #[test]
    fn frames_longer_than_a_quantum_wait_for_turns() {
        let mut queues = SubQueues::new(2, RoundRobin::Deficit);
        push(&mut queues, 0, 9000, 0);
        push(&mut queues, 0, 9000, 1);
        (0..12).for_each(|n| push(&mut queues, 1, 1522, 10 + n));
        // The rest of the six quanta for the first and six more are for the second.
        let order = [0, 10, 11, 12, 13, 14, 15, 1, 16, 17, 18, 19, 20, 21];
        assert_eq!(send_all(&mut queues), order);
    }

    #[test]
    fn a_sub_queue_that_is_not_there_is_another() {
        let mut queues = SubQueues::new(4, RoundRobin::Deficit);
        push(&mut queues, 2, 1500, 0);
        push(&mut queues, 1, 1500, 1);
        push(&mut queues, 65_534, 1500, 2);
        assert_eq!(send_all(&mut queues), [0, 1, 2]);
    }

    #[test]
    fn frames_of_sub_queues_that_go_come_last() {
        let mut queues = SubQueues::new(6, RoundRobin::Deficit);
        for sub_queue in [5, 1, 3, 0] {
            (0..2).for_each(|n| push(&mut queues, sub_queue, 1500, 10 * sub_queue + n));
        }
        // The head is of a sub-queue that goes.
        queues.resize(2);
        let order = [10, 0, 11, 1, 30, 31, 50, 51];
        assert_eq!(send_all(&mut queues), order);

        (0..2).for_each(|n| push(&mut queues, 1, 1500, n));
        // And here of one that stays.
        queues.resize(256);
        push(&mut queues, 255, 60, 9);
        assert_eq!(send_all(&mut queues), [0, 9, 1]);
    }

    #[test]
    fn memory_is_what_all_sub_queues_have_held_at_a_time() {
        let mut queues = SubQueues::new(256, RoundRobin::Deficit);
        for burst in 0..1000 {
            (0..300).for_each(|n| push(&mut queues, burst % 256, 60, n));
            assert_eq!(send_all(&mut queues).len(), 300);
        }
        assert_eq!(queues.places.len(), 300);
        assert_eq!(queues.round.capacity(), 256);
    }
}
