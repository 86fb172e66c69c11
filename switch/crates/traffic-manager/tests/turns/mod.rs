// SPDX-License-Identifier: Apache-2.0
//! Sub-queues of a flow as plainly as can be: one list of all frames, each with
//! the number of its sub-queue, and whose turn it is.

use std::collections::BTreeMap;
use traffic_manager::PEAK_BURST;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    pub sub_queue: u32,
    pub item: u64,
    /// Bytes of tokens, and of its sub-queue's turn.
    pub needs: u64,
}

/// Deficit round robin. What leaves next is decided when what is before it
/// leaves, or comes.
#[derive(Debug)]
pub struct Turns {
    number: u32,
    /// In order of arrival within a sub-queue.
    frames: Vec<Frame>,
    /// Sub-queues that have frames, the one whose turn it is first.
    order: Vec<u32>,
    deficits: BTreeMap<u32, i128>,
    /// The first of `order` has had its quantum.
    open: bool,
}

impl Turns {
    /// 0 and 1 are one queue.
    pub fn new(sub_queues: u32) -> Self {
        Self {
            number: sub_queues.max(1),
            frames: Vec::new(),
            order: Vec::new(),
            deficits: BTreeMap::new(),
            open: false,
        }
    }

    pub fn len(&self) -> usize {
        self.frames.len()
    }

    fn place(&self) -> Option<usize> {
        let first = *self.order.first()?;
        self.frames.iter().position(|f| f.sub_queue == first)
    }

    pub fn head(&self) -> Option<Frame> {
        Some(self.frames[self.place()?])
    }

    /// Egress has made the head need so many bytes.
    #[allow(dead_code)] // Not every test has such an egress.
    pub fn lengthen(&mut self, needs: u64) {
        let place = self.place().unwrap();
        self.frames[place].needs = needs;
    }

    fn choose(&mut self) {
        while let Some(head) = self.head() {
            let deficit = self.deficits.entry(head.sub_queue).or_default();
            if !self.open {
                *deficit += i128::from(PEAK_BURST);
                self.open = true;
            }
            if *deficit >= i128::from(head.needs) {
                break;
            }
            let first = self.order.remove(0);
            self.order.push(first);
            self.open = false;
        }
    }

    pub fn push(&mut self, sub_queue: u32, item: u64, needs: u64) {
        let sub_queue = sub_queue % self.number;
        self.frames.push(Frame {
            sub_queue,
            item,
            needs,
        });
        if !self.order.contains(&sub_queue) {
            self.order.push(sub_queue);
        }
        if self.frames.len() == 1 {
            self.choose();
        }
    }

    /// The head leaves; `sent` bytes of it are charged.
    pub fn pop(&mut self, sent: u64) -> Option<Frame> {
        let frame = self.frames.remove(self.place()?);
        let rest = self.frames.iter();
        if rest.filter(|f| f.sub_queue == frame.sub_queue).count() == 0 {
            self.order.remove(0);
            self.deficits.remove(&frame.sub_queue);
            self.open = false;
        } else {
            *self.deficits.get_mut(&frame.sub_queue).unwrap() -= i128::from(sent);
        }
        self.choose();
        Some(frame)
    }

    /// Everything, in no order.
    pub fn clear(&mut self) -> Vec<u64> {
        let items = self.frames.drain(..).map(|f| f.item).collect();
        *self = Self::new(self.number);
        items
    }

    /// Another number of sub-queues.
    pub fn set_number(&mut self, sub_queues: u32) {
        let number = sub_queues.max(1);
        if number == self.number {
            return;
        }
        let chosen = self.order.first().copied();
        let had = std::mem::replace(&mut self.number, number);
        // Those that frames have come to, in that order.
        let mut came = Vec::new();
        for gone in number..had {
            let goes = |f: &&Frame| f.sub_queue == gone;
            let (moved, rest): (Vec<Frame>, Vec<Frame>) = self.frames.iter().partition(goes);
            self.frames = rest;
            let sub_queue = gone % number;
            came.extend(moved.first().map(|_| sub_queue));
            let moved = moved.into_iter().map(|f| Frame { sub_queue, ..f });
            self.frames.extend(moved);
            self.order.retain(|&sub_queue| sub_queue != gone);
            self.deficits.remove(&gone);
        }
        for to in came {
            if !self.order.contains(&to) {
                self.order.push(to);
            }
        }
        if number == 1 || had == 1 {
            // One queue has no turns.
            self.deficits.clear();
        }
        if chosen != self.order.first().copied() || self.deficits.is_empty() {
            self.open = false;
            self.choose();
        }
    }
}
