// SPDX-License-Identifier: Apache-2.0
//! What happened to frames outside the P4 program and the queues.

use traffic_manager::Traffic;

/// Declares the struct and what lists its fields, so that no counter is left out.
macro_rules! counters {
    (
        $(#[$outer:meta])*
        pub struct $name:ident {
            $($(#[doc = $meaning:literal])+ pub $counter:ident: Traffic,)+
        }
    ) => {
        $(#[$outer])*
        pub struct $name {
            $($(#[doc = $meaning])+ pub $counter: Traffic,)+
        }

        impl $name {
            /// Every counter: its name, what it means, what it counted.
            #[must_use]
            pub fn named(&self) -> Vec<(&'static str, &'static str, Traffic)> {
                vec![$((
                    stringify!($counter),
                    concat!($($meaning),+).trim_start(),
                    self.$counter,
                )),+]
            }
        }
    };
}

counters! {
/// Drops inside a device that neither the program's own counters nor those of
/// ports and service flows show. Lengths are those of the frames as received.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DeviceCounters {
    /// Dropped: no pipeline is loaded.
    pub no_pipeline: Traffic,
    /// Dropped by the ingress pipeline.
    pub ingress_dropped: Traffic,
    /// Dropped: the multicast group has no replicas, or does not exist.
    pub no_replicas: Traffic,
    /// Dropped: the egress port does not exist.
    pub no_such_port: Traffic,
    /// Dropped: the port has no queue of that priority (bmv2 model).
    pub no_such_priority: Traffic,
    /// Not a drop: the queue_id is not configured, so the frame went to the
    /// port's own queue.
    pub no_such_queue: Traffic,
    /// Dropped by the egress pipeline from a port's own queue.
    pub egress_dropped: Traffic,
    /// Dropped: flushed from ports' own queues, or on its way through ingress
    /// again, when a new pipeline was loaded.
    pub flushed: Traffic,
    /// Dropped: the controller did not take a packet-in.
    pub packet_in_dropped: Traffic,
    /// Dropped: has been resubmitted, recirculated, looped back or cloned at egress too often.
    pub too_many_passes: Traffic,
    /// Dropped: too many packets wait to go through ingress again.
    pub ingress_queue_full: Traffic,
    /// Not a drop: copies that multicast made of packets, beyond the first.
    pub multicast_copies: Traffic,
    /// Not a drop: clones made at the end of ingress.
    pub ingress_clones: Traffic,
    /// Not a drop: clones made at the end of egress.
    pub egress_clones: Traffic,
    /// Not a drop: through ingress again from its end.
    pub resubmitted: Traffic,
    /// Not a drop: through ingress again from the end of egress.
    pub recirculated: Traffic,
    /// Not a drop of the frame: it was not cloned, as the clone session does not
    /// exist.
    pub no_clone_session: Traffic,
    /// Not a drop of frames: digests that the controller did not take.
    pub digest_dropped: Traffic,
    /// Not a drop of frames: idle table entries that the controller did not hear
    /// of.
    pub idle_timeout_dropped: Traffic,
    /// Dropped: its modem asked for it so often as a modem may, and the CMTS heard none of
    /// the requests.
    pub unheard: Traffic,
    /// Dropped: longer than the switch can receive, or made so by the program.
    pub too_long: Traffic,
}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_counter_has_a_name_and_a_meaning() {
        let mut counters = DeviceCounters::default();
        counters.too_long.count(7);
        let named = counters.named();
        assert!(named.iter().all(|(_, meaning, _)| !meaning.is_empty()));
        let (_, meaning, too_long) = named.iter().find(|c| c.0 == "too_long").unwrap();
        assert_eq!(
            *meaning,
            "Dropped: longer than the switch can receive, or made so by the program."
        );
        assert_eq!(too_long.bytes, 7);
    }
}
