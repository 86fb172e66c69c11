// SPDX-License-Identifier: Apache-2.0
//! The periodic loads that follow from the configuration of a service flow: unsolicited grants,
//! polls and proactive grants.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use mac_wire::{Clock, FlowConfig, Periodic, Profile, Service};

use crate::parameters::Parameters;
use crate::refusal::{Refusal, refuse};
use crate::sizes::Sizes;

/// What a periodic load gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Unsolicited grants (UGS, UGS-AD).
    Grant,
    /// Unicast request opportunities.
    Poll,
    /// Proactive grants (PGS).
    Proactive,
}

/// Every piece of interval i starts in `[t0 + i * interval, t0 + i * interval + jitter]`, so jitter
/// never accumulates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Load {
    pub(crate) kind: Kind,
    /// Nanoseconds.
    pub(crate) interval: u64,
    /// Nanoseconds.
    pub(crate) jitter: u64,
    /// Minislots of a piece.
    pub(crate) cost: u32,
    /// Pieces in an interval.
    pub(crate) count: u32,
    /// In whichever phase, so many minislots at least lie between the first and the last in
    /// which a piece may start.
    pub(crate) window: u64,
    /// When the first interval starts, nanoseconds: the scheduler's choice, the start of a frame.
    pub(crate) t0: u64,
}

impl Load {
    /// The first and the last minislot in which a piece of an interval may start.
    pub(crate) fn starts(&self, interval: u64, clock: &Clock) -> (u64, u64) {
        let from = self
            .t0
            .saturating_add(interval.saturating_mul(self.interval));
        let last = clock.at_or_before(from.saturating_add(self.jitter)).0;
        let frame = u64::from(clock.per_frame.max(1));
        (clock.at_or_after(from).0, last.saturating_add(frame - 1))
    }

    fn comes(&self) -> Comes {
        let phase = self.t0 % self.interval.max(1);
        (phase, self.interval, self.window, self.cost)
    }

    /// The first interval whose first minislot is not before `minislot`.
    pub(crate) fn interval_from(&self, minislot: u64, clock: &Clock) -> u64 {
        let time = clock.start(mac_wire::Minislot(minislot));
        let mut interval = time.saturating_sub(self.t0) / self.interval;
        while self.starts(interval, clock).0 < minislot {
            interval += 1;
        }
        interval
    }
}

/// Loads of which this is equal come together, always: phase, interval, window and cost.
type Comes = (u64, u64, u64, u32);

/// The loads of a channel for the test of admission, where those that always come together are one:
/// of one kind and in one phase they are released and due at the same time, as several pieces of one
/// load are.
#[derive(Debug, Clone, Default)]
pub(crate) struct Kinds(BTreeMap<Comes, Load>);

impl Kinds {
    pub(crate) fn add(&mut self, load: &Load) {
        let same = self.0.entry(load.comes());
        let add = |same: &mut Load| same.count = same.count.saturating_add(load.count);
        same.and_modify(add).or_insert(*load);
    }

    /// Takes away a load that was added.
    pub(crate) fn remove(&mut self, load: &Load) {
        if let Entry::Occupied(mut same) = self.0.entry(load.comes()) {
            let left = same.get().count.saturating_sub(load.count);
            same.get_mut().count = left;
            if left == 0 {
                same.remove();
            }
        }
    }

    pub(crate) fn together(&self) -> Together {
        Together(self.0.values().copied().collect())
    }
}

/// What [`Kinds`] has, for a test.
#[derive(Debug, Clone)]
pub(crate) struct Together(Vec<Load>);

impl Together {
    /// Adds one load; [`Together::loads`] then has it last, with those that it comes with.
    pub(crate) fn add(&mut self, load: Load) {
        let before = self.take(&load).map_or(0, |same| same.count);
        self.0.push(Load {
            count: before.saturating_add(load.count),
            ..load
        });
    }

    /// Takes away one load that is there.
    pub(crate) fn remove(&mut self, load: &Load) {
        let left = self.take(load).map_or(0, |same| same.count);
        let left = left.saturating_sub(load.count);
        if left > 0 {
            self.0.push(Load {
                count: left,
                ..*load
            });
        }
    }

