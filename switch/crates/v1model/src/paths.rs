// SPDX-License-Identifier: Apache-2.0
//! Paths of packets beside the pipeline: clones, digests, resubmission, recirculation, truncation.

use crate::op::Slot;

/// What primitives like `clone` leave in the packet for the end of the pipeline.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PacketSlots {
    /// [`CLONE_REQUESTED`] and the session of the last clone; 0 for none.
    pub clone: Slot,
    /// The clone's field list.
    pub clone_list: Slot,
    /// 1 + index of the digest; 0 for none.
    pub digest: Slot,
    /// 1 + field list of the packet to resubmit; 0 for none.
    pub resubmit: Slot,
    /// 1 + field list of the packet to recirculate; 0 for none.
    pub recirculate: Slot,
    /// The complement of the length in bytes to which the frame is cut.
    pub truncate: Slot,
}

/// Tells session 0 from no clone.
pub(crate) const CLONE_REQUESTED: u64 = 1 << 15;

impl PacketSlots {
    /// Slots.
    pub const COUNT: usize = 6;

    /// Consecutive slots.
    pub fn new(first: Slot) -> Self {
        PacketSlots {
            clone: first,
            clone_list: first + 1,
            digest: first + 2,
            resubmit: first + 3,
            recirculate: first + 4,
            truncate: first + 5,
        }
    }
}

/// What a program's clones, resubmitted and recirculated packets keep, and what
/// its digests consist of.
#[derive(Debug)]
pub(crate) struct PathCode {
    pub slots: PacketSlots,
    /// Field lists; the first is empty.
    pub lists: Vec<Vec<CarriedField>>,
    pub digests: Vec<Vec<DigestField>>,
    /// The slots of metadata instances: first and number.
    pub metadata: Vec<(Slot, u16)>,
    /// `queueing_metadata.qid`.
    pub qid: Slot,
    /// The bits that a slot of metadata has: P4_14 programs choose the widths.
    pub masks: Vec<u64>,
}

impl PathCode {
    /// Sets a field of the standard metadata, cut to its width.
    #[inline(always)]
    pub fn set(&self, phv: &mut [u64], slot: Slot, value: u64) {
        phv[usize::from(slot)] = self.cut(slot, value);
    }

    /// A value cut to the width of a field of the standard metadata.
    #[inline(always)]
    pub fn cut(&self, slot: Slot, value: u64) -> u64 {
        value & self.masks[usize::from(slot)]
    }
}

/// A field that a field list names.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CarriedField {
    pub slot: Slot,
    /// Slots.
    pub words: u16,
    /// The slot that says where the header's received bytes are, of a field
    /// that is not metadata: a field carried into the header changes it.
    pub raw: Option<Slot>,
}

/// One value of a digest.
#[derive(Clone, Copy, Debug)]
pub(crate) enum DigestField {
    /// Slot, and whether it is a pair.
    Field {
        slot: Slot,
        wide: bool,
    },
    Constant(u128),
}
