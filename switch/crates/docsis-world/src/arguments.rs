// SPDX-License-Identifier: Apache-2.0
//! Arguments from Python, each checked with a sentence that names it.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyInt;
use world::{LinkConfig, Mac};

/// A whole number of any size, to be checked by its name.
#[derive(Clone)]
pub struct Whole<'py>(Bound<'py, PyAny>);

impl<'a, 'py> FromPyObject<'a, 'py> for Whole<'py> {
    type Error = PyErr;

    fn extract(value: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        Ok(Whole(value.to_owned()))
    }
}

impl Whole<'_> {
    /// The number, within 0 to `most`.
    pub fn within(&self, name: &str, most: u64) -> PyResult<u64> {
        let value = &self.0;
        // NumPy's integers are not Python's, but can be indexes.
        if value.hasattr("__index__")? && !value.is_instance_of::<pyo3::types::PyBool>() {
            let whole = value.call_method0("__index__")?;
            if whole.is_instance_of::<PyInt>() {
                return match whole.extract::<u64>() {
                    Ok(number) if number <= most => Ok(number),
                    _ => Err(PyValueError::new_err(format!(
                        "{name} is {whole}, which is not within 0 to {most}"
                    ))),
                };
            }
        }
        let kind = value.get_type();
        Err(PyTypeError::new_err(format!(
            "{name} is a whole number, not {}",
            kind.name()?
        )))
    }

    pub fn u64(&self, name: &str) -> PyResult<u64> {
        self.within(name, u64::MAX)
    }

    pub fn u32(&self, name: &str) -> PyResult<u32> {
        Ok(self.within(name, u32::MAX.into())? as u32)
    }

    pub fn u16(&self, name: &str) -> PyResult<u16> {
        Ok(self.within(name, u16::MAX.into())? as u16)
    }

    pub fn u8(&self, name: &str) -> PyResult<u8> {
        Ok(self.within(name, u8::MAX.into())? as u8)
    }
}

/// A number, or what stands for none.
pub fn or<'py, T>(
    value: Option<&Whole<'py>>,
    absent: T,
    read: impl FnOnce(&Whole<'py>) -> PyResult<T>,
) -> PyResult<T> {
    value.map_or(Ok(absent), read)
}

/// A time, or none.
pub fn time(value: Option<&Whole<'_>>, name: &str) -> PyResult<Option<u64>> {
    value.map(|value| value.u64(name)).transpose()
}

/// "02:00:00:00:01:01".
pub fn mac(text: &str) -> PyResult<Mac> {
    let mut bytes = [0; 6];
    let mut parts = text.split(':');
    let read = bytes.iter_mut().all(|byte| {
        let part = parts.next().filter(|part| part.len() == 2);
        let value = part.and_then(|part| u8::from_str_radix(part, 16).ok());
        value.map(|value| *byte = value).is_some()
    });
    if read && parts.next().is_none() {
        return Ok(bytes);
    }
    Err(PyValueError::new_err(format!(
        "\"{text}\" is no MAC address such as 02:00:00:00:01:01"
    )))
}

/// "10.0.0.11/24"; all hosts are of one network, so that the prefix is but checked.
pub fn address(text: &str) -> PyResult<[u8; 4]> {
    let read = || {
        let (address, prefix) = text.split_once('/')?;
        let address: std::net::Ipv4Addr = address.parse().ok()?;
        let prefix: u8 = prefix.parse().ok()?;
        (prefix <= 32).then(|| address.octets())
    };
    read().ok_or_else(|| {
        PyValueError::new_err(format!(
            "\"{text}\" is no IPv4 address with a prefix length, such as 10.0.0.11/24"
        ))
    })
}

/// Median and 99th percentile of a lateness.
pub fn lateness(
    py: Python<'_>,
    given: Option<(Whole<'_>, Whole<'_>)>,
) -> PyResult<world::Lateness> {
    let Some((p50, p99)) = given else {
        return Ok(world::Lateness::NONE);
    };
    let (p50, p99) = (p50.u64("lateness")?, p99.u64("lateness")?);
    world::Lateness::new(p50, p99).map_err(|error| crate::errors::exception(py, error))
}

/// Rate, delay and jitter.
pub fn link(
    (rate, name): (Option<&Whole<'_>>, &str),
    usual: u64,
    delay: Option<&Whole<'_>>,
    jitter: Option<&Whole<'_>>,
) -> PyResult<LinkConfig> {
    Ok(LinkConfig {
        rate: or(rate, usual, |v| v.u64(name))?,
        delay: or(delay, 0, |v| v.u64("delay_ns"))?,
        jitter: or(jitter, 0, |v| v.u64("jitter_ns"))?,
    })
}
