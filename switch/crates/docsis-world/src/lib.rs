// SPDX-License-Identifier: Apache-2.0
//! The Python module docsis_world: see python/docsis_world/__init__.pyi, which has its
//! contract.

// The macros of pyo3 make functions without words.
#![allow(missing_docs)]

mod allocator;
mod arguments;
mod bytes_list;
mod channels;
mod errors;
mod faults;
mod guard;
mod plain_data;
mod stream;
mod traffic;
mod world;

use pyo3::prelude::*;
use pyo3::types::PyTuple;

#[pymodule]
fn _world(module: &Bound<'_, PyModule>) -> PyResult<()> {
    guard::keep_quiet();
    let py = module.py();
    module.add_class::<world::World>()?;
    module.add_class::<stream::Stream>()?;
    module.add_function(wrap_pyfunction!(channels::channel_profile, module)?)?;
    module.add("RpcError", py.get_type::<errors::RpcError>())?;
    let profiles = PyTuple::new(py, ::world::mac_wire::Profile::NAMES)?;
    module.add("CHANNEL_PROFILES", profiles)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("SOURCES", env!("DOCSIS_WORLD_SOURCES"))?;
    module.add("WorldError", py.get_type::<errors::WorldError>())?;
    Ok(())
}
