// SPDX-License-Identifier: Apache-2.0
//! The two ends of a channel: the modems' queues, and whatever is behind the CMTS.

use mac_modem::{Asked, Filled, Frame, Grant, Leaving, Queue};
use mac_wire::Sid;

/// The ends of a channel, which belong to somebody else.
pub trait Ends {
    /// A frame, however queues have it.
    type Item;
    /// A service flow's queue, for as long as a station works with it.
    type Queue<'a>: Queue<Item = Self::Item>
    where
        Self: 'a;

    /// The queue of a service flow. A flow that is on the channel has one all the time; a station
    /// without one does nothing.
    fn queue(&mut self, sid: Sid) -> Option<Self::Queue<'_>>;

    /// A grant is filled now, which answers that request, if anybody asked: the frames that the
    /// flow's queue gives until the next call enter its burst.
    fn fill(&mut self, now: u64, sid: Sid, grant: &Grant, asked: Option<Asked>) {
        let _ = (now, sid, grant, asked);
    }

    /// It was filled: `leaving` are the frames whose last byte is in its burst.
    fn filled(
        &mut self,
        sid: Sid,
        grant: &Grant,
        filled: &Filled,
        leaving: &[Leaving<Self::Item>],
    ) {
        let _ = (sid, grant, filled, leaving);
    }

    /// The last byte of a frame has arrived at the CMTS, in the burst in `grant`.
    fn deliver(&mut self, now: u64, sid: Sid, frame: Frame<Self::Item>, grant: &Grant);
}
