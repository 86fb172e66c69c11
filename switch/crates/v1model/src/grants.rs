// SPDX-License-Identifier: Apache-2.0
//! What the traffic manager says of grants to a program that asks for it by the names of metadata
//! fields: of a packet that left by itself they are 0.

use crate::layout::Layout;
use crate::op::Slot;
use crate::paths::PathCode;

/// What MAPs gave a packet's queue until the packet left it (paper 000, appendix A), where a
/// request/grant MAC lets packets go. Counters are modulo 2^32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    /// `granted_bytes`: MAC bytes that MAPs granted.
    pub granted_bytes: u32,
    /// `acked_req_bytes`: MAC bytes that were requested and acknowledged, and not granted, after
    /// the last MAP.
    pub acked_req_bytes: u32,
    /// `requests_met`: MAPs after which there were none of those.
    pub requests_met: u32,
}

/// Slots of the metadata fields that say it; `granted` is 1 where the others hold.
///
/// The target alone writes them, and takes back what it wrote when egress has run. So they are 0
/// for all other packets, and cost these nothing.
#[derive(Debug)]
pub(crate) struct GrantSlots([Option<Slot>; 4]);

impl GrantSlots {
    pub fn of(layout: &Layout) -> Self {
        let names = [
            "granted",
            "granted_bytes",
            "acked_req_bytes",
            "requests_met",
        ];
        Self(names.map(|name| layout.metadata_by_suffix(name)))
    }

    /// Sets them for a packet, or with `None` to 0.
    #[cold]
    #[inline(never)]
    pub fn set(&self, paths: &PathCode, phv: &mut [u64], grants: Option<&Grants>) {
        let values = grants.map_or([0; 4], |grants| {
            [
                1,
                grants.granted_bytes.into(),
                grants.acked_req_bytes.into(),
                grants.requests_met.into(),
            ]
        });
        for (slot, value) in self.0.iter().zip(values) {
            if let Some(slot) = *slot {
                paths.set(phv, slot, value);
            }
        }
    }
}
