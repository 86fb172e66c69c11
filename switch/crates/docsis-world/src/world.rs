// SPDX-License-Identifier: Apache-2.0
//! The class World.

use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use prost::Message;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyIterator, PyList};
use v1model::trace::{JsonTrace, TextTrace, TraceFilter, TraceSink};
use world::mac_wire::Profile;
use world::{
    Content, DeviceOptions, Flow, HostOptions, LinkState, MessagesOptions, Named, PagesOptions,
    ProbesOptions, QueueId, RateLimitId, RequestResponseOptions, RequestsOptions, Timed,
    TransferOptions, UdpStreamOptions, VideoOptions,
};

use crate::arguments::{Whole, address, lateness, link, mac, or, time};
use crate::bytes_list::list_of_bytes;
use crate::channels;
use crate::errors::exception;
use crate::faults;
use crate::guard::Guard;
use crate::plain_data::{column, dict};
use crate::stream::Stream;
use crate::traffic::{Law, Origin, flow, law, origins, tcp, times};

/// bit/s of a host's link unless given.
const LINK_RATE: u64 = 1_000_000_000;
/// Bytes of a request, and mean bytes of a response, unless given.
const REQUEST: u64 = 400;
const RESPONSE: u64 = 100_000;

type Lateness<'py> = Option<(Whole<'py>, Whole<'py>)>;

#[pyclass(frozen, module = "docsis_world")]
pub struct World {
    guard: Arc<Guard>,
}

fn columns<const N: usize>(numbers: [&[i64]; N]) -> [Vec<u8>; N] {
    numbers.map(column)
}

fn numbers<'py>(values: &Bound<'py, PyAny>) -> PyResult<Vec<Whole<'py>>> {
    let values = PyIterator::from_object(values)?;
    values.map(|value| value?.extract()).collect()
}

#[pymethods]
impl World {
    #[new]
    fn new(py: Python<'_>, seed: Whole<'_>) -> PyResult<Self> {
        let seed = seed.u64("seed")?;
        let world = world::World::new(seed).map_err(|error| exception(py, error))?;
        Ok(World {
            guard: Arc::new(Guard::new(world)),
        })
    }

    #[getter]
    fn seed(&self, py: Python<'_>) -> PyResult<u64> {
        self.guard.with(py, |world| Ok(world.seed()))
    }

    #[getter]
    fn now_ns(&self, py: Python<'_>) -> PyResult<u64> {
        self.guard.with(py, |world| Ok(world.now()))
    }

    #[pyo3(signature = (name, device_id, ports, *, cpu_port=None, seed=None, lateness=None))]
    #[allow(clippy::too_many_arguments)]
    fn add_device(
        &self,
        py: Python<'_>,
        name: &str,
        device_id: Whole<'_>,
        ports: &Bound<'_, PyAny>,
        cpu_port: Option<Whole<'_>>,
        seed: Option<Whole<'_>>,
        lateness: Lateness<'_>,
    ) -> PyResult<()> {
        let ports = numbers(ports)?;
        let options = DeviceOptions {
            name,
            device_id: device_id.u64("device_id")?,
            ports: ports
                .iter()
                .map(|port| port.u16("a port"))
                .collect::<PyResult<_>>()?,
            cpu_port: cpu_port.map(|port| port.u16("cpu_port")).transpose()?,
            seed: seed.map(|seed| seed.u64("seed")).transpose()?,
            lateness: crate::arguments::lateness(py, lateness)?,
        };
        self.guard.with(py, |world| world.add_device(&options))
    }

