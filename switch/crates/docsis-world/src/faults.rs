// SPDX-License-Identifier: Apache-2.0
//! What World's methods for faults take and give.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use world::{Books, Departure, LinkState};

use crate::arguments::Whole;
use crate::guard::Guard;
use crate::plain_data::{column, dict};

/// The link behind a port carries frames from now on, or not.
pub fn set_state(
    guard: &Guard,
    py: Python<'_>,
    device: &str,
    port: &Whole<'_>,
    state: LinkState,
) -> PyResult<()> {
    let port = port.u16("port")?;
    guard.with(py, |world| world.set_link_state(device, port, state))
}

/// Books by name.
pub fn books(py: Python<'_>, books: Books) -> PyResult<Bound<'_, PyDict>> {
    dict(
        py,
        &[
            ("received", books.received),
            ("entered", books.entered),
            ("copied", books.copied),
            ("sent", books.sent),
            ("left", books.left),
            ("dropped", books.dropped),
            ("emptied", books.emptied),
            ("held", books.held),
        ],
    )
}

/// Departures as columns.
pub fn departures<'py>(py: Python<'py>, left: &[Departure]) -> PyResult<Bound<'py, PyDict>> {
    let columns: [(&str, Vec<i64>); 4] = [
        ("time_ns", left.iter().map(|one| one.at as i64).collect()),
        ("port", left.iter().map(|one| one.port.into()).collect()),
        ("queue", left.iter().map(|one| one.queue.into()).collect()),
        ("length", left.iter().map(|one| one.length.into()).collect()),
    ];
    let found = PyDict::new(py);
    for (name, numbers) in columns {
        found.set_item(name, PyBytes::new(py, &column(&numbers)))?;
    }
    Ok(found)
}
