// SPDX-License-Identifier: Apache-2.0
//! Arguments of upstream channels and of their service flows.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyString};
use world::mac_wire::{Capacity, FlowConfig, FlowSettings, Profile, Setting, Settings, Sid};

use crate::arguments::{Whole, or};

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
    let profile =
        Profile::with_settings(name, &self::settings(settings)?).map_err(PyValueError::new_err)?;
    let numbers = PyDict::new(py);
    for (key, setting) in profile.numbers() {
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

/// A service flow from its SID, its scheduling type and everything else by name.
pub fn service_flow(
    sid: &Whole<'_>,
    kind: &str,
    given: Option<&Bound<'_, PyDict>>,
) -> PyResult<FlowConfig> {
    let mut settings = FlowSettings::new();
    for (key, value) in given.into_iter().flatten() {
        let key: String = key.extract()?;
        let number = value.extract::<Whole<'_>>()?.u64(&key)?;
        settings.insert(key, number);
    }
    let flow = FlowConfig::with_settings(Sid(sid.u16("sid")?), kind, settings);
    flow.map_err(PyValueError::new_err)
}
