// SPDX-License-Identifier: Apache-2.0
//! Taps of a channel.

use mac_cmts::Heard;
use mac_modem::{Filled, Grant};
use mac_wire::{Map, Minislot, Request, Sid};

/// How a request was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum How {
    /// In a contention opportunity.
    Contention,
    /// In a poll.
    Poll,
}

/// Sees what happens on a channel, in order of time (nanoseconds); `()` sees nothing, and costs
/// nothing.
pub trait Observer {
    /// The scheduler made a MAP; `body` is its message's.
    fn map(&mut self, now: u64, map: &Map, body: &[u8]) {
        let _ = (now, map, body);
    }

    /// A station sends a request, in the opportunity that begins at `first`.
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

    /// A station has filled a grant, or leaves it empty.
    fn burst(&mut self, now: u64, sid: Sid, grant: &Grant, filled: &Filled) {
        let _ = (now, sid, grant, filled);
    }

    /// The scheduler is told what it heard: what its MAPs come from.
    fn heard(&mut self, now: u64, heard: &Heard) {
        let _ = (now, heard);
    }
}

impl Observer for () {}
