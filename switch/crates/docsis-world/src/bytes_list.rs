// SPDX-License-Identifier: Apache-2.0
//! Lists of Python's bytes.

use bytes::Bytes;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

pub fn list_of_bytes<'py>(py: Python<'py>, parts: &[Bytes]) -> PyResult<Bound<'py, PyList>> {
    PyList::new(py, parts.iter().map(|part| PyBytes::new(py, part)))
}
