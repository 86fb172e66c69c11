// SPDX-License-Identifier: Apache-2.0
//! Uses the minislots of a station: contention opportunities, polls and grants.

use mac_wire::{Minislot, Request};

use crate::asked::{Asked, How};
use crate::burst::{Burst, Filled, Grant, Leaving};
use crate::opportunities::Opportunities;
use crate::queue::Queue;
use crate::station::{State, Station};

impl<I> Station<I> {
    /// The contention opportunity for which it deferred begins at `first`: what it asks for in it.
    pub fn contend<Q>(
        &mut self,
        now: u64,
        first: Minislot,
        queue: &mut Q,
        opportunities: &Opportunities,
    ) -> Option<Request>
    where
        Q: Queue<Item = I>,
    {
        self.deferring()?;
        self.state = State::Idle;
        let how = How::Contention;
        let request = self.ask(now, Asked { sent: first, how }, queue);
        if request.is_some() {
            self.state = State::Sent;
            self.window.tried();
            self.statistics.requests_contention += 1;
        } else {
            self.wake(now, queue, opportunities);
        }
        request
    }

    /// A poll begins at `first`: what it asks for in it.
    pub fn poll<Q>(
        &mut self,
        now: u64,
        first: Minislot,
        queue: &mut Q,
        opportunities: &Opportunities,
    ) -> Option<Request>
    where
        Q: Queue<Item = I>,
    {
        self.polls = self.polls.saturating_sub(1);
        let how = How::Poll;
        let request = self.ask(now, Asked { sent: first, how }, queue);
        match request {
            Some(_) => self.statistics.requests_polled += 1,
            None => self.statistics.polls_unused += 1,
        }
        self.wake(now, queue, opportunities);
        request
    }

    /// A grant is prepared: what it sends in it. Frames whose last byte is in it are added to
    /// `leaving`, in order.
    pub fn fill<Q>(
        &mut self,
        now: u64,
        grant: Grant,
        queue: &mut Q,
        opportunities: &Opportunities,
        leaving: &mut Vec<Leaving<I>>,
    ) -> Filled
    where
        Q: Queue<Item = I>,
    {
        self.booked.filled();
        self.scheduled = if self.booked.is_empty() {
            0
        } else {
            let capacity = self.capacity(grant.minislots);
            self.scheduled.saturating_sub(capacity)
        };
        let (mut used, mut headers) = Burst {
            rules: &self.rules,
            now,
            grant,
            queue: &mut *queue,
            staged: &mut self.staged,
            leaving,
            statistics: &mut self.statistics,
            headers: 0,
        }
        .fill();
        self.too_small = used == 0 && self.waits(now, queue);
        let request = self.piggyback(now, grant, used, queue);
        if used == 0 && request.is_some() {
            used = self.rules.segment_header;
            headers = used;
        }
        let minislots = self.rules.phy.minislots(used).min(grant.minislots);
        self.statistics.minislots_granted += u64::from(grant.minislots);
        self.statistics.minislots_used += u64::from(minislots);
        self.statistics.grants_unused += u64::from(used == 0);
        self.statistics.grants_too_small += u64::from(self.too_small);
        self.statistics.bytes_used = self.statistics.bytes_used.saturating_add(used);
        let queue_indicator = self.rules.unsolicited.is_some_and(|grants| {
            queue.eligible(now).frames >= u64::from(grants.per_interval.max(1))
        });
        self.wake(now, queue, opportunities);
        Filled {
            used,
            headers,
            minislots,
            request,
            queue_indicator,
        }
    }

    /// What it asks for in the head of a burst of `used` bytes. A segment header can ask without
    /// any; other requests need a frame's header.
    fn piggyback<Q>(&mut self, now: u64, grant: Grant, used: u64, queue: &mut Q) -> Option<Request>
    where
        Q: Queue<Item = I>,
    {
        let has_head = used > 0
            || self.rules.segment_header > 0
                && self.rules.phy.bytes(grant.minislots) >= self.rules.segment_header;
        if !self.rules.piggyback || !has_head {
            return None;
        }
        let asked = Asked {
            sent: grant.first,
            how: How::Burst,
        };
        let request = self.ask(now, asked, queue)?;
        self.statistics.requests_piggybacked += 1;
        Some(request)
    }

    fn waits<Q>(&self, now: u64, queue: &Q) -> bool
    where
        Q: Queue<Item = I>,
    {
        self.staged.is_some() || queue.eligible(now).frames > 0
    }
}
