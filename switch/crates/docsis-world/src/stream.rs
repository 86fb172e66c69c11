// SPDX-License-Identifier: Apache-2.0
//! The class Stream.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use world::StreamId;

use crate::bytes_list::list_of_bytes;
use crate::guard::Guard;

#[pyclass(frozen, module = "docsis_world")]
pub struct Stream {
    pub guard: Arc<Guard>,
    pub id: StreamId,
}

#[pymethods]
impl Stream {
    fn send(&self, py: Python<'_>, message: &Bound<'_, PyBytes>) -> PyResult<()> {
        let message = bytes::Bytes::copy_from_slice(message.as_bytes());
        self.guard
            .with(py, |world| world.stream_send(self.id, message))
    }

    fn receive<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        list_of_bytes(
            py,
            &self.guard.with(py, |world| world.stream_receive(self.id))?,
        )
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.guard.with(py, |world| {
            world.close_stream(self.id);
            Ok(())
        })
    }
}
