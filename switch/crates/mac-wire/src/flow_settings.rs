// SPDX-License-Identifier: Apache-2.0
//! A service flow's numbers from outside: its scheduling type by name, and the rest by key.
//!
//! | scheduling type | keys that it alone has |
//! |---|---|
//! | `best-effort` | |
//! | `nrtps`, `rtps` | `polling_interval_ns`, `poll_jitter_ns` |
//! | `ugs` | `grant_interval_ns`, `grant_jitter_ns`, `grant_size`, `grants_per_interval` |
//! | `ugs-ad` | those of `ugs` and of `rtps` |
//! | `pgs` | `guaranteed_grant_interval_ns`, `guaranteed_grant_rate`, `guaranteed_request_interval_ns`, `activity_detection_disable` (0 or 1) |
//!
//! All have `policy`, `traffic_priority`, `max_sustained_rate`, `max_burst`, `peak_rate`,
//! `min_reserved_rate`, `assumed_packet_size`, `max_concatenated_burst`, `backoff_eighths` and
//! `request_unit`. Their units are those of the fields of [`FlowConfig`] and [`Service`]; what is
//! left out has the default of [`FlowConfig::best_effort`]. What the numbers are together is for
//! [`FlowConfig::check`] to say.

use std::collections::BTreeMap;

use crate::flow::{FlowConfig, Periodic, Service, Sid};
use crate::policy::Policy;

/// A service flow's numbers, by key.
pub type FlowSettings = BTreeMap<String, u64>;

/// Names of the scheduling types.
const TYPES: [&str; 6] = ["best-effort", "nrtps", "rtps", "ugs-ad", "ugs", "pgs"];

/// Numbers, each used once.
struct Values(FlowSettings);

impl Values {
    fn take<T: TryFrom<u64>>(&mut self, key: &str, absent: T, most: u64) -> Result<T, String> {
        let Some(value) = self.0.remove(key) else {
            return Ok(absent);
        };
        T::try_from(value).map_err(|_| format!("{key} is {value}, which is not within 0 to {most}"))
    }

    fn u64(&mut self, key: &str, absent: u64) -> Result<u64, String> {
        self.take(key, absent, u64::MAX)
    }

    fn u32(&mut self, key: &str, absent: u32) -> Result<u32, String> {
        self.take(key, absent, u32::MAX.into())
    }

    fn u8(&mut self, key: &str, absent: u8) -> Result<u8, String> {
        self.take(key, absent, u8::MAX.into())
    }

    fn switch(&mut self, key: &str) -> Result<bool, String> {
        match self.u64(key, 0)? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(format!("{key} is {other}, which is neither 0 nor 1")),
        }
    }

    fn polls(&mut self) -> Result<Periodic, String> {
        Ok(Periodic {
            interval: self.u64("polling_interval_ns", 0)?,
            jitter: self.u64("poll_jitter_ns", 0)?,
        })
    }

    fn grants(&mut self) -> Result<(Periodic, u32, u8), String> {
        let grants = Periodic {
            interval: self.u64("grant_interval_ns", 0)?,
            jitter: self.u64("grant_jitter_ns", 0)?,
        };
        let size = self.u32("grant_size", 0)?;
        Ok((grants, size, self.u8("grants_per_interval", 1)?))
    }

    fn service(&mut self, kind: &str) -> Result<Service, String> {
        Ok(match kind {
            "best-effort" => Service::BestEffort,
            "nrtps" => Service::NonRealTimePolling(self.polls()?),
            "rtps" => Service::RealTimePolling(self.polls()?),
            "ugs" => {
                let (grants, size, per_interval) = self.grants()?;
                Service::Unsolicited {
                    grants,
                    size,
                    per_interval,
                }
            }
            "ugs-ad" => {
                let (grants, size, per_interval) = self.grants()?;
                Service::UnsolicitedWithActivity {
                    grants,
                    size,
                    per_interval,
                    polls: self.polls()?,
                }
            }
            "pgs" => Service::Proactive {
                interval: self.u64("guaranteed_grant_interval_ns", 0)?,
                rate: self.u64("guaranteed_grant_rate", 0)?,
                request_interval: self.u64("guaranteed_request_interval_ns", 0)?,
                activity_detection: !self.switch("activity_detection_disable")?,
            },
            _ => {
                return Err(format!(
                    "scheduling_type is \"{kind}\", which is none of {}",
                    TYPES.join(", ")
                ));
            }
        })
    }
}

