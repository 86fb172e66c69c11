// SPDX-License-Identifier: Apache-2.0
//! Keeps grants and polls until the bursts that were sent in them are heard.

use std::collections::VecDeque;

use mac_wire::{Clock, Element, Minislot, Sid, Usage};

/// One grant or poll.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Given {
    pub(crate) element: Element,
    /// Whether something was heard in it, or that it stayed empty.
    heard: bool,
}

/// All of them whose burst or request may still come, in order of their minislots.
#[derive(Debug, Default, Clone)]
pub(crate) struct Record {
    given: VecDeque<Given>,
}

impl Record {
    /// Remembers a MAP's grants and polls; MAPs come in order.
    pub(crate) fn extend(&mut self, elements: &[Element]) {
        let own = elements.iter().filter(|element| element.sid != Sid::ALL);
        self.given.extend(own.map(|&element| Given {
            element,
            heard: false,
        }));
    }

    fn find(&self, sid: Sid, first: Minislot) -> Option<usize> {
        let index = self
            .given
            .partition_point(|given| given.element.first < first);
        let element = self.given.get(index)?.element;
        (element.first == first && element.sid == sid).then_some(index)
    }

    /// Whether the minislot begins a poll of that SID.
    pub(crate) fn is_poll(&self, sid: Sid, first: Minislot) -> bool {
        self.find(sid, first)
            .is_some_and(|index| self.given[index].element.usage == Usage::Request)
    }

    /// The grant of that SID which begins there, once.
    pub(crate) fn take_grant(&mut self, sid: Sid, first: Minislot) -> Option<Element> {
        let index = self.find(sid, first)?;
        let given = &mut self.given[index];
        if given.heard || !given.element.usage.is_data() {
            return None;
        }
        given.heard = true;
        Some(given.element)
    }

    /// Forgets what ended before a time, nanoseconds; says of how many grants nothing was heard.
    pub(crate) fn forget_before(&mut self, time: u64, clock: &Clock) -> u64 {
        let mut unheard = 0;
        while let Some(given) = self.given.front() {
            let last = given.element.end().0.saturating_sub(1);
            if clock.end(Minislot(last)) >= time {
                break;
            }
            unheard += u64::from(!given.heard && given.element.usage.is_data());
            self.given.pop_front();
        }
        unheard
    }
}