    #[pyo3(signature = (one, other, *, rate=None, delay_ns=None, jitter_ns=None))]
    fn connect(
        &self,
        py: Python<'_>,
        one: (String, Whole<'_>),
        other: (String, Whole<'_>),
        rate: Option<Whole<'_>>,
        delay_ns: Option<Whole<'_>>,
        jitter_ns: Option<Whole<'_>>,
    ) -> PyResult<()> {
        let config = link(
            (rate.as_ref(), "rate"),
            0,
            delay_ns.as_ref(),
            jitter_ns.as_ref(),
        )?;
        let ports = [one.1.u16("a port")?, other.1.u16("a port")?];
        self.guard.with(py, |world| {
            world.connect((&one.0, ports[0]), (&other.0, ports[1]), config)
        })
    }

    #[pyo3(signature = (
        name, mac, address, device, port, *,
        link_rate=None, delay_ns=None, jitter_ns=None, lateness=None,
    ))]
    #[allow(clippy::too_many_arguments)]
    fn add_host(
        &self,
        py: Python<'_>,
        name: &str,
        mac: &str,
        address: &str,
        device: &str,
        port: Whole<'_>,
        link_rate: Option<Whole<'_>>,
        delay_ns: Option<Whole<'_>>,
        jitter_ns: Option<Whole<'_>>,
        lateness: Lateness<'_>,
    ) -> PyResult<()> {
        let options = HostOptions {
            name,
            mac: self::mac(mac)?,
            address: self::address(address)?,
            device,
            port: port.u16("port")?,
            link: link(
                (link_rate.as_ref(), "link_rate"),
                LINK_RATE,
                delay_ns.as_ref(),
                jitter_ns.as_ref(),
            )?,
            lateness: self::lateness(py, lateness)?,
        };
        self.guard.with(py, |world| world.add_host(&options))
    }

    // --- upstream channels -----------------------------------------------------

    #[pyo3(signature = (name, profile, **settings))]
    fn add_channel(
        &self,
        py: Python<'_>,
        name: &str,
        profile: &str,
        settings: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let settings = channels::settings(settings)?;
        let profile = Profile::with_settings(profile, &settings).map_err(PyValueError::new_err)?;
        self.guard
            .with(py, |world| world.add_channel(name, profile))
    }

    fn set_map_traffic(
        &self,
        py: Python<'_>,
        channel: &str,
        message: Whole<'_>,
        element: Whole<'_>,
    ) -> PyResult<()> {
        let each = world::MapTraffic {
            message: message.u32("message")?,
            element: element.u32("element")?,
        };
        self.guard
            .with(py, |world| world.set_map_traffic(channel, each))
    }

    fn grant_port(
        &self,
        py: Python<'_>,
        device: &str,
        port: Whole<'_>,
        primary: Whole<'_>,
    ) -> PyResult<()> {
        let (port, primary) = (port.u16("port")?, primary.u32("primary")?);
        self.guard
            .with(py, |world| world.grant_port(device, port, primary))
    }

    #[pyo3(signature = (
        channel, device, port, queue_id, sid, scheduling_type="best-effort", **values
    ))]
    #[allow(clippy::too_many_arguments)]
    fn add_upstream_flow(
        &self,
        py: Python<'_>,
        channel: &str,
        device: &str,
        port: Whole<'_>,
        queue_id: Whole<'_>,
        sid: Whole<'_>,
        scheduling_type: &str,
        values: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let queue = QueueId {
            port: port.u16("port")?,
            queue_id: queue_id.u32("queue_id")?,
        };
        let flow = channels::service_flow(&sid, scheduling_type, values)?;
        self.guard.with(py, |world| {
            world.add_upstream_flow(channel, device, queue, flow)
        })
    }

    fn remove_upstream_flow(&self, py: Python<'_>, channel: &str, sid: Whole<'_>) -> PyResult<()> {
        let sid = sid.u16("sid")?;
        self.guard
            .with(py, |world| world.remove_upstream_flow(channel, sid))
    }

    #[pyo3(signature = (channel, rate, variation_percent=None))]
    fn set_channel_capacity(
        &self,
        py: Python<'_>,
        channel: &str,
        rate: Option<Whole<'_>>,
        variation_percent: Option<Whole<'_>>,
    ) -> PyResult<()> {
        let capacity = channels::capacity(rate.as_ref(), variation_percent.as_ref())?;
        self.guard
            .with(py, |world| world.set_channel_capacity(channel, capacity))
    }

    fn watch_channel(&self, py: Python<'_>, channel: &str, maps: Whole<'_>) -> PyResult<()> {
        let maps = usize::try_from(maps.u64("maps")?).unwrap_or(usize::MAX);
        self.guard
            .with(py, |world| world.watch_channel(channel, maps))
    }

    fn channel_state<'py>(&self, py: Python<'py>, channel: &str) -> PyResult<Bound<'py, PyBytes>> {
        let state = self.guard.with(py, |world| world.channel_state(channel))?;
        Ok(PyBytes::new(py, &state.encode_to_vec()))
    }

    fn capture_channel(
        &self,
        py: Python<'_>,
        channel: &str,
        path: PathBuf,
        most_bytes: Whole<'_>,
    ) -> PyResult<()> {
        let most = most_bytes.u64("most_bytes")?;
        let file = Box::new(BufWriter::new(File::create(&path)?));
        self.guard
            .with(py, |world| world.capture_channel(channel, file, most))
    }

    fn end_capture(&self, py: Python<'_>, channel: &str) -> PyResult<(u64, u64)> {
        let captured = self.guard.with(py, |world| world.end_capture(channel))?;
        Ok((captured.frames, captured.left_out))
    }

    #[pyo3(signature = (device, path, most_bytes, *, json=false, filter=""))]
    fn trace(
        &self,
        py: Python<'_>,
        device: &str,
        path: PathBuf,
        most_bytes: Whole<'_>,
        json: bool,
        filter: &str,
    ) -> PyResult<()> {
        let most = most_bytes.u64("most_bytes")?;
        let filter: TraceFilter = filter.parse().map_err(PyValueError::new_err)?;
        let file = BufWriter::new(File::create(&path)?);
        let sink: Box<dyn TraceSink + Send> = if json {
            Box::new(JsonTrace::new(file, filter, most))
        } else {
            Box::new(TextTrace::new(file, filter, most))
        };
        self.guard.with(py, |world| world.trace(device, sink))
    }

    fn end_traces(&self, py: Python<'_>) -> PyResult<()> {
        self.guard.with(py, |world| {
            world.end_traces();
            Ok(())
        })
    }

    // --- control ---------------------------------------------------------------

    fn call<'py>(
        &self,
        py: Python<'py>,
        device: &str,
        method: &str,
        request: &Bound<'_, PyBytes>,
    ) -> PyResult<Bound<'py, PyList>> {
        let request = Bytes::copy_from_slice(request.as_bytes());
        let answer = self
            .guard
            .with(py, |world| world.call(device, method, request))?;
        list_of_bytes(py, &answer)
    }

    fn open_stream(&self, py: Python<'_>, device: &str) -> PyResult<Stream> {
        let id = self.guard.with(py, |world| world.open_stream(device))?;
        let guard = Arc::clone(&self.guard);
        Ok(Stream { guard, id })
    }

    fn inject(
        &self,
        py: Python<'_>,
        device: &str,
        port: Whole<'_>,
        frames: Vec<(Whole<'_>, Vec<u8>)>,
    ) -> PyResult<()> {
        let port = port.u16("port")?;
        let frames = frames
            .into_iter()
            .map(|(at, bytes)| Ok((at.u64("a frame's time")?, bytes)))
            .collect::<PyResult<Vec<_>>>()?;
        self.guard
            .with(py, |world| world.inject(device, port, frames))
    }

    fn collect(&self, py: Python<'_>, device: &str, port: Whole<'_>) -> PyResult<()> {
        let port = port.u16("port")?;
        self.guard.with(py, |world| world.collect(device, port))
    }

    fn collected<'py>(
        &self,
        py: Python<'py>,
        device: &str,
        port: Whole<'_>,
    ) -> PyResult<Vec<(u64, Bound<'py, PyBytes>)>> {
        let port = port.u16("port")?;
        let frames = self.guard.with(py, |world| world.collected(device, port))?;
        Ok(frames
            .into_iter()
            .map(|(at, frame)| (at, PyBytes::new(py, &frame)))
            .collect())
    }

    // --- faults ------------------------------------------------------------------

    fn cut_link(&self, py: Python<'_>, device: &str, port: Whole<'_>) -> PyResult<()> {
        faults::set_state(&self.guard, py, device, &port, LinkState::Cut)
    }

    fn hold_link(&self, py: Python<'_>, device: &str, port: Whole<'_>) -> PyResult<()> {
        faults::set_state(&self.guard, py, device, &port, LinkState::Held)
    }

    fn mend_link(&self, py: Python<'_>, device: &str, port: Whole<'_>) -> PyResult<()> {
        faults::set_state(&self.guard, py, device, &port, LinkState::Up)
    }

    #[pyo3(signature = (device, port, *, rate=None, delay_ns=None, jitter_ns=None))]
    fn set_link(
        &self,
        py: Python<'_>,
        device: &str,
        port: Whole<'_>,
        rate: Option<Whole<'_>>,
        delay_ns: Option<Whole<'_>>,
        jitter_ns: Option<Whole<'_>>,
    ) -> PyResult<(u64, u64, u64)> {
        let config = link(
            (rate.as_ref(), "rate"),
            0,
            delay_ns.as_ref(),
            jitter_ns.as_ref(),
        )?;
        let port = port.u16("port")?;
        let before = self
            .guard
            .with(py, |world| world.set_link(device, port, config))?;
        Ok((before.rate, before.delay, before.jitter))
    }

    fn set_host_lateness(
        &self,
        py: Python<'_>,
        host: &str,
        lateness: (Whole<'_>, Whole<'_>),
    ) -> PyResult<()> {
        let lateness = crate::arguments::lateness(py, Some(lateness))?;
        self.guard
            .with(py, |world| world.set_host_lateness(host, lateness))
    }

    fn stop_device(&self, py: Python<'_>, device: &str) -> PyResult<()> {
        self.guard.with(py, |world| world.stop_device(device))
    }

    fn continue_device(&self, py: Python<'_>, device: &str) -> PyResult<()> {
        self.guard.with(py, |world| world.continue_device(device))
    }

    fn kill_device(&self, py: Python<'_>, device: &str) -> PyResult<u64> {
        self.guard.with(py, |world| world.kill_device(device))
    }

    fn start_device(&self, py: Python<'_>, device: &str) -> PyResult<()> {
        self.guard.with(py, |world| world.start_device(device))
    }

    fn books<'py>(&self, py: Python<'py>, device: &str) -> PyResult<Bound<'py, PyDict>> {
        let books = self.guard.with(py, |world| world.books(device))?;
        faults::books(py, books)
    }

    fn take_departures<'py>(&self, py: Python<'py>, device: &str) -> PyResult<Bound<'py, PyDict>> {
        let left = self.guard.with(py, |world| world.take_departures(device))?;
        faults::departures(py, &left)
    }

    // --- traffic -----------------------------------------------------------------

    fn rate_limit(&self, py: Python<'_>, rate: Whole<'_>) -> PyResult<u32> {
        let rate = rate.u64("rate")?;
        let RateLimitId(number) = self.guard.with(py, |world| world.add_rate_limit(rate))?;
        Ok(number)
    }

    #[pyo3(signature = (
        source, destination, port, *,
        start_ns=None, stop_ns=None, size=None, pause_ns=None, kept=false, rate=None,
        shared_limit=None, reply_delay_ns=None, source_port=None, tos=None, one_in=None, **tcp_settings
    ))]
    #[allow(clippy::too_many_arguments)]
    fn tcp_transfer(
        &self,
        py: Python<'_>,
        source: &str,
        destination: &str,
        port: Whole<'_>,
        start_ns: Option<Whole<'_>>,
        stop_ns: Option<Whole<'_>>,
        size: Option<Whole<'_>>,
        pause_ns: Option<Whole<'_>>,
        kept: bool,
        rate: Option<Whole<'_>>,
        shared_limit: Option<Whole<'_>>,
        reply_delay_ns: Option<Whole<'_>>,
        source_port: Option<Whole<'_>>,
        tos: Option<Whole<'_>>,
        one_in: Option<Whole<'_>>,
        tcp_settings: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<u32> {
        let flow = flow(
            (source, destination),
            &port,
            source_port.as_ref(),
            tos.as_ref(),
            one_in.as_ref(),
        )?;
        let options = TransferOptions {
            times: times(start_ns.as_ref(), stop_ns.as_ref())?,
            size: time(size.as_ref(), "size")?,
            pause: time(pause_ns.as_ref(), "pause_ns")?,
            kept,
            rate: time(rate.as_ref(), "rate")?,
            shared_limit: shared_limit
                .map(|number| number.u32("shared_limit").map(RateLimitId))
                .transpose()?,
            reply_delay: or(reply_delay_ns.as_ref(), 0, |v| v.u64("reply_delay_ns"))?,
            tcp: tcp(tcp_settings)?,
        };
        self.guard
            .with(py, |world| world.add_transfer(&flow, &options))
    }

    #[pyo3(signature = (
        source, destination, port, *, size, interval_ns,
        start_ns=None, stop_ns=None, source_port=None, tos=None, one_in=None, **tcp_settings
    ))]
    #[allow(clippy::too_many_arguments)]
    fn messages(
        &self,
        py: Python<'_>,
        source: &str,
        destination: &str,
        port: Whole<'_>,
        size: Whole<'_>,
        interval_ns: Whole<'_>,
        start_ns: Option<Whole<'_>>,
        stop_ns: Option<Whole<'_>>,
        source_port: Option<Whole<'_>>,
        tos: Option<Whole<'_>>,
        one_in: Option<Whole<'_>>,
        tcp_settings: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<u32> {
        let flow = flow(
            (source, destination),
            &port,
            source_port.as_ref(),
            tos.as_ref(),
            one_in.as_ref(),
        )?;
        let options = MessagesOptions {
            times: times(start_ns.as_ref(), stop_ns.as_ref())?,
            size: size.u64("size")?,
            interval: interval_ns.u64("interval_ns")?,
            tcp: tcp(tcp_settings)?,
        };
        self.guard
            .with(py, |world| world.add_messages(&flow, &options))
    }

    #[pyo3(signature = (
        source, destination, port, *, think_ns, request=None, response=None,
        start_ns=None, stop_ns=None, source_port=None, tos=None, **tcp_settings
    ))]
    #[allow(clippy::too_many_arguments)]
    fn requests(
        &self,
        py: Python<'_>,
        source: &str,
        destination: &str,
        port: Whole<'_>,
        think_ns: Whole<'_>,
        request: Option<Whole<'_>>,
        response: Option<Whole<'_>>,
        start_ns: Option<Whole<'_>>,
        stop_ns: Option<Whole<'_>>,
        source_port: Option<Whole<'_>>,
        tos: Option<Whole<'_>>,
        tcp_settings: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<u32> {
        let flow = flow(
            (source, destination),
            &port,
            source_port.as_ref(),
            tos.as_ref(),
            None,
        )?;
        let options = RequestsOptions {
            times: times(start_ns.as_ref(), stop_ns.as_ref())?,
            request: or(request.as_ref(), REQUEST, |v| v.u64("request"))?,
            response: or(response.as_ref(), RESPONSE, |v| v.u64("response"))?,
            think: think_ns.u64("think_ns")?,
            tcp: tcp(tcp_settings)?,
        };
        self.guard
            .with(py, |world| world.add_requests(&flow, &options))
    }

    #[pyo3(signature = (
        source, servers, *, page, html, objects, variation_permille, connections, pause_ns,
        request=None, start_ns=None, stop_ns=None, source_port=None, tos=None, **tcp_settings
    ))]
    #[allow(clippy::too_many_arguments)]
    fn pages(
        &self,
        py: Python<'_>,
        source: &str,
        servers: Vec<Origin<'_>>,
        page: Whole<'_>,
        html: Whole<'_>,
        objects: Whole<'_>,
        variation_permille: Whole<'_>,
        connections: Whole<'_>,
        pause_ns: Whole<'_>,
        request: Option<Whole<'_>>,
        start_ns: Option<Whole<'_>>,
        stop_ns: Option<Whole<'_>>,
        source_port: Option<Whole<'_>>,
        tos: Option<Whole<'_>>,
        tcp_settings: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<u32> {
        let (first, more_servers) = origins(&servers)?;
        let flow = flow(
            (source, &first.0),
            &first.1,
            source_port.as_ref(),
            tos.as_ref(),
            None,
        )?;
        let options = PagesOptions {
            times: times(start_ns.as_ref(), stop_ns.as_ref())?,
            more_servers,
            content: Content::Named(Named {
                page: page.u64("page")?,
                html: html.u64("html")?,
                objects: objects.u32("objects")?,
                variation: variation_permille.u32("variation_permille")?,
                pause: pause_ns.u64("pause_ns")?,
            }),
            connections: connections.u16("connections")?,
            request: or(request.as_ref(), REQUEST, |v| v.u64("request"))?,
            tcp: tcp(tcp_settings)?,
        };
        self.guard
            .with(py, |world| world.add_pages(&flow, &options))
    }

    #[pyo3(signature = (
        source, servers, *, objects, gap_ns, segments, segment_bytes, pause_ns, connections,
        request=None, start_ns=None, stop_ns=None, source_port=None, tos=None, **tcp_settings
    ))]
    #[allow(clippy::too_many_arguments)]
    fn timed_pages(
        &self,
        py: Python<'_>,
        source: &str,
        servers: Vec<Origin<'_>>,
        objects: Law<'_>,
        gap_ns: Law<'_>,
        segments: Law<'_>,
        segment_bytes: Whole<'_>,
        pause_ns: Law<'_>,
        connections: Whole<'_>,
        request: Option<Whole<'_>>,
        start_ns: Option<Whole<'_>>,
        stop_ns: Option<Whole<'_>>,
        source_port: Option<Whole<'_>>,
        tos: Option<Whole<'_>>,
        tcp_settings: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<u32> {
        let (first, more_servers) = origins(&servers)?;
        let flow = flow(
            (source, &first.0),
            &first.1,
            source_port.as_ref(),
            tos.as_ref(),
            None,
        )?;
        let options = PagesOptions {
            times: times(start_ns.as_ref(), stop_ns.as_ref())?,
            more_servers,
            content: Content::Timed(Timed {
                objects: law(&objects, "objects")?,
                gap: law(&gap_ns, "gap_ns")?,
                segments: law(&segments, "segments")?,
                segment: segment_bytes.u64("segment_bytes")?,
                pause: law(&pause_ns, "pause_ns")?,
            }),
            connections: connections.u16("connections")?,
            request: or(request.as_ref(), REQUEST, |v| v.u64("request"))?,
            tcp: tcp(tcp_settings)?,
        };
        self.guard
            .with(py, |world| world.add_pages(&flow, &options))
    }

    #[pyo3(signature = (
        source, destination, port, *, ladder, segment_ns, buffer_ns, safety_permille, samples,
        request=None, start_ns=None, stop_ns=None, source_port=None, tos=None, **tcp_settings
    ))]
    #[allow(clippy::too_many_arguments)]
    fn video(
        &self,
        py: Python<'_>,
        source: &str,
        destination: &str,
        port: Whole<'_>,
        ladder: &Bound<'_, PyAny>,
        segment_ns: Whole<'_>,
        buffer_ns: Whole<'_>,
        safety_permille: Whole<'_>,
        samples: Whole<'_>,
        request: Option<Whole<'_>>,
        start_ns: Option<Whole<'_>>,
        stop_ns: Option<Whole<'_>>,
        source_port: Option<Whole<'_>>,
        tos: Option<Whole<'_>>,
        tcp_settings: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<u32> {
        let flow = flow(
            (source, destination),
            &port,
            source_port.as_ref(),
            tos.as_ref(),
            None,
        )?;
        let ladder = numbers(ladder)?
            .iter()
            .map(|rate| rate.u64("a rate of the ladder"))
            .collect::<PyResult<Vec<u64>>>()?;
        let options = VideoOptions {
            times: times(start_ns.as_ref(), stop_ns.as_ref())?,
            ladder: &ladder,
            segment: segment_ns.u64("segment_ns")?,
            buffer: buffer_ns.u64("buffer_ns")?,
            safety: safety_permille.u32("safety_permille")?,
            samples: samples.u32("samples")?,
            request: or(request.as_ref(), REQUEST, |v| v.u64("request"))?,
            tcp: tcp(tcp_settings)?,
        };
        self.guard
            .with(py, |world| world.add_video(&flow, &options))
    }

    #[pyo3(signature = (
        source, destination, port=None, *,
        count, interval_ns=None, frame_length=None, start_ns=None, source_port=None, tos=None,
    ))]
    #[allow(clippy::too_many_arguments)]
    fn probes(
        &self,
        py: Python<'_>,
        source: &str,
        destination: &str,
        port: Option<Whole<'_>>,
        count: Whole<'_>,
        interval_ns: Option<Whole<'_>>,
        frame_length: Option<Whole<'_>>,
        start_ns: Option<Whole<'_>>,
        source_port: Option<Whole<'_>>,
        tos: Option<Whole<'_>>,
    ) -> PyResult<u32> {
        let flow = Flow {
            port: or(port.as_ref(), 2112, |v| v.u16("port"))?,
            source_port: or(source_port.as_ref(), 0, |v| v.u16("source_port"))?,
            tos: or(tos.as_ref(), 0, |v| v.u8("tos"))?,
            source,
            destination,
            one_in: 0,
        };
        let options = ProbesOptions {
            start: time(start_ns.as_ref(), "start_ns")?,
            interval: or(interval_ns.as_ref(), 20_000_000, |v| v.u64("interval_ns"))?,
            count: count.u32("count")?,
            frame_length: or(frame_length.as_ref(), 218, |v| v.u32("frame_length"))? as usize,
        };
        self.guard
            .with(py, |world| world.add_probes(&flow, &options))
    }

    #[pyo3(signature = (
        source, destination, port, *,
        frame_length=None, reply_length=None, timeout_ns=None,
        start_ns=None, stop_ns=None, source_port=None, tos=None,
    ))]
    #[allow(clippy::too_many_arguments)]
    fn udp_requests(
        &self,
        py: Python<'_>,
        source: &str,
        destination: &str,
        port: Whole<'_>,
        frame_length: Option<Whole<'_>>,
        reply_length: Option<Whole<'_>>,
        timeout_ns: Option<Whole<'_>>,
        start_ns: Option<Whole<'_>>,
        stop_ns: Option<Whole<'_>>,
        source_port: Option<Whole<'_>>,
        tos: Option<Whole<'_>>,
    ) -> PyResult<u32> {
        let flow = flow(
            (source, destination),
            &port,
            source_port.as_ref(),
            tos.as_ref(),
            None,
        )?;
        let length = |given: Option<&Whole<'_>>, name| or(given, 64, |v| v.u32(name));
        let options = RequestResponseOptions {
            times: times(start_ns.as_ref(), stop_ns.as_ref())?,
            timeout: or(timeout_ns.as_ref(), 1_000_000_000, |v| v.u64("timeout_ns"))?,
            frame_lengths: [
                length(frame_length.as_ref(), "frame_length")? as usize,
                length(reply_length.as_ref(), "reply_length")? as usize,
            ],
        };
        self.guard
            .with(py, |world| world.add_request_response(&flow, &options))
    }

    #[pyo3(signature = (
        source, destination, port, *,
        frame_length=None, interval_ns=None, train=None, times_ns=None, on_ns=None, off_ns=None,
        start_ns=None, stop_ns=None, source_port=None, tos=None, one_in=None,
    ))]
    #[allow(clippy::too_many_arguments)]
    fn udp_stream(
        &self,
        py: Python<'_>,
        source: &str,
        destination: &str,
        port: Whole<'_>,
        frame_length: Option<Whole<'_>>,
        interval_ns: Option<Whole<'_>>,
        train: Option<Whole<'_>>,
        times_ns: Option<&Bound<'_, PyAny>>,
        on_ns: Option<Whole<'_>>,
        off_ns: Option<Whole<'_>>,
        start_ns: Option<Whole<'_>>,
        stop_ns: Option<Whole<'_>>,
        source_port: Option<Whole<'_>>,
        tos: Option<Whole<'_>>,
        one_in: Option<Whole<'_>>,
    ) -> PyResult<u32> {
        let flow = flow(
            (source, destination),
            &port,
            source_port.as_ref(),
            tos.as_ref(),
            one_in.as_ref(),
        )?;
        let at = times_ns.map(|times| {
            let times = numbers(times)?;
            times
                .iter()
                .map(|at| at.u64("a time of times_ns"))
                .collect::<PyResult<Vec<u64>>>()
        });
        let options = UdpStreamOptions {
            times: times(start_ns.as_ref(), stop_ns.as_ref())?,
            frame_length: or(frame_length.as_ref(), 1000, |v| v.u32("frame_length"))? as usize,
            interval: or(interval_ns.as_ref(), 0, |v| v.u64("interval_ns"))?,
            train: or(train.as_ref(), 1, |v| v.u32("train"))?,
            on_off: (
                or(on_ns.as_ref(), 0, |v| v.u64("on_ns"))?,
                or(off_ns.as_ref(), 0, |v| v.u64("off_ns"))?,
            ),
            at: at.transpose()?,
        };
        self.guard
            .with(py, |world| world.add_udp_stream(&flow, options))
    }

    // --- time ----------------------------------------------------------------------

    fn run_until(&self, py: Python<'_>, time_ns: Whole<'_>) -> PyResult<()> {
        let time = time_ns.u64("time_ns")?;
        self.guard.with(py, |world| world.run_until(time))
    }

    // --- results ---------------------------------------------------------------------

    fn digest(&self, py: Python<'_>) -> PyResult<String> {
        self.guard
            .with(py, |world| Ok(format!("{:016x}", world.digest())))
    }

    fn totals<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let totals = self.guard.with(py, |world| Ok(world.totals()))?;
        dict(
            py,
            &[
                ("events", totals.events),
                ("sent", totals.sent),
                ("received", totals.received),
                ("link_dropped", totals.link_dropped),
                ("unconnected", totals.unconnected),
                ("lost", totals.lost),
                ("lost_inside", totals.lost_inside),
                ("on_links", totals.on_links),
            ],
        )
    }

    fn host_counters<'py>(&self, py: Python<'py>, host: &str) -> PyResult<Bound<'py, PyDict>> {
        let counters = self.guard.with(py, |world| world.host_counters(host))?;
        dict(
            py,
            &[
                ("sent", counters.sent),
                ("received", counters.received),
                ("unwanted", counters.unwanted),
                ("malformed", counters.malformed),
                ("dropped", counters.dropped),
            ],
        )
    }

    fn received(&self, py: Python<'_>, application: Whole<'_>) -> PyResult<u64> {
        let application = application.u32("application")?;
        let counts = self.guard.with(py, |world| world.counts(application))?;
        Ok(counts.payload)
    }

    fn counts<'py>(&self, py: Python<'py>, application: Whole<'_>) -> PyResult<Bound<'py, PyDict>> {
        let application = application.u32("application")?;
        let counts = self.guard.with(py, |world| world.counts(application))?;
        dict(
            py,
            &[
                ("sent_frames", counts.sent_frames),
                ("sent_bytes", counts.sent_bytes),
                ("received_frames", counts.received_frames),
                ("received_bytes", counts.received_bytes),
                ("payload", counts.payload),
            ],
        )
    }

    fn transfer_info<'py>(
        &self,
        py: Python<'py>,
        application: Whole<'_>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let application = application.u32("application")?;
        let info = self
            .guard
            .with(py, |world| world.transfer_info(application))?;
        let found = dict(
            py,
            &[
                ("cwnd", info.sender.cwnd),
                ("ssthresh", info.sender.ssthresh),
                ("srtt_ns", info.sender.srtt),
                ("rto_ns", info.rto),
                ("in_flight", info.sender.in_flight),
                ("sent_segments", info.sent_segments),
                ("retransmissions", info.sender.retransmissions),
                ("timeouts", info.timeouts),
                ("connections", info.connections),
                ("acknowledged", info.acknowledged),
            ],
        )?;
        found.set_item("state", info.state)?;
        Ok(found)
    }

    fn message_records<'py>(
        &self,
        py: Python<'py>,
        application: Whole<'_>,
    ) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
        let application = application.u32("application")?;
        let [asked, completed] = self
            .guard
            .with(py, |world| world.message_records(application).map(columns))?;
        Ok((PyBytes::new(py, &asked), PyBytes::new(py, &completed)))
    }

    fn page_records<'py>(
        &self,
        py: Python<'py>,
        application: Whole<'_>,
    ) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
        let application = application.u32("application")?;
        let [began, completed] = self
            .guard
            .with(py, |world| world.page_records(application).map(columns))?;
        Ok((PyBytes::new(py, &began), PyBytes::new(py, &completed)))
    }

    fn video_records<'py>(
        &self,
        py: Python<'py>,
        application: Whole<'_>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let application = application.u32("application")?;
        let found = self.guard.with(py, |world| {
            world.video_records(application).map(|of| {
                [
                    ("asked_ns", column(of.asked)),
                    ("came_ns", column(of.came)),
                    ("plays_ns", column(of.plays)),
                    ("rate", column(of.rate)),
                    ("bytes", column(of.bytes)),
                    ("buffered_ns", column(of.buffered)),
                ]
            })
        })?;
        let columns = PyDict::new(py);
        for (name, values) in found {
            columns.set_item(name, PyBytes::new(py, &values))?;
        }
        Ok(columns)
    }

    fn probe_records<'py>(
        &self,
        py: Python<'py>,
        application: Whole<'_>,
    ) -> PyResult<(
        Bound<'py, PyBytes>,
        Bound<'py, PyBytes>,
        Bound<'py, PyBytes>,
    )> {
        let application = application.u32("application")?;
        let [sent, reached, returned] = self
            .guard
            .with(py, |world| world.probe_records(application).map(columns))?;
        let bytes = |column: &[u8]| PyBytes::new(py, column);
        Ok((bytes(&sent), bytes(&reached), bytes(&returned)))
    }

    fn round_trip_records<'py>(
        &self,
        py: Python<'py>,
        application: Whole<'_>,
    ) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
        let application = application.u32("application")?;
        let [asked, answered] = self.guard.with(py, |world| {
            world.round_trip_records(application).map(columns)
        })?;
        Ok((PyBytes::new(py, &asked), PyBytes::new(py, &answered)))
    }

    fn packet_records<'py>(
        &self,
        py: Python<'py>,
        application: Whole<'_>,
    ) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
        let application = application.u32("application")?;
        let [sent, received] = self
            .guard
            .with(py, |world| world.packet_records(application).map(columns))?;
        Ok((PyBytes::new(py, &sent), PyBytes::new(py, &received)))
    }

    fn record_acknowledgements(&self, py: Python<'_>, application: Whole<'_>) -> PyResult<()> {
        let application = application.u32("application")?;
        self.guard
            .with(py, |world| world.record_acknowledgements(application))
    }

    fn acknowledgement_records<'py>(
        &self,
        py: Python<'py>,
        application: Whole<'_>,
    ) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
        let application = application.u32("application")?;
        let [sent, received] = self.guard.with(py, |world| {
            world.acknowledgement_records(application).map(columns)
        })?;
        Ok((PyBytes::new(py, &sent), PyBytes::new(py, &received)))
    }

    fn meter(
        &self,
        py: Python<'_>,
        device: &str,
        port: Whole<'_>,
        interval_ns: Whole<'_>,
    ) -> PyResult<()> {
        let (port, interval) = (port.u16("port")?, interval_ns.u64("interval_ns")?);
        self.guard
            .with(py, |world| world.meter(device, port, interval))
    }

    fn metered<'py>(
        &self,
        py: Python<'py>,
        device: &str,
        port: Whole<'_>,
    ) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
        let port = port.u16("port")?;
        let [times, bytes] = self
            .guard
            .with(py, |world| world.metered(device, port).map(columns))?;
        Ok((PyBytes::new(py, &times), PyBytes::new(py, &bytes)))
    }

    fn sample(
        &self,
        py: Python<'_>,
        applications: &Bound<'_, PyAny>,
        interval_ns: Whole<'_>,
    ) -> PyResult<()> {
        let numbers = numbers(applications)?;
        let applications = numbers
            .iter()
            .map(|number| number.u32("an application"))
            .collect::<PyResult<Vec<u32>>>()?;
        let interval = interval_ns.u64("interval_ns")?;
        self.guard
            .with(py, |world| world.sample(&applications, interval))
    }

    fn samples<'py>(
        &self,
        py: Python<'py>,
        application: Whole<'_>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let application = application.u32("application")?;
        let sampled = self.guard.with(py, |world| {
            let columns = world.samples(application)?.into_iter();
            Ok(columns
                .map(|(name, numbers)| (name, column(numbers)))
                .collect::<Vec<_>>())
        })?;
        let found = PyDict::new(py);
        for (name, column) in sampled {
            found.set_item(name, PyBytes::new(py, &column))?;
        }
        Ok(found)
    }

    /// Panics, for the test of what a panic does.
    fn _panic(&self, py: Python<'_>, words: String) -> PyResult<()> {
        self.guard.with(py, |_| panic!("{words}"))
    }
}
