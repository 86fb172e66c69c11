// SPDX-License-Identifier: Apache-2.0
//! Counts how many frames a device has dropped, and where, for observers of single frames.

use v1model::trace::DropReason;

/// Where a frame ended that did not leave the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum DropPlace {
    /// The ingress pipeline dropped it.
    Ingress,
    /// The egress pipeline dropped it.
    Egress,
    /// No pipeline was loaded.
    NoPipeline,
    /// Its multicast group has no replicas.
    NoReplicas,
    /// Its port does not exist.
    NoSuchPort,
    /// Its port has no queue of its priority.
    NoSuchPriority,
    /// Its queue was full.
    QueueFull,
    /// A delay line was full.
    LineFull,
    /// Its link lost it, as configured.
    Link,
    /// The controller did not take it.
    PacketIn,
    /// It went through ingress too often.
    TooManyPasses,
    /// Too many packets waited to go through ingress again.
    IngressQueueFull,
    /// It was longer than its queue's tokens ever allow, or the program made it longer than a device
    /// takes.
    TooLong,
    /// Its modem asked for it too often, and was not heard.
    Unheard,
    /// A later acknowledgement of its connection made it superfluous in its queue.
    Suppressed,
    /// Somewhere else.
    Other,
}

impl DropPlace {
    /// All places, in the order of their numbers.
    pub const ALL: [DropPlace; 16] = [
        DropPlace::Ingress,
        DropPlace::Egress,
        DropPlace::NoPipeline,
        DropPlace::NoReplicas,
        DropPlace::NoSuchPort,
        DropPlace::NoSuchPriority,
        DropPlace::QueueFull,
        DropPlace::LineFull,
        DropPlace::Link,
        DropPlace::PacketIn,
        DropPlace::TooManyPasses,
        DropPlace::IngressQueueFull,
        DropPlace::TooLong,
        DropPlace::Unheard,
        DropPlace::Suppressed,
        DropPlace::Other,
    ];

    /// The place's stable name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            DropPlace::Ingress => "ingress",
            DropPlace::Egress => "egress",
            DropPlace::NoPipeline => "no_pipeline",
            DropPlace::NoReplicas => "no_replicas",
            DropPlace::NoSuchPort => "no_such_port",
            DropPlace::NoSuchPriority => "no_such_priority",
            DropPlace::QueueFull => "queue_full",
            DropPlace::LineFull => "delay_line_full",
            DropPlace::Link => "link_loss",
            DropPlace::PacketIn => "packet_in_refused",
            DropPlace::TooManyPasses => "too_many_passes",
            DropPlace::IngressQueueFull => "ingress_queue_full",
            DropPlace::TooLong => "too_long",
            DropPlace::Unheard => "unheard",
            DropPlace::Suppressed => "suppressed",
            DropPlace::Other => "other",
        }
    }
}

impl From<&DropReason<'_>> for DropPlace {
    fn from(reason: &DropReason<'_>) -> Self {
        match reason {
            DropReason::NoReplicas { .. } => DropPlace::NoReplicas,
            DropReason::NoSuchPort { .. } => DropPlace::NoSuchPort,
            DropReason::NoSuchPriority { .. } => DropPlace::NoSuchPriority,
            DropReason::QueueFull { .. } => DropPlace::QueueFull,
            DropReason::LineFull { .. } => DropPlace::LineFull,
            DropReason::Link { .. } => DropPlace::Link,
            DropReason::PacketIn => DropPlace::PacketIn,
            DropReason::TooManyPasses => DropPlace::TooManyPasses,
            DropReason::IngressQueueFull => DropPlace::IngressQueueFull,
            DropReason::TooLong => DropPlace::TooLong,
            DropReason::Unheard => DropPlace::Unheard,
            DropReason::Suppressed => DropPlace::Suppressed,
            // What the program marks is counted where its outcome is seen.
            _ => DropPlace::Other,
        }
    }
}

/// Frames dropped so far, by place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Drops {
    total: u64,
    places: [u64; DropPlace::ALL.len()],
}

impl Drops {
    pub(crate) fn note(&mut self, place: DropPlace) {
        self.note_all(place, 1);
    }

    /// So many frames ended there.
    pub(crate) fn note_all(&mut self, place: DropPlace, frames: u64) {
        self.total += frames;
        self.places[place as usize] += frames;
    }

    /// At all places.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }

    /// At one place.
    #[must_use]
    pub fn at(&self, place: DropPlace) -> u64 {
        self.places[place as usize]
    }

    /// Where frames were dropped since an earlier look, and how many.
    pub fn since(self, earlier: Drops) -> impl Iterator<Item = (DropPlace, u64)> {
        let places = DropPlace::ALL.into_iter();
        places.filter_map(move |place| {
            let frames = self.at(place) - earlier.at(place);
            (frames > 0).then_some((place, frames))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_have_numbers_in_their_order_and_names_of_their_own() {
        let numbers: Vec<usize> = DropPlace::ALL.iter().map(|&place| place as usize).collect();
        assert_eq!(numbers, (0..DropPlace::ALL.len()).collect::<Vec<_>>());
        let mut names: Vec<_> = DropPlace::ALL.iter().map(|place| place.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), DropPlace::ALL.len());
    }

    #[test]
    fn what_was_dropped_since_is_told_by_place() {
        let mut drops = Drops::default();
        drops.note(DropPlace::Egress);
        let earlier = drops;
        drops.note(DropPlace::QueueFull);
        drops.note(DropPlace::QueueFull);
        drops.note(DropPlace::Ingress);
        let since: Vec<_> = drops.since(earlier).collect();
        assert_eq!(since, [(DropPlace::Ingress, 1), (DropPlace::QueueFull, 2)]);
        assert_eq!((drops.total(), drops.at(DropPlace::Egress)), (4, 1));
    }
}
