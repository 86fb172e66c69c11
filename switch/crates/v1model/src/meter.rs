// SPDX-License-Identifier: Apache-2.0
//! Meters: a two-rate three-colour marker on exact nanosecond time.
//!
//! As BMv2 has it, and unlike RFC 2698's figures suggest, the peak bucket is
//! asked first: red consumes nothing, yellow only from the peak bucket. Levels
//! are kept in billionths of a unit, so no rate and no arrival pattern loses
//! or gains a token by rounding.

use crate::schema::MeterConfig;

/// Billionths.
const NANO: u128 = 1_000_000_000;

/// A configured meter.
#[derive(Clone, Debug)]
pub(crate) struct Meter {
    config: MeterConfig,
    /// Tokens of the committed bucket, in billionths of a unit.
    committed: u128,
    /// Tokens of the peak bucket, in billionths of a unit.
    peak: u128,
    /// When the buckets were last filled up, nanoseconds.
    filled_ns: u64,
}

/// What a packet got, as v1model encodes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Color {
    Green = 0,
    Yellow = 1,
    Red = 2,
}

/// A meter cell: nothing while it is not configured, and then always green.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cell(Option<Box<Meter>>);

/// The memory that a configured meter takes, bytes, its allocation included.
pub(crate) const BYTES: usize = size_of::<Cell>() + size_of::<Meter>() + 16;

impl Cell {
    /// Full buckets, at a time before all packets.
    pub fn new(config: Option<MeterConfig>) -> Self {
        Cell(config.map(|config| {
            Box::new(Meter {
                config,
                committed: u128::from(config.cburst) * NANO,
                peak: u128::from(config.pburst) * NANO,
                filled_ns: 0,
            })
        }))
    }

    pub fn config(&self) -> Option<MeterConfig> {
        self.0.as_ref().map(|meter| meter.config)
    }

    /// Marks a packet of so many units.
    #[inline]
    pub fn mark(&mut self, now_ns: u64, units: u64) -> Color {
        match &mut self.0 {
            None => Color::Green,
            Some(meter) => meter.mark(now_ns, units),
        }
    }
}

impl Meter {
    fn mark(&mut self, now_ns: u64, units: u64) -> Color {
        // A clock that goes back, as after a change of the device's, fills nothing.
        let elapsed = u128::from(now_ns.saturating_sub(self.filled_ns));
        self.filled_ns = self.filled_ns.max(now_ns);
        let fill = |level: u128, rate: u64, burst: u64| {
            // At most 2^128 - 2^65 + 1, plus a level of at most 2^94: the sum
            // may not fit, the minimum does.
            let more = u128::from(rate) * elapsed;
            level.saturating_add(more).min(u128::from(burst) * NANO)
        };
        self.peak = fill(self.peak, self.config.pir, self.config.pburst);
        self.committed = fill(self.committed, self.config.cir, self.config.cburst);
        let needed = u128::from(units) * NANO;
        if self.peak < needed {
            return Color::Red;
        }
        self.peak -= needed;
        if self.committed < needed {
            return Color::Yellow;
        }
        self.committed -= needed;
        Color::Green
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CONFIG: MeterConfig = MeterConfig {
        cir: 1000,
        cburst: 100,
        pir: 2000,
        pburst: 200,
    };

    #[test]
    fn an_unconfigured_meter_is_green() {
        assert_eq!(Cell::default().mark(0, u64::MAX), Color::Green);
    }

    #[test]
    fn red_consumes_nothing_and_yellow_only_peak_tokens() {
        let mut cell = Cell::new(Some(CONFIG));
        assert_eq!(cell.mark(0, 100), Color::Green);
        assert_eq!(cell.mark(0, 100), Color::Yellow);
        assert_eq!(cell.mark(0, 1), Color::Red);
        // 1 ms: one committed and two peak tokens.
        assert_eq!(cell.mark(1_000_000, 3), Color::Red);
        assert_eq!(cell.mark(1_000_000, 1), Color::Green);
        assert_eq!(cell.mark(1_000_000, 1), Color::Yellow);
        assert_eq!(cell.mark(1_000_000, 1), Color::Red);
        // The other way round in time: nothing is gained.
        assert_eq!(cell.mark(0, 1), Color::Red);
    }

    #[test]
    fn fractions_of_a_token_are_not_lost() {
        let rates = MeterConfig {
            cir: 1,
            cburst: 1,
            pir: 3,
            pburst: 1,
        };
        let mut cell = Cell::new(Some(rates));
        assert_eq!(cell.mark(0, 1), Color::Green);
        // A third of a second in steps of one nanosecond less than that.
        assert_eq!(cell.mark(111_111_111, 1), Color::Red);
        assert_eq!(cell.mark(222_222_222, 1), Color::Red);
        assert_eq!(cell.mark(333_333_333, 1), Color::Red);
        assert_eq!(cell.mark(333_333_334, 1), Color::Yellow);
    }

    #[test]
    fn the_largest_rates_do_not_overflow() {
        let config = MeterConfig {
            cir: u64::MAX,
            cburst: u64::MAX,
            pir: u64::MAX,
            pburst: u64::MAX,
        };
        let mut cell = Cell::new(Some(config));
        assert_eq!(cell.mark(u64::MAX, u64::MAX), Color::Green);
        assert_eq!(cell.mark(u64::MAX, 1), Color::Red);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Over any window, what was let through is at most burst + rate x time,
        /// and what was refused would have exceeded it.
        #[test]
        fn the_inequalities_hold_whatever_the_arrivals(
            rates in (0u64..5_000, 0u64..3_000, 0u64..5_000, 0u64..3_000),
            arrivals in prop::collection::vec((0u64..50_000_000, 0u64..1600), 1..100),
        ) {
            let (cir, cburst, more, pburst) = rates;
            let config = MeterConfig { cir, cburst, pir: cir + more, pburst };
            let mut cell = Cell::new(Some(config));
            let mut now = 0;
            let mut marked: Vec<(u64, u64, Color)> = Vec::new();
            for (gap, units) in arrivals {
                now += gap;
                let before = marked.len();
                marked.push((now, units, cell.mark(now, units)));
                for from in 0..=before {
                    let window = u128::from(now - marked[from].0);
                    let passed = |most: Color| -> u128 {
                        let units = marked[from..].iter().filter(|m| m.2 <= most);
                        units.map(|m| u128::from(m.1) * NANO).sum()
                    };
                    let limit = |rate: u64, burst: u64| {
                        u128::from(burst) * NANO + u128::from(rate) * window
                    };
                    prop_assert!(passed(Color::Green) <= limit(config.cir, config.cburst));
                    prop_assert!(passed(Color::Yellow) <= limit(config.pir, config.pburst));
                }
                // A naive model of the same, with the levels as sums.
                let level = |rate: u64, burst: u64, most: Color| {
                    let full = u128::from(burst) * NANO;
                    let mut level = full;
                    let mut at = 0;
                    for (time, units, color) in &marked[..before] {
                        level = (level + u128::from(rate) * u128::from(time - at)).min(full);
                        at = *time;
                        if *color <= most {
                            level -= u128::from(*units) * NANO;
                        }
                    }
                    (level + u128::from(rate) * u128::from(now - at)).min(full)
                };
                let needed = u128::from(units) * NANO;
                let wanted = if level(config.pir, config.pburst, Color::Yellow) < needed {
                    Color::Red
                } else if level(config.cir, config.cburst, Color::Green) < needed {
                    Color::Yellow
                } else {
                    Color::Green
                };
                prop_assert_eq!(marked[before].2, wanted);
            }
        }
    }
}
