// SPDX-License-Identifier: Apache-2.0
//! Taps of a channel.

use mac_cmts::Heard;
use mac_modem::{Asked, Filled, Grant, How};
use mac_wire::{Map, Minislot, Request, Sid};

/// Sees what happens on a channel, in order of time (nanoseconds); `()` sees nothing, and costs
/// nothing.
pub trait Observer {
    /// The scheduler made a MAP; `body` is its message's.
    fn map(&mut self, now: u64, map: &Map, body: &[u8]) {
        let _ = (now, map, body);
    }

    /// A station sends a request, in the opportunity or the poll that begins at `first`. Those in
    /// the head of a burst come with [`Observer::burst`].
    fn request(&mut self, now: u64, first: Minislot, request: &Request, how: How) {
        let _ = (now, first, request, how);
    }

    /// In the opportunity that begins at `first` several stations sent requests.
    fn collision(&mut self, now: u64, first: Minislot, requests: &[Request]) {
        let _ = (now, first, requests);
    }

    /// A station reads a MAP that grants it minislots.
    fn grant(&mut self, now: u64, sid: Sid, grant: &Grant) {
        let _ = (now, sid, grant);
    }

    /// A station has filled a grant, or leaves it empty; the grant answers `asked`, or nobody asked
    /// for it.
    fn burst(&mut self, now: u64, sid: Sid, grant: &Grant, filled: &Filled, asked: Option<Asked>) {
        let _ = (now, sid, grant, filled, asked);
    }

    /// The scheduler is told what it heard: what its MAPs come from.
    fn heard(&mut self, now: u64, heard: &Heard) {
        let _ = (now, heard);
    }
}

impl Observer for () {}
