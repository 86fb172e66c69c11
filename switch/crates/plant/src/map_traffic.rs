// SPDX-License-Identifier: Apache-2.0
//! Takes the bytes of MAPs from the capacity of the downstream.

use std::collections::BTreeSet;

use mac_channel::Observer;
use mac_wire::Map;

use crate::members::Members;

/// Bytes, as DOCSIS counts a frame's, that a MAP takes downstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MapTraffic {
    /// Bytes of each message.
    pub message: u32,
    /// Bytes of each of its information elements.
    pub element: u32,
}

/// Counts MAPs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MapsMade {
    /// How many were made.
    pub maps: u64,
    /// How many information elements they have.
    pub elements: u64,
}

impl MapTraffic {
    /// What these MAPs take.
    #[must_use]
    pub fn bytes(&self, made: &MapsMade) -> u64 {
        let messages = made.maps.saturating_mul(self.message.into());
        messages.saturating_add(made.elements.saturating_mul(self.element.into()))
    }
}

impl Observer for MapsMade {
    fn map(&mut self, _now: u64, map: &Map, _body: &[u8]) {
        self.maps += 1;
        self.elements += map.information_elements() as u64;
    }
}

impl Members {
    /// The ports of CMTSs at which frames of these service flows arrive, and which their MAPs leave,
    /// each once.
    #[must_use]
    pub fn downstream(&self) -> Vec<(u32, u16)> {
        let ends: BTreeSet<_> = self.iter().map(|(_, member)| member.to).collect();
        ends.into_iter().collect()
    }
}
