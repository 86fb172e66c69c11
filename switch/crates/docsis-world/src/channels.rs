// SPDX-License-Identifier: Apache-2.0
//! Arguments of upstream channels and of their service flows.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyString};
use world::mac_wire::{Capacity, FlowConfig, Periodic, Policy, Service, Sid};
use world::{ChannelStatistics, Setting, Settings};

use crate::arguments::{Whole, or};
use crate::errors::exception;

/// What is different from a profile.
pub fn settings(given: Option<&Bound<'_, PyDict>>) -> PyResult<Settings> {
    let mut settings = Settings::new();
    for (key, value) in given.into_iter().flatten() {
        let key: String = key.extract()?;
        let setting = if value.is_none() {
            Setting::Absent
        } else if value.is_instance_of::<PyBool>() {
            Setting::Switch(value.extract()?)
        } else if value.is_instance_of::<PyString>() {
            Setting::Word(value.extract()?)
        } else {
            Setting::Number(value.extract::<Whole<'_>>()?.u64(&key)?)
        };
        settings.insert(key, setting);
    }
    Ok(settings)
}

/// All numbers of a channel's profile, with what is different from it.
#[pyfunction]
#[pyo3(signature = (name, **settings))]
pub fn channel_profile<'py>(
    py: Python<'py>,
    name: &str,
    settings: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyDict>> {
    let profile = world::channel_profile(name, &self::settings(settings)?)
        .map_err(|error| exception(py, error))?;
    let numbers = PyDict::new(py);
    for (key, setting) in world::channel_numbers(&profile) {
        match setting {
            Setting::Number(number) => numbers.set_item(key, number)?,
            Setting::Switch(switch) => numbers.set_item(key, switch)?,
            Setting::Word(word) => numbers.set_item(key, word)?,
            Setting::Absent => numbers.set_item(key, py.None())?,
        }
    }
    Ok(numbers)
}

/// What other users leave of a channel: a rate, or no rate for all.
pub fn capacity(
    rate: Option<&Whole<'_>>,
    variation_percent: Option<&Whole<'_>>,
) -> PyResult<Option<Capacity>> {
    let variation_percent = or(variation_percent, 0, |value| value.u8("variation_percent"))?;
    let rate = rate.map(|rate| rate.u64("rate")).transpose()?;
    Ok(rate.map(|rate| Capacity {
        rate,
        variation_percent,
    }))
}

/// Keyword arguments of a service flow, each used once.
struct Values<'a, 'py>(&'a Bound<'py, PyDict>);

impl Values<'_, '_> {
    fn take<T>(
        &self,
        name: &str,
        absent: T,
        read: fn(&Whole<'_>, &str) -> PyResult<T>,
    ) -> PyResult<T> {
        match self.0.get_item(name)? {
            Some(value) => {
                self.0.del_item(name)?;
                read(&value.extract()?, name)
            }
            None => Ok(absent),
        }
    }

    fn u64(&self, name: &str, absent: u64) -> PyResult<u64> {
        self.take(name, absent, |value, name| value.u64(name))
    }

    fn u32(&self, name: &str, absent: u32) -> PyResult<u32> {
        self.take(name, absent, |value, name| value.u32(name))
    }

    fn u8(&self, name: &str, absent: u8) -> PyResult<u8> {
        self.take(name, absent, |value, name| value.u8(name))
    }

    fn polls(&self) -> PyResult<Periodic> {
        Ok(Periodic {
            interval: self.u64("polling_interval_ns", 0)?,
            jitter: self.u64("poll_jitter_ns", 0)?,
        })
    }

    fn grants(&self) -> PyResult<(Periodic, u32, u8)> {
        let grants = Periodic {
            interval: self.u64("grant_interval_ns", 0)?,
            jitter: self.u64("grant_jitter_ns", 0)?,
        };
        let size = self.u32("grant_size", 0)?;
        Ok((grants, size, self.u8("grants_per_interval", 1)?))
    }

    fn service(&self, kind: &str) -> PyResult<Service> {
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
            },
            _ => {
                return Err(PyValueError::new_err(format!(
                    "scheduling_type is \"{kind}\", which is none of best-effort, nrtps, rtps, \
                     ugs-ad, ugs, pgs"
                )));
            }
        })
    }
}

/// A service flow from its SID, its scheduling type and everything else by name.
pub fn service_flow(
    sid: &Whole<'_>,
    kind: &str,
    given: &Bound<'_, PyDict>,
) -> PyResult<FlowConfig> {
    let usual = FlowConfig::best_effort(Sid(sid.u16("sid")?));
    let values = Values(given);
    let service = values.service(kind)?;
    let policy = match service {
        Service::Unsolicited { .. } | Service::UnsolicitedWithActivity { .. } => {
            Policy::USUAL_UNSOLICITED
        }
        Service::RealTimePolling(_) => Policy::USUAL_REAL_TIME_POLLING,
        _ => Policy::USUAL,
    };
    let flow = FlowConfig {
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
    if let Some((name, _)) = given.iter().next() {
        return Err(PyValueError::new_err(format!(
            "a service flow of scheduling type {kind} has no {name}"
        )));
    }
    Ok(flow)
}

/// A channel's counters, by name.
pub fn counters(statistics: &ChannelStatistics) -> Vec<(&'static str, u64)> {
    let delay = &statistics.request_to_grant;
    vec![
        ("maps", statistics.maps),
        ("map_bytes", statistics.map_bytes),
        ("maps_lost", statistics.maps_lost),
        ("opportunities", statistics.opportunities),
        ("opportunities_used", statistics.opportunities_used),
        ("opportunities_collided", statistics.opportunities_collided),
        ("requests", statistics.requests),
        ("requests_collided", statistics.requests_collided),
        ("grants", statistics.grants),
        ("minislots_granted", statistics.minislots_granted),
        ("minislots_used", statistics.minislots_used),
        ("frames", statistics.frames),
        ("requests_answered", delay.count()),
        ("request_to_grant_mean_ns", delay.mean().unwrap_or(0)),
        ("request_to_grant_p99_ns", delay.quantile(990).unwrap_or(0)),
    ]
}
