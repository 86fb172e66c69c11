// SPDX-License-Identifier: Apache-2.0
//! Failures as Python's exceptions.

use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

create_exception!(
    docsis_world,
    RpcError,
    PyException,
    "A method of P4Runtime or of the traffic manager ended with a status that is not OK."
);
create_exception!(
    docsis_world,
    WorldError,
    PyRuntimeError,
    "The world cannot go on: it has failed, has reached a limit, or another thread uses it."
);

/// The exception for an error of the world.
pub fn exception(py: Python<'_>, error: world::WorldError) -> PyErr {
    match error {
        world::WorldError::Invalid(words) => PyValueError::new_err(words),
        world::WorldError::Limit(words) => WorldError::new_err(words),
        world::WorldError::Rpc(status) => {
            let raised = RpcError::new_err(format!("{}: {}", status.code(), status.message()));
            let value = raised.value(py);
            let set = value
                .setattr("code", status.code() as i32)
                .and_then(|()| value.setattr("message", status.message()))
                .and_then(|()| value.setattr("details", PyBytes::new(py, status.details())));
            set.err().unwrap_or(raised)
        }
    }
}
