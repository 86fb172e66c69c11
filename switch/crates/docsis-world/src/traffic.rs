// SPDX-License-Identifier: Apache-2.0
//! Arguments that the methods for traffic share.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use world::{Acknowledgements, Congestion, Flow, Profile, TcpOptions, Times};

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

/// Start and stop.
pub fn times(start: Maybe<'_, '_>, stop: Maybe<'_, '_>) -> PyResult<Times> {
    Ok(Times {
        start: time(start, "start_ns")?,
        stop: time(stop, "stop_ns")?,
    })
}

/// How TCP works.
pub fn tcp(
    congestion: &str,
    profile: &str,
    acknowledgements: &str,
    initial_window: Maybe<'_, '_>,
    segment: Maybe<'_, '_>,
    least_timeout: Maybe<'_, '_>,
    receive_window: Maybe<'_, '_>,
) -> PyResult<TcpOptions> {
    let congestion = match congestion {
        "cubic" => Congestion::Cubic,
        "reno" => Congestion::Reno,
        "ledbat" => Congestion::Ledbat,
        _ => {
            return Err(PyValueError::new_err(format!(
                "there is no congestion control \"{congestion}\"; there are cubic, reno, ledbat"
            )));
        }
    };
    let profile = match profile {
        "linux" => Profile::Linux,
        "rfc" => Profile::Rfc,
        _ => {
            return Err(PyValueError::new_err(format!(
                "there is no profile \"{profile}\" of TCP; there are linux, rfc"
            )));
        }
    };
    let acknowledgements = match acknowledgements {
        "delayed" => Acknowledgements::Delayed,
        "every-segment" => Acknowledgements::EverySegment,
        _ => {
            return Err(PyValueError::new_err(format!(
                "there are no acknowledgements \"{acknowledgements}\"; there are delayed, \
                 every-segment"
            )));
        }
    };
    let usual = TcpOptions::default();
    Ok(TcpOptions {
        congestion,
        profile,
        initial_window: or(initial_window, usual.initial_window, |v| {
            v.u32("initial_window")
        })?,
        segment: or(segment, usual.segment, |v| v.u16("segment"))?,
        acknowledgements,
        least_timeout: time(least_timeout, "least_timeout_ns")?,
        receive_window: receive_window
            .map(|v| v.u32("receive_window"))
            .transpose()?,
        ..usual
    })
}

/// The same with the delay that LEDBAT aims at.
pub fn aiming_at(options: TcpOptions, ledbat_target: Maybe<'_, '_>) -> PyResult<TcpOptions> {
    Ok(TcpOptions {
        ledbat_target: or(ledbat_target, options.ledbat_target, |v| {
            v.u64("ledbat_target_ns")
        })?,
        ..options
    })
}
