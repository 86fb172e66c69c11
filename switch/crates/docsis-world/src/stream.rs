// SPDX-License-Identifier: Apache-2.0
//! The class Stream.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use world::StreamId;

use crate::world::{World, list_of_bytes};

#[pyclass(frozen, module = "docsis_world")]
pub struct Stream {
    pub world: Py<World>,
    pub id: StreamId,
}

#[pymethods]
impl Stream {
    fn send(&self, py: Python<'_>, message: &Bound<'_, PyBytes>) -> PyResult<()> {
        let message = bytes::Bytes::copy_from_slice(message.as_bytes());
        let world = &self.world.get().guard;
        world.with(py, |world| world.stream_send(self.id, message))
    }

    fn receive<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let world = &self.world.get().guard;
        list_of_bytes(py, &world.with(py, |world| world.stream_receive(self.id))?)
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let world = &self.world.get().guard;
        world.with(py, |world| {
            world.close_stream(self.id);
            Ok(())
        })
    }
}
