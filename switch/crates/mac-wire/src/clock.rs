// SPDX-License-Identifier: Apache-2.0
//! The minislot clock: numbers of minislots, and their times.

/// 64 bits of picoseconds last for 213 days; the rare case beyond them takes 128.
const PS_PER_NS: u64 = 1000;

/// A minislot's number, from the start of the channel on; 32 bits of it are on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Minislot(pub u64);

/// When minislots are. On an SC-QAM channel one follows the other; on an OFDMA channel all
/// those of a frame are sent side by side, from its start to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clock {
    /// Minislots of a frame: 1 on an SC-QAM channel.
    pub per_frame: u32,
    /// A frame's length, picoseconds.
    pub frame_ps: u64,
}

impl Clock {
    /// When the minislot's frame starts, nanoseconds, rounded up.
    #[must_use]
    pub fn start(&self, slot: Minislot) -> u64 {
        self.frame_start(slot.0 / self.per_frame())
    }

    /// When the minislot's frame ends, nanoseconds, rounded up.
    #[must_use]
    pub fn end(&self, slot: Minislot) -> u64 {
        self.frame_start((slot.0 / self.per_frame()).saturating_add(1))
    }

    /// The first minislot that does not start before `now`.
    #[must_use]
    pub fn at_or_after(&self, now: u64) -> Minislot {
        // A start is rounded up, so a frame starts at `now` or later if it really starts later
        // than a nanosecond before it.
        match now.checked_sub(1) {
            None => Minislot(0),
            Some(before) => self.first_of(self.frames(before).saturating_add(1)),
        }
    }

    /// The first minislot of the last frame that starts at `now` or before it.
    #[must_use]
    pub fn at_or_before(&self, now: u64) -> Minislot {
        self.first_of(self.frames(now))
    }

    /// A frame's length, nanoseconds, rounded up.
    #[must_use]
    pub fn frame_length(&self) -> u64 {
        self.frame_start(1)
    }

    /// Frames that have really started within `ns` nanoseconds, beside the first.
    fn frames(&self, ns: u64) -> u64 {
        let frame_ps = self.frame_ps.max(1);
        match ns.checked_mul(PS_PER_NS) {
            Some(ps) => ps / frame_ps,
            None => saturated(u128::from(ns) * u128::from(PS_PER_NS) / u128::from(frame_ps)),
        }
    }

    fn first_of(&self, frame: u64) -> Minislot {
        Minislot(frame.saturating_mul(self.per_frame()))
    }

    fn frame_start(&self, frame: u64) -> u64 {
        match frame.checked_mul(self.frame_ps) {
            Some(ps) => ps.div_ceil(PS_PER_NS),
            None => saturated(
                (u128::from(frame) * u128::from(self.frame_ps)).div_ceil(PS_PER_NS.into()),
            ),
        }
    }

    /// [`crate::Profile::check`] refuses 0; this keeps it from being divided by.
    fn per_frame(&self) -> u64 {
        u64::from(self.per_frame.max(1))
    }
}

fn saturated(value: u128) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// 4 ticks of 6.25 us, as in paper 004.
    const SC_QAM: Clock = Clock {
        per_frame: 1,
        frame_ps: 25_000_000,
    };
    /// The defaults of docsis-ns3.
    const OFDMA: Clock = Clock {
        per_frame: 235,
        frame_ps: 135_000_000,
    };

    #[test]
    fn minislots_follow_each_other_or_lie_side_by_side_in_a_frame() {
        assert_eq!(SC_QAM.start(Minislot(80)), 2_000_000);
        assert_eq!(SC_QAM.end(Minislot(80)), 2_025_000);
        assert_eq!(OFDMA.start(Minislot(234)), 0);
        assert_eq!(OFDMA.end(Minislot(234)), 135_000);
        assert_eq!(OFDMA.start(Minislot(235)), 135_000);
    }

    #[test]
    fn the_next_minislot_is_a_frames_first() {
        assert_eq!(OFDMA.at_or_after(0), Minislot(0));
        assert_eq!(OFDMA.at_or_after(1), Minislot(235));
        assert_eq!(OFDMA.at_or_after(135_000), Minislot(235));
        assert_eq!(OFDMA.at_or_before(134_999), Minislot(0));
        assert_eq!(OFDMA.at_or_before(135_000), Minislot(235));
    }

    #[test]
    fn a_start_between_two_nanoseconds_is_rounded_up() {
        // A third of a microsecond is no whole number of nanoseconds.
        let clock = Clock {
            per_frame: 1,
            frame_ps: 333_334,
        };
        assert_eq!(clock.start(Minislot(1)), 334);
        assert_eq!(clock.at_or_after(334), Minislot(1));
        assert_eq!(clock.at_or_after(335), Minislot(2));
        assert_eq!(clock.at_or_before(333), Minislot(0));
    }

    fn clocks() -> impl Strategy<Value = Clock> {
        let frame_ps = prop_oneof![0..200_000_000_u64, 0..=u64::MAX];
        let per_frame = prop_oneof![0..4097_u32, 0..=u32::MAX];
        (per_frame, frame_ps).prop_map(|(per_frame, frame_ps)| Clock {
            per_frame,
            frame_ps,
        })
    }

    /// Those that a profile may have.
    fn usual_clocks() -> impl Strategy<Value = Clock> {
        (1..4097_u32, 1000..200_000_000_u64).prop_map(|(per_frame, frame_ps)| Clock {
            per_frame,
            frame_ps,
        })
    }

    proptest! {
        #[test]
        fn a_frame_ends_where_the_next_starts_and_time_goes_on(
            clock in usual_clocks(), slot in 0..1_u64 << 40,
        ) {
            let (slot, next) = (Minislot(slot), Minislot(slot + u64::from(clock.per_frame)));
            prop_assert_eq!(clock.end(slot), clock.start(next));
            prop_assert!(clock.start(slot) < clock.start(next));
            prop_assert!(clock.start(slot) <= clock.start(Minislot(slot.0 + 1)));
        }

        #[test]
        fn no_minislot_before_the_next_starts_at_that_time_or_later(
            clock in usual_clocks(), now in 0..1_u64 << 50,
        ) {
            let next = clock.at_or_after(now);
            prop_assert!(clock.start(next) >= now);
            if let Some(before) = next.0.checked_sub(1) {
                prop_assert!(clock.start(Minislot(before)) < now);
            }
            let last = clock.at_or_before(now);
            prop_assert!(clock.start(last) <= now);
            prop_assert!(clock.end(last) > now);
        }

        #[test]
        fn a_frames_start_leads_back_to_its_first_minislot(
            clock in usual_clocks(), frame in 0..1_u64 << 32,
        ) {
            let first = Minislot(frame * u64::from(clock.per_frame));
            prop_assert_eq!(clock.at_or_after(clock.start(first)), first);
            prop_assert_eq!(clock.at_or_before(clock.start(first)), first);
        }

        #[test]
        fn no_clock_and_no_time_make_it_panic(clock in clocks(), value in any::<u64>()) {
            let slot = Minislot(value);
            prop_assert!(clock.start(slot) <= clock.end(slot));
            let _ = (clock.at_or_after(value), clock.at_or_before(value), clock.frame_length());
        }
    }
}
