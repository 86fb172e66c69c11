// SPDX-License-Identifier: Apache-2.0
//! Arguments that the methods for traffic share.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use world::{Acknowledgements, Congestion, Flow, Pareto, Profile, TcpOptions, Times};

use crate::arguments::{Whole, or, time};

/// An argument that may be left out.
pub type Maybe<'a, 'py> = Option<&'a Whole<'py>>;

/// Hosts, ports and headers.
pub fn flow<'a>(
    (source, destination): (&'a str, &'a str),
    port: &Whole<'_>,
    source_port: Maybe<'_, '_>,
    tos: Maybe<'_, '_>,
    one_in: Maybe<'_, '_>,
) -> PyResult<Flow<'a>> {
    Ok(Flow {
        source,
        destination,
        port: port.u16("port")?,
        source_port: or(source_port, 0, |v| v.u16("source_port"))?,
        tos: or(tos, 0, |v| v.u8("tos"))?,
        one_in: or(one_in, 0, |v| v.u32("one_in"))?,
    })
}

/// Mean and shape of a Pareto distribution.
pub type Law<'py> = (Whole<'py>, Whole<'py>);

/// A Pareto distribution by its mean and its shape, the latter in thousandths.
pub fn law((mean, shape): &Law<'_>, name: &str) -> PyResult<Pareto> {
    Ok(Pareto {
        mean: mean.u64(name)?,
        shape: shape.u32(name)?,
    })
}

/// A web server: its host and its TCP port.
pub type Origin<'py> = (String, Whole<'py>);

/// The first of a page's servers, and the others.
pub fn origins<'a, 'py>(
    servers: &'a [Origin<'py>],
) -> PyResult<(&'a Origin<'py>, Vec<(&'a str, u16)>)> {
    let [first, more @ ..] = servers else {
        return Err(PyValueError::new_err("a page is on one server at least"));
    };
    let more = more
        .iter()
        .map(|(name, port)| Ok((name.as_str(), port.u16("a server's port")?)));
    Ok((first, more.collect::<PyResult<_>>()?))
}

/// Start and stop.
pub fn times(start: Maybe<'_, '_>, stop: Maybe<'_, '_>) -> PyResult<Times> {
    Ok(Times {
        start: time(start, "start_ns")?,
        stop: time(stop, "stop_ns")?,
    })
}

/// How TCP works: what is different from the usual, by name. `None` is the usual.
pub fn tcp(given: Option<&Bound<'_, PyDict>>) -> PyResult<TcpOptions> {
    let mut options = TcpOptions::default();
    for (key, value) in given.into_iter().flatten() {
        if value.is_none() {
            continue;
        }
        let key: String = key.extract()?;
        let key = key.as_str();
        let word = || value.extract::<String>();
        let number = || value.extract::<Whole<'_>>();
        match key {
            "congestion" => options.congestion = congestion(&word()?)?,
            "profile" => options.profile = profile(&word()?)?,
            "acknowledgements" => options.acknowledgements = acknowledgements(&word()?)?,
            "initial_window" => options.initial_window = number()?.u32(key)?,
            "segment" => options.segment = number()?.u16(key)?,
            "least_timeout_ns" => options.least_timeout = Some(number()?.u64(key)?),
            "receive_window" => options.receive_window = Some(number()?.u32(key)?),
            "ledbat_target_ns" => options.ledbat_target = number()?.u64(key)?,
            _ => {
                return Err(PyTypeError::new_err(format!(
                    "there is no argument \"{key}\", and no setting of TCP is called so; there are \
                     congestion, profile, acknowledgements, initial_window, segment, \
                     least_timeout_ns, receive_window, ledbat_target_ns"
                )));
            }
        }
    }
    Ok(options)
}

fn congestion(word: &str) -> PyResult<Congestion> {
    match word {
        "cubic" => Ok(Congestion::Cubic),
        "reno" => Ok(Congestion::Reno),
        "ledbat" => Ok(Congestion::Ledbat),
        _ => Err(PyValueError::new_err(format!(
            "there is no congestion control \"{word}\"; there are cubic, reno, ledbat"
        ))),
    }
}

fn profile(word: &str) -> PyResult<Profile> {
    match word {
        "linux" => Ok(Profile::Linux),
        "rfc" => Ok(Profile::Rfc),
        _ => Err(PyValueError::new_err(format!(
            "there is no profile \"{word}\" of TCP; there are linux, rfc"
        ))),
    }
}

fn acknowledgements(word: &str) -> PyResult<Acknowledgements> {
    match word {
        "delayed" => Ok(Acknowledgements::Delayed),
        "every-segment" => Ok(Acknowledgements::EverySegment),
        _ => Err(PyValueError::new_err(format!(
            "there are no acknowledgements \"{word}\"; there are delayed, every-segment"
        ))),
    }
}