    fn take(&mut self, load: &Load) -> Option<Load> {
        let comes = load.comes();
        let same = self.0.iter().position(|one| one.comes() == comes)?;
        Some(self.0.swap_remove(same))
    }

    pub(crate) fn loads(&self) -> &[Load] {
        &self.0
    }
}

struct Maker<'a> {
    flow: &'a FlowConfig,
    profile: &'a Profile,
    sizes: &'a Sizes,
    map_ns: u64,
}

impl Maker<'_> {
    fn load(
        &self,
        kind: Kind,
        what: &str,
        periodic: Periodic,
        cost: u32,
        count: u32,
    ) -> Result<Load, Refusal> {
        let sid = self.flow.sid.0;
        let Periodic { interval, jitter } = periodic;
        let room = self.profile.data_minislots();
        if cost == 0 || cost > room || count == 0 || interval == 0 {
            return Err(refuse!(
                "each of the {what} of SID {sid} takes {cost} minislots, {count} in an interval of \
                 {interval} ns; a MAP has room for 1 to {room} minislots"
            ));
        }
        let jitter = jitter.min(interval);
        let Some(window) = window(&self.profile.clock, interval, jitter) else {
            return Err(refuse!(
                "the jitter of the {what} of SID {sid} is {jitter} ns; with an interval that is not \
                 a whole number of this channel's frames it has to be at least {} ns",
                self.profile.clock.frame_ps.div_ceil(1000)
            ));
        };
        Ok(Load {
            kind,
            interval,
            jitter,
            cost,
            count,
            window,
            t0: 0,
        })
    }

    fn polls(&self, periodic: Periodic) -> Result<Load, Refusal> {
        let cost = self.profile.request_minislots;
        self.load(Kind::Poll, "polls", periodic, cost, 1)
    }

    fn grants(&self, periodic: Periodic, size: u32, count: u8) -> Result<Load, Refusal> {
        // The segment header is beside the configured size, which counts from FC on.
        let bytes = u64::from(size) + self.sizes.segment_header;
        let cost = self.sizes.minislots(bytes);
        self.load(
            Kind::Grant,
            "unsolicited grants",
            periodic,
            cost,
            count.into(),
        )
    }

    fn proactive(
        &self,
        interval: u64,
        rate: u64,
        parameters: &Parameters,
    ) -> Result<Load, Refusal> {
        let interval = match interval {
            0 => self.map_ns,
            given => whole_frames(&self.profile.clock, given),
        };
        let bytes = u128::from(rate) * u128::from(interval) / 8;
        let bytes = (bytes * u128::from(100 + parameters.proactive_percent))
            .div_ceil(100 * 1_000_000_000)
            .min(u128::from(u32::MAX)) as u64;
        let periodic = Periodic {
            interval,
            jitter: interval / 8 * parameters.proactive_jitter_eighths.min(8),
        };
        let cost = self.sizes.minislots(bytes + self.sizes.segment_header);
        self.load(Kind::Proactive, "proactive grants", periodic, cost, 1)
    }
}

/// The interval in whole frames of the channel, rounded down, at least one (docsis-ns3).
fn whole_frames(clock: &Clock, interval: u64) -> u64 {
    let frame = u128::from(clock.frame_ps.max(1));
    let frames = (u128::from(interval) * 1000 / frame).max(1);
    u64::try_from(frames * frame / 1000)
        .unwrap_or(u64::MAX)
        .max(1)
}

/// See [`Load::window`]; `None` where some interval has no frame that starts in its jitter.
fn window(clock: &Clock, interval: u64, jitter: u64) -> Option<u64> {
    let frame = u128::from(clock.frame_ps.max(1));
    let aligned = frame % 1000 == 0 && u128::from(interval) * 1000 % frame == 0;
    let whole = u64::try_from(u128::from(jitter) * 1000 / frame).ok()?;
    // Where intervals start anywhere in a frame, part of the jitter passes before the next frame.
    let frames = if aligned {
        whole
    } else {
        whole.checked_sub(1)?
    };
    let per_frame = u64::from(clock.per_frame.max(1));
    Some(frames.saturating_mul(per_frame) + per_frame - 1)
}

