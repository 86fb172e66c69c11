// SPDX-License-Identifier: Apache-2.0
//! Makes the requests of a station, and drops frames that it cannot request.

use mac_wire::{Amount, Asking, Packing, Request};

use crate::amount::{Wish, one_burst};
use crate::asked::Asked;
use crate::queue::Queue;
use crate::station::Station;

impl<I> Station<I> {
    /// Asks, when and how `asked` says, for what there is to ask for.
    pub(super) fn ask<Q>(&mut self, now: u64, asked: Asked, queue: &mut Q) -> Option<Request>
    where
        Q: Queue<Item = I>,
    {
        let wish = self.wish(now, queue)?;
        let request = Request {
            sid: self.rules.sid,
            amount: wish.amount,
        }
        .on_wire(self.rules.unit);
        let bytes = match request.amount {
            Amount::Minislots(minislots) => self.rules.capacity(minislots),
            Amount::Bytes(bytes) => bytes,
        };
        self.asked.add(asked, bytes);
        queue.asked(now, wish.frames);
        Some(request)
    }

    /// How much it may ask for now; `None` for nothing.
    pub(super) fn wish<Q>(&mut self, now: u64, queue: &mut Q) -> Option<Wish>
    where
        Q: Queue<Item = I>,
    {
        if !self.rules.asks || self.asked.is_full() {
            return None;
        }
        match self.rules.asking {
            Asking::OneBurst => {
                if !self.asked.is_empty() || self.has_grants() {
                    return None;
                }
                self.drop_too_long(now, queue);
                one_burst(
                    &self.rules,
                    self.staged.as_ref(),
                    queue.eligible(now),
                    queue,
                )
            }
            Asking::QueueDepth => {
                let covered = self.asked.bytes().saturating_add(self.scheduled);
                let eligible = queue.eligible(now);
                let waiting = eligible.mac_bytes(self.rules.header);
                let bytes = waiting
                    .saturating_add(self.staged())
                    .saturating_sub(covered);
                (bytes > 0).then_some(Wish {
                    amount: Amount::Bytes(bytes),
                    frames: eligible.frames,
                })
            }
        }
    }

    /// Drops what no request for one burst can ask for, where frames go whole.
    fn drop_too_long<Q>(&mut self, now: u64, queue: &mut Q)
    where
        Q: Queue<Item = I>,
    {
        if self.rules.fragmentation || self.rules.packing == Packing::Continuous {
            return;
        }
        let (phy, most) = (self.rules.phy, self.rules.most_minislots);
        let too_long = |bytes| phy.minislots(bytes) > most;
        if let Some(staged) = self.staged.take_if(|staged| too_long(staged.left)) {
            queue.abandon(now, staged.frame);
            self.statistics.too_long += 1;
        }
        for _ in 0..queue.eligible(now).frames {
            match queue.length(0) {
                Some(length) if too_long(self.rules.mac_bytes(length)) => queue.give_up(now),
                _ => break,
            }
            self.statistics.too_long += 1;
        }
    }

    /// All tries were lost: the frame that waits longest is dropped.
    pub(super) fn give_up<Q>(&mut self, now: u64, queue: &mut Q)
    where
        Q: Queue<Item = I>,
    {
        match self.staged.take() {
            Some(staged) => queue.abandon(now, staged.frame),
            None if queue.eligible(now).frames > 0 => queue.give_up(now),
            None => return,
        }
        self.statistics.given_up += 1;
    }
}
