// SPDX-License-Identifier: Apache-2.0
//! Refuses service flows that are impossible, by themselves or on their channel.

use crate::error::Refused;
use crate::flow::{FlowConfig, Periodic, Service, Sid};
use crate::profile::{Asking, Packing, Profile};
use crate::request::Amount;

/// Longest interval and jitter, nanoseconds: their TLVs have 32 bits of microseconds.
const MAX_INTERVAL: u64 = u32::MAX as u64 * 1000;
/// Most bytes of an unsolicited grant: TLV 24.19 has 16 bits.
const MAX_SIZE: u32 = u16::MAX as u32;
/// Highest rate, bit/s, as in the traffic manager.
const MAX_RATE: u64 = 1_000_000_000_000;

impl FlowConfig {
    /// Checks it for the channel of a profile that [`Profile::check`] accepts.
    ///
    /// # Errors
    /// The first value out of bounds; an interval that is 0 or shorter than a MAP; a jitter in which no
    /// frame of minislots may begin; a grant without a request of no bytes or of more than a MAP holds; a
    /// policy that leaves it no way to ask, or no way to send a long frame; proactive grants where
    /// requests are for one burst.
    pub fn check(&self, profile: &Profile) -> Result<(), Refused> {
        self.check_numbers()?;
        match self.service {
            Service::BestEffort => {
                self.check_contention(profile)?;
                self.check_whole(profile)
            }
            Service::NonRealTimePolling(polls) | Service::RealTimePolling(polls) => {
                check_periodic("polls", polls, profile)?;
                self.check_whole(profile)
            }
            Service::UnsolicitedWithActivity {
                grants,
                size,
                per_interval,
                polls,
            } => {
                check_periodic("polls", polls, profile)?;
                check_unsolicited(grants, size, per_interval, profile)
            }
            Service::Unsolicited {
                grants,
                size,
                per_interval,
            } => check_unsolicited(grants, size, per_interval, profile),
            Service::Proactive { interval, rate, .. } => {
                check_proactive(interval, rate, profile)?;
                let polls = self.service.guaranteed_polls();
                polls.map_or(Ok(()), |polls| check_periodic("polls", polls, profile))
            }
        }
    }

    fn check_numbers(&self) -> Result<(), Refused> {
        let refused = |key, why: String| Err(Refused::new(key, why));
        if !(1..=Sid::LAST_UNICAST.0).contains(&self.sid.0) {
            return refused(
                "sid",
                format!(
                    "is {:#06x}; a service flow's has to be 1 to {:#06x}.",
                    self.sid.0,
                    Sid::LAST_UNICAST.0
                ),
            );
        }
        if self.priority > 7 {
            return refused(
                "priority",
                format!("is {}; it has to be 0 to 7.", self.priority),
            );
        }
        if !(1..=16).contains(&self.request_unit) {
            return refused(
                "request_unit",
                format!("is {} bytes; it has to be 1 to 16.", self.request_unit),
            );
        }
        if self.backoff_eighths == 0 {
            return refused(
                "backoff_eighths",
                "is 0, a window without opportunities; 8 is the whole window.".into(),
            );
        }
        for (key, rate) in [
            ("max_sustained_rate", self.max_sustained_rate),
            ("peak_rate", self.peak_rate),
            ("min_reserved_rate", self.min_reserved_rate),
        ] {
            if rate > MAX_RATE {
                return refused(
                    key,
                    format!("is {rate} bit/s; it has to be at most {MAX_RATE}."),
                );
            }
        }
        if self.max_sustained_rate > 0 && self.min_reserved_rate > self.max_sustained_rate {
            return refused(
                "min_reserved_rate",
                format!(
                    "is {} bit/s; it has to be at most max_sustained_rate, {}.",
                    self.min_reserved_rate, self.max_sustained_rate
                ),
            );
        }
        Ok(())
    }

    /// A best-effort flow has nothing that brings it grants, so a piggybacked request never comes
    /// about without one in contention. Priority and request/data regions are not given here.
    fn check_contention(&self, profile: &Profile) -> Result<(), Refused> {
        if !self.policy.allows_broadcast_requests() {
            return Err(Refused::new(
                "policy",
                format!(
                    "is {:#x}, which forbids broadcast requests (bit 0): a best-effort flow then has no \
                     way to ask; clear the bit, or have the flow polled.",
                    self.policy.0
                ),
            ));
        }
        if profile.contention_opportunities() == 0 && !profile.extra_contention {
            return Err(Refused::new(
                "service",
                "is best effort, and the channel has no contention_minislots in which to ask; give it \
                 some, or have the flow polled.",
            ));
        }
        Ok(())
    }
}