/// A flow's loads, without a place in time: grants first, then polls.
pub(crate) fn loads(
    flow: &FlowConfig,
    profile: &Profile,
    sizes: &Sizes,
    parameters: &Parameters,
    map_ns: u64,
) -> Result<Vec<Load>, Refusal> {
    let maker = Maker {
        flow,
        profile,
        sizes,
        map_ns,
    };
    match flow.service {
        Service::BestEffort => Ok(Vec::new()),
        Service::NonRealTimePolling(polls) | Service::RealTimePolling(polls) => {
            Ok(vec![maker.polls(polls)?])
        }
        Service::Unsolicited {
            grants,
            size,
            per_interval,
        } => Ok(vec![maker.grants(grants, size, per_interval)?]),
        Service::UnsolicitedWithActivity {
            grants,
            size,
            per_interval,
            polls,
        } => Ok(vec![
            maker.grants(grants, size, per_interval)?,
            maker.polls(polls)?,
        ]),
        Service::Proactive { interval, rate, .. } => {
            let mut loads = vec![maker.proactive(interval, rate, parameters)?];
            if let Some(polls) = flow.service.guaranteed_polls() {
                loads.push(maker.polls(polls)?);
            }
            Ok(loads)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    fn proactive(interval: u64) -> Load {
        let profile = Profile::docsis_3_1(15);
        let parameters = Parameters::default();
        let sizes = Sizes::new(&profile, &parameters);
        let flow = FlowConfig {
            service: Service::Proactive {
                interval,
                rate: 5_000_000,
                request_interval: 0,
                activity_detection: true,
            },
            ..testing::best_effort(1)
        };
        loads(&flow, &profile, &sizes, &parameters, 2_025_000).unwrap()[0]
    }

    /// mac.md, PGS: 5 Mbps, GGI 2.025 ms / 135 us: 28 minislots / 2.
    #[test]
    fn proactive_grants_are_as_long_as_the_vectors_say() {
        assert_eq!(proactive(0).cost, 28);
        assert_eq!(proactive(2_025_000).cost, 28);
        let fast = proactive(140_000);
        assert_eq!((fast.cost, fast.interval), (2, 135_000));
        // In its frame, anywhere: those of a frame start together.
        assert_eq!(fast.window, 234);
    }

    #[test]
    fn loads_that_come_together_are_counted_and_go_one_by_one() {
        let load = |number: u64| Load {
            interval: 1_000_000 * (1 + number % 7),
            t0: number % 14 * 1_000_000,
            ..proactive(0)
        };
        let loads: Vec<Load> = (0..140).map(load).collect();
        let mut kinds = Kinds::default();
        loads.iter().for_each(|load| kinds.add(load));
        let counted = |together: &Together| {
            let mut counted: Vec<_> = together
                .loads()
                .iter()
                .map(|one| (one.comes(), one.count))
                .collect();
            counted.sort_unstable();
            counted
        };
        let pieces: u32 = kinds.together().loads().iter().map(|one| one.count).sum();
        assert_eq!(pieces, 140);
        assert!(kinds.together().loads().len() <= 14);
        // One by one in a test, in another order, with some that go.
        let mut together = Kinds::default().together();
        loads.iter().rev().for_each(|load| together.add(*load));
        assert_eq!(counted(&together), counted(&kinds.together()));
        for load in &loads[..100] {
            kinds.remove(load);
            together.remove(load);
        }
        assert_eq!(counted(&together), counted(&kinds.together()));
        loads[100..].iter().for_each(|load| kinds.remove(load));
        assert!(kinds.together().loads().is_empty());
    }

    #[test]
    fn windows_are_whole_frames() {
        let clock = Clock {
            per_frame: 1,
            frame_ps: 25_000_000,
        };
        assert_eq!(window(&clock, 20_000_000, 800_000), Some(32));
        assert_eq!(window(&clock, 20_000_000, 0), Some(0));
        assert_eq!(window(&clock, 20_000_001, 800_000), Some(31));
        assert_eq!(window(&clock, 20_000_001, 24_999), None);
    }
}
