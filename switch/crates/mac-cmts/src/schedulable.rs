// SPDX-License-Identifier: Apache-2.0
//! Whether periodic loads all keep their jitter windows, before they are admitted.
//!
//! [`crate::periodic`] places them by earliest deadline, without preemption. The test is the
//! processor demand criterion (Baruah, Rosier, Howell 1990; with blocking: George, Rivierre, Spuri
//! 1996). Let a piece first come late at b, and let a be the earliest release among the pieces with
//! deadlines up to b that were given minislots since the channel last gave any to another piece, or
//! to none. Then the pieces released from a on with deadlines up to b need more than b - a, less
//! what was lost to
//!
//! - one piece with a later deadline that began before a (blocking),
//! - the ends of MAPs that do not stretch: maintenance, and up to a piece less a minislot, because no
//!   piece crosses.
//!
//! So if for every load i as the one released at a, and every length, demand and losses are not
//! more than the length, nothing ever comes late. Between two loads the distance of releases is
//! known up to multiples of the greatest common divisor of their intervals; demand takes the
//! densest case. Contention takes part as a piece a MAP, that may be cut, due at the MAP's end.
//!
//! Removing a load only lowers every term, so a load that pauses or goes harms no other.

use crate::demand::{From, View};
use crate::ground::Ground;
use crate::load::Load;

impl Ground {
    /// Whether all loads, at the times that they have, come in time whatever else happens.
    pub(crate) fn holds(&self, loads: &[Load]) -> bool {
        let holds = |anchor: Option<&Load>, from| {
            self.effort.spend(steps(anchor, loads))
                && View::new(self, anchor, from, loads).holds(loads)
        };
        // What holds in whichever phases needs no look at them. The last load is the new one.
        holds(None, From::Release)
            || loads.iter().rev().all(|load| {
                holds(Some(load), From::Release)
                    && (self.grid.is_none() || holds(Some(load), From::StartOfMap))
            })
    }
}

/// What a view takes. A common divisor of intervals takes longest.
fn steps(anchor: Option<&Load>, loads: &[Load]) -> usize {
    let other = |load: &&Load| anchor.is_some_and(|anchor| anchor.interval != load.interval);
    4 * loads.len() + 12 * loads.iter().filter(other).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::effort::Effort;
    use crate::load::Kind;
    use mac_wire::Clock;

    fn ground() -> Ground {
        Ground {
            clock: Clock {
                per_frame: 1,
                frame_ps: 25_000_000,
            },
            map: 80,
            grid: Some(0),
            maintenance: 3,
            contention: 12,
            pieces: 80,
            effort: Effort::new(u64::MAX),
        }
    }

    /// A call of 17 minislots every 20 ms.
    fn call(t0: u64, jitter: u64) -> Load {
        Load {
            kind: Kind::Grant,
            interval: 20_000_000,
            jitter: jitter * 25_000,
            cost: 17,
            count: 1,
            window: jitter,
            t0: t0 * 25_000,
        }
    }

    #[test]
    fn a_call_alone_holds_where_its_window_has_a_place() {
        assert!(ground().holds(&[call(0, 0)]));
        // It would cross the end of the MAP at once, and has no time to wait for the next.
        assert!(!ground().holds(&[call(70, 0)]));
        assert!(ground().holds(&[call(70, 40)]));
    }

    #[test]
    fn calls_that_meet_share_a_window_only_while_they_fit() {
        assert!(!ground().holds(&[call(0, 10), call(0, 10)]));
        assert!(ground().holds(&[call(0, 17), call(0, 17)]));
        assert!(!ground().holds(&[call(0, 17), call(0, 17), call(0, 17)]));
        // In another MAP they never meet.
        assert!(ground().holds(&[call(0, 0), call(80, 0), call(160, 0)]));
        // The one that began first blocks the other.
        assert!(!ground().holds(&[call(0, 5), call(4, 0)]));
        assert!(ground().holds(&[call(0, 5), call(4, 18)]));
    }

    #[test]
    fn contention_keeps_its_minislots_of_each_map() {
        // Four calls are 68 of 77 minislots, and 12 are contention's.
        let calls = [call(0, 0), call(17, 0), call(34, 0), call(51, 0)];
        assert!(ground().holds(&calls[..3]));
        assert!(!ground().holds(&calls));
    }

    #[test]
    fn a_channel_is_never_more_than_full() {
        let full = Load {
            interval: 2_000_000,
            ..call(0, 40)
        };
        let mut loads = vec![full; 3];
        assert!(ground().holds(&loads));
        loads.push(full);
        assert!(!ground().holds(&loads));
    }

    proptest::proptest! {
        /// Loads that come together are one load of several pieces.
        #[test]
        fn loads_that_come_together_are_tested_as_one(
            loads in proptest::collection::vec((0_u64..6, 0_u64..3, 0_u64..2, 0_usize..2), 1..14),
        ) {
            let loads: Vec<Load> = loads
                .into_iter()
                .map(|(place, late, interval, cost)| Load {
                    interval: [10_000_000, 20_000_000][interval as usize],
                    cost: [5, 17][cost],
                    ..call(place * 40 + late * 800, 40)
                })
                .collect();
            let mut kinds = crate::load::Kinds::default();
            loads.iter().for_each(|load| kinds.add(load));
            let together = kinds.together();
            proptest::prop_assert!(together.loads().len() <= loads.len());
            proptest::prop_assert_eq!(ground().holds(&loads), ground().holds(together.loads()));
        }
    }

    fn poll(t0: u64, jitter: u64) -> Load {
        Load {
            kind: Kind::Poll,
            cost: 1,
            ..call(t0, jitter)
        }
    }

    #[test]
    fn the_end_of_a_map_costs_what_does_not_fit_before_it() {
        // Neither fits before 77: they start at 80 and 97, 32 later than they might.
        assert!(!ground().holds(&[call(65, 20), call(65, 20)]));
        assert!(ground().holds(&[call(65, 36), call(65, 36)]));
    }

    #[test]
    fn maintenance_delays_what_comes_due_in_it() {
        // One at 76, the other at 80.
        assert!(!ground().holds(&[poll(76, 3), poll(76, 3)]));
        assert!(ground().holds(&[poll(76, 4), poll(76, 4)]));
    }

    #[test]
    fn a_map_has_so_many_pieces_and_no_more() {
        let ground = Ground {
            clock: Clock {
                per_frame: 235,
                frame_ps: 135_000_000,
            },
            map: 15 * 235,
            maintenance: 0,
            contention: 1,
            pieces: 90,
            ..ground()
        };
        let polls = |count, jitter: u64| {
            let one = Load {
                interval: 40_500_000,
                window: jitter * 235 + 234,
                jitter: jitter * 135_000,
                ..poll(0, 0)
            };
            vec![one; count]
        };
        assert!(ground.holds(&polls(90, 0)));
        assert!(!ground.holds(&polls(91, 0)));
        assert!(!ground.holds(&polls(180, 20)));
        assert!(ground.holds(&polls(180, 30)));
    }
}