impl FlowConfig {
    /// Frames that must not be cut have to fit one burst where the channel cuts those of others; of a
    /// channel that cuts none, [`Profile::check`] says so.
    fn check_whole(&self, profile: &Profile) -> Result<(), Refused> {
        let cuts = profile.fragmentation && profile.packing != Packing::Continuous;
        if !cuts || self.policy.allows_fragmentation() {
            return Ok(());
        }
        let (frame, minislots) = profile.longest_frame();
        let most = profile.longest_grant().min(Amount::MOST_MINISLOTS);
        if minislots > most {
            return Err(Refused::new(
                "policy",
                format!(
                    "is {:#x}, which forbids fragments (bit 6): a frame of {frame} bytes takes {minislots} \
                     minislots, and a burst has at most {most}; clear the bit, or let MAPs be longer.",
                    self.policy.0
                ),
            ));
        }
        Ok(())
    }
}

fn check_periodic(key: &'static str, periodic: Periodic, profile: &Profile) -> Result<(), Refused> {
    let map = profile.map_length();
    let Periodic { interval, jitter } = periodic;
    if interval == 0 {
        return Err(Refused::new(
            key,
            "have an interval of 0; say how often they come.",
        ));
    }
    if interval < map {
        return Err(Refused::new(
            key,
            format!(
                "have an interval of {interval} ns, less than a MAP of {map} ns; lengthen it, or \
                 shorten the MAPs."
            ),
        ));
    }
    if interval > MAX_INTERVAL || jitter > MAX_INTERVAL {
        return Err(Refused::new(
            key,
            format!(
                "have an interval of {interval} ns and a jitter of {jitter} ns; each has to be at \
                 most {MAX_INTERVAL} ns."
            ),
        ));
    }
    // What `Profile::check` refuses is not divided by.
    let frame_ps = profile.clock.frame_ps.max(1);
    let aligned = frame_ps % 1000 == 0 && u128::from(interval) * 1000 % u128::from(frame_ps) == 0;
    if !aligned && u128::from(jitter.min(interval)) * 1000 < u128::from(frame_ps) {
        return Err(Refused::new(
            key,
            format!(
                "have a jitter of {jitter} ns, in which no minislot may begin; with an interval of \
                 {interval} ns, which is not a whole number of frames of minislots, it has to be at least \
                 {} ns.",
                profile.clock.frame_length()
            ),
        ));
    }
    Ok(())
}

fn check_unsolicited(
    grants: Periodic,
    size: u32,
    per_interval: u8,
    profile: &Profile,
) -> Result<(), Refused> {
    check_periodic("grants", grants, profile)?;
    if size == 0 || size > MAX_SIZE {
        return Err(Refused::new(
            "size",
            format!("is {size} bytes; an unsolicited grant has to have 1 to {MAX_SIZE}."),
        ));
    }
    check_grant("size", u64::from(size), profile)?;
    if per_interval == 0 {
        return Err(Refused::new(
            "per_interval",
            "is 0; say how many grants come in each interval.",
        ));
    }
    Ok(())
}

/// What comes without a request has to fit a MAP of usual length.
fn check_grant(key: &'static str, bytes: u64, profile: &Profile) -> Result<(), Refused> {
    let with_header = bytes.saturating_add(profile.segment_header.into());
    let minislots = profile.phy.minislots(with_header);
    let most = profile.data_minislots();
    if minislots > most {
        return Err(Refused::new(
            key,
            format!(
                "makes grants of {bytes} bytes, which take {minislots} minislots; a MAP has {most} of them \
                 for data."
            ),
        ));
    }
    Ok(())
}

fn check_proactive(interval: u64, rate: u64, profile: &Profile) -> Result<(), Refused> {
    if profile.asking == Asking::OneBurst {
        return Err(Refused::new(
            "service",
            "has proactive grants, and the channel's requests are for one burst, which a grant of another \
             size would answer; use a channel whose requests are in bytes (queue depth).",
        ));
    }
    let frame = profile.clock.frame_length();
    if interval != 0 && interval < frame {
        return Err(Refused::new(
            "interval",
            format!(
                "is {interval} ns, less than a frame of {frame} ns; lengthen it, or leave it 0 for one \
                 MAP."
            ),
        ));
    }
    if interval > MAX_INTERVAL {
        return Err(Refused::new(
            "interval",
            format!("is {interval} ns; it has to be at most {MAX_INTERVAL}."),
        ));
    }
    if !(1..=MAX_RATE).contains(&rate) {
        return Err(Refused::new(
            "rate",
            format!("is {rate} bit/s; a guaranteed grant rate has to be 1 to {MAX_RATE}."),
        ));
    }
    let each = match interval {
        0 => profile.map_length(),
        given => given,
    };
    let bytes = u128::from(rate) * u128::from(each) / 8_000_000_000;
    check_grant("rate", u64::try_from(bytes).unwrap_or(u64::MAX), profile)
}