impl FlowConfig {
    /// A service flow of a SID and a scheduling type, with these numbers.
    ///
    /// # Errors
    /// There is no such scheduling type, it has no such key, or a number does not fit its key; the
    /// sentence names the key.
    pub fn with_settings(sid: Sid, kind: &str, settings: FlowSettings) -> Result<Self, String> {
        let usual = Self::best_effort(sid);
        let mut values = Values(settings);
        let service = values.service(kind)?;
        let policy = match service {
            Service::Unsolicited { .. } | Service::UnsolicitedWithActivity { .. } => {
                Policy::USUAL_UNSOLICITED
            }
            Service::RealTimePolling(_) => Policy::USUAL_REAL_TIME_POLLING,
            _ => Policy::USUAL,
        };
        let flow = Self {
            service,
            policy: Policy(values.u32("policy", policy.0)?),
            priority: values.u8("traffic_priority", usual.priority)?,
            max_sustained_rate: values.u64("max_sustained_rate", usual.max_sustained_rate)?,
            max_burst: values.u64("max_burst", usual.max_burst)?,
            peak_rate: values.u64("peak_rate", usual.peak_rate)?,
            min_reserved_rate: values.u64("min_reserved_rate", usual.min_reserved_rate)?,
            assumed_packet_size: values.u32("assumed_packet_size", usual.assumed_packet_size)?,
            max_concatenated_burst: values.u32("max_concatenated_burst", 0)?,
            backoff_eighths: values.u8("backoff_eighths", usual.backoff_eighths)?,
            request_unit: values.u8("request_unit", usual.request_unit)?,
            ..usual
        };
        match values.0.keys().next() {
            Some(key) => Err(format!(
                "a service flow of scheduling type {kind} has no {key}"
            )),
            None => Ok(flow),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(kind: &str, settings: &[(&str, u64)]) -> Result<FlowConfig, String> {
        let settings = settings
            .iter()
            .map(|(key, value)| ((*key).to_owned(), *value));
        FlowConfig::with_settings(Sid(5), kind, settings.collect())
    }

    #[test]
    fn what_is_left_out_is_as_usual() {
        assert_eq!(
            with("best-effort", &[]),
            Ok(FlowConfig::best_effort(Sid(5)))
        );
        let flow = with(
            "ugs",
            &[("grant_interval_ns", 20_000_000), ("grant_size", 232)],
        )
        .unwrap();
        assert_eq!(flow.policy, Policy::USUAL_UNSOLICITED);
        let expected = Service::Unsolicited {
            grants: Periodic {
                interval: 20_000_000,
                jitter: 0,
            },
            size: 232,
            per_interval: 1,
        };
        assert_eq!(flow.service, expected);
        // A policy of 0 says something.
        let flow = with("rtps", &[("policy", 0), ("polling_interval_ns", 9)]).unwrap();
        assert_eq!(flow.policy, Policy(0));
    }

    #[test]
    fn proactive_grants_are_watched_unless_told() {
        let proactive = |settings: &[(&str, u64)]| with("pgs", settings).unwrap().service;
        let usual = Service::Proactive {
            interval: 0,
            rate: 7,
            request_interval: 0,
            activity_detection: true,
        };
        assert_eq!(proactive(&[("guaranteed_grant_rate", 7)]), usual);
        assert_eq!(usual.guaranteed_polls(), None);
        let other = proactive(&[
            ("guaranteed_grant_interval_ns", 5),
            ("guaranteed_request_interval_ns", 9),
            ("activity_detection_disable", 1),
        ]);
        let expected = Service::Proactive {
            interval: 5,
            rate: 0,
            request_interval: 9,
            activity_detection: false,
        };
        assert_eq!(other, expected);
        let polls = Periodic {
            interval: 9,
            jitter: 9,
        };
        assert_eq!(other.guaranteed_polls(), Some(polls));
    }

    #[test]
    fn what_cannot_be_is_refused_by_its_key() {
        let refused = |kind, settings: &[(&str, u64)]| with(kind, settings).unwrap_err();
        assert_eq!(
            refused("pgs", &[("activity_detection_disable", 2)]),
            "activity_detection_disable is 2, which is neither 0 nor 1"
        );
        assert_eq!(
            refused("best", &[]),
            "scheduling_type is \"best\", which is none of best-effort, nrtps, rtps, ugs-ad, ugs, \
             pgs"
        );
        assert_eq!(
            refused("best-effort", &[("grant_size", 200)]),
            "a service flow of scheduling type best-effort has no grant_size"
        );
        assert_eq!(
            refused("ugs", &[("grants_per_interval", 256)]),
            "grants_per_interval is 256, which is not within 0 to 255"
        );
    }
}
