// SPDX-License-Identifier: Apache-2.0
//! Numbers for Python: as columns that NumPy reads, and by name.

use pyo3::prelude::*;
use pyo3::types::PyDict;

/// A column as NumPy reads it: each number in 8 bytes, in the machine's order.
pub fn column(numbers: &[i64]) -> Vec<u8> {
    numbers.iter().flat_map(|n| n.to_ne_bytes()).collect()
}

/// Numbers by name.
pub fn dict<'py>(py: Python<'py>, items: &[(&str, u64)]) -> PyResult<Bound<'py, PyDict>> {
    let found = PyDict::new(py);
    for (name, value) in items {
        found.set_item(name, value)?;
    }
    Ok(found)
}
