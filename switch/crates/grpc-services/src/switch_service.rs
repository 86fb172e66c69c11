// SPDX-License-Identifier: Apache-2.0
//! The gRPC service docsis.switch.v1.Switch. The devices tell the counters, and the process around
//! the server tells everything else.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use device::{DeviceCounters, Link, ModelKind, PortState, Traffic, TrafficManagerState};
use tonic::{Request, Response, Status};

use crate::live_traces;
use crate::process::Process;
use crate::proto::docsis::switch::v1 as switch;
use crate::proto::docsis::switch::v1::switch_server::Switch;
use crate::target::Target;
use crate::targets::Targets;
use crate::trace_feed::Feed;

/// Implements the service.
#[derive(Clone, Debug)]
pub struct SwitchService {
    pub targets: Arc<Targets>,
    pub process: Arc<dyn Process>,
    /// How many messages were dropped because clients were slow.
    pub lost: Arc<AtomicU64>,
}

impl SwitchService {
    /// The device with this id, or all devices.
    fn targets_of(&self, device_id: Option<u64>) -> Result<Vec<Arc<Target>>, Status> {
        Ok(match device_id {
            Some(id) => vec![Arc::clone(self.targets.find(id)?)],
            None => self.targets.0.values().cloned().collect(),
        })
    }
}

#[tonic::async_trait]
impl Switch for SwitchService {
    type TraceStream = Feed;

    async fn trace(
        &self,
        request: Request<switch::TraceRequest>,
    ) -> Result<Response<Feed>, Status> {
        let request = request.into_inner();
        let targets = self.targets_of(request.device_id)?;
        let several = self.targets.0.len() > 1;
        let feed = live_traces::begin(targets, request, several).await?;
        Ok(Response::new(feed))
    }

    async fn get_info(
        &self,
        _: Request<switch::GetInfoRequest>,
    ) -> Result<Response<switch::GetInfoResponse>, Status> {
        let mut info = self.process.info();
        // The process may have devices that other servers serve, at other addresses.
        info.devices
            .retain(|device| self.targets.find(device.device_id).is_ok());
        for device in &mut info.devices {
            let target = self.targets.find(device.device_id)?;
            let (model, program, links) = target
                .look(|device, _| {
                    let model = device.config().traffic_manager;
                    let links: Vec<Link> = device.links().collect();
                    let program = device.pipeline().map(|p| Arc::clone(p.program()));
                    (model, program, links)
                })
                .await?;
            device.traffic_manager = match model {
                ModelKind::Docsis => "docsis".into(),
                ModelKind::Bmv2 { .. } => "bmv2".into(),
            };
            device.has_pipeline = program.is_some();
            device.program = program.map(|program| {
                let origin = program.origin();
                switch::ProgramInfo {
                    source: origin.source.clone(),
                    path: self.process.program_file(&program).unwrap_or_default(),
                    compiler: origin.compiler.clone(),
                    format: origin.format.clone(),
                }
            });
            let names = interfaces(device);
            device.ports = links
                .iter()
                .map(|link| switch::PortInfo {
                    port: u32::from(link.port),
                    interface: name(&names, link.port),
                    up: link.up,
                })
                .collect();
        }
        Ok(Response::new(info))
    }

    async fn get_counters(
        &self,
        request: Request<switch::GetCountersRequest>,
    ) -> Result<Response<switch::GetCountersResponse>, Status> {
        let targets = self.targets_of(request.into_inner().device_id)?;
        let info = self.process.info();
        let mut devices = Vec::with_capacity(targets.len());
        for target in targets {
            let id = target.handle.device_id();
            // Names and words are added on this task, so that packets do not wait for that.
            let state = target.look(|device, now| State {
                traffic_manager: device.traffic_manager_state(now),
                counters: *device.counters(),
                links: device.links().collect(),
            });
            let mut counted = counters(&state.await?);
            counted.device_id = id;
            if let Some(device) = info.devices.iter().find(|device| device.device_id == id) {
                let names = interfaces(device);
                for port in &mut counted.ports {
                    port.interface = name(&names, port.port as u16);
                }
            }
            devices.push(counted);
        }
        let server = vec![switch::ServerCounter {
            name: "lost_messages".into(),
            meaning:
                "Packet-ins, digests and idle timeouts that clients lost because they did not \
                 keep up, or because another pipeline came before they were told."
                    .into(),
            count: self.lost.load(Ordering::Relaxed),
        }];
        Ok(Response::new(switch::GetCountersResponse {
            devices,
            server,
        }))
    }

    async fn get_log_level(
        &self,
        _: Request<switch::GetLogLevelRequest>,
    ) -> Result<Response<switch::GetLogLevelResponse>, Status> {
        Ok(Response::new(switch::GetLogLevelResponse {
            level: self.process.log_level().into(),
        }))
    }

    async fn set_log_level(
        &self,
        request: Request<switch::SetLogLevelRequest>,
    ) -> Result<Response<switch::SetLogLevelResponse>, Status> {
        let level = request.into_inner().level;
        match switch::LogLevel::try_from(level) {
            Ok(switch::LogLevel::Unspecified) | Err(_) => {
                return Err(Status::invalid_argument(format!(
                    "level {level} is not a log level"
                )));
            }
            Ok(level) => self
                .process
                .set_log_level(level)
                .map_err(Status::unavailable)?,
        }
        Ok(Response::new(switch::SetLogLevelResponse {}))
    }
}

fn interfaces(device: &switch::DeviceInfo) -> HashMap<u32, String> {
    let ports = device.ports.iter();
    ports
        .map(|port| (port.port, port.interface.clone()))
        .collect()
}

fn name(interfaces: &HashMap<u32, String>, port: u16) -> String {
    let name = interfaces.get(&u32::from(port));
    name.cloned().unwrap_or_default()
}

fn counter(name: &str, meaning: &str, traffic: Traffic) -> switch::Counter {
    switch::Counter {
        name: name.into(),
        meaning: meaning.into(),
        frames: traffic.frames,
        bytes: traffic.bytes,
    }
}

/// The counters of a device.
struct State {
    traffic_manager: TrafficManagerState,
    counters: DeviceCounters,
    links: Vec<Link>,
}

/// Reads all counters of a device.
fn counters(state: &State) -> switch::DeviceCounters {
    let own = state.counters.named();
    let links = &state.links;
    let state = &state.traffic_manager;
    let ports = state.ports.iter().zip(links);
    let flows = state.service_flows.iter().map(|flow| {
        (
            flow.config.queue,
            flow.config.sub_queues,
            vec![
                flow.enqueued,
                flow.dequeued,
                flow.overflow,
                flow.egress_dropped,
                flow.flushed,
                flow.queued,
                flow.reserved,
                flow.suppressed,
            ],
        )
    });
    let packets = state.packet_queues.iter().map(|queue| {
        (
            queue.config.queue,
            0,
            vec![
                queue.enqueued,
                queue.dequeued,
                queue.overflow,
                queue.egress_dropped,
                queue.flushed,
                queue.queued,
            ],
        )
    });
    let queues = flows
        .chain(packets)
        .map(|(queue, sub_queues, counted)| switch::QueueCounters {
            port: u32::from(queue.port),
            queue_id: queue.queue_id,
            sub_queues,
            counters: QUEUE
                .into_iter()
                .zip(counted)
                .map(|((name, meaning), traffic)| counter(name, meaning, traffic))
                .collect(),
        });
    switch::DeviceCounters {
        device_id: 0,
        now_ns: state.now_ns,
        counters: own
            .into_iter()
            .map(|(name, meaning, traffic)| counter(name, meaning, traffic))
            .collect(),
        ports: ports
            .map(|(port, link)| port_counters(port, *link))
            .collect(),
        queues: queues.collect(),
    }
}

/// The counters of a queue, in the order of [`counters`].
const QUEUE: [(&str, &str); 8] = [
    ("enqueued", "Accepted into the queue."),
    ("dequeued", "Left the queue to the port."),
    (
        "overflow",
        "Dropped: the queue was full, or the frame longer than a bucket is deep.",
    ),
    (
        "egress_dropped",
        "Dequeued and then dropped by the egress pipeline.",
    ),
    ("flushed", "Removed with the queue, or by a new pipeline."),
    ("queued", "In the queue now."),
    // Only service flows have these counters.
    (
        "reserved",
        "Not a drop: of dequeued, what was within the Minimum Reserved Traffic Rate.",
    ),
    (
        "suppressed",
        "TCP acknowledgements that a later one made superfluous.",
    ),
];

fn port_counters(state: &PortState, link: Link) -> switch::PortCounters {
    let counters = [
        ("received", "From the wire.", state.received),
        (
            "missed",
            "Dropped by the kernel: came faster than the switch took them; bytes are not known.",
            Traffic {
                frames: link.missed,
                bytes: 0,
            },
        ),
        ("sent", "To the wire.", state.sent),
        (
            "receive_overflow",
            "Dropped: the delay line towards the switch was full.",
            state.receive_overflow,
        ),
        (
            "transmit_overflow",
            "Dropped: the delay line from the switch was full.",
            state.transmit_overflow,
        ),
        (
            "receive_lost",
            "Lost on the link towards the switch, as configured.",
            state.receive_lost,
        ),
        (
            "transmit_lost",
            "Lost on the link from the switch, as configured.",
            state.transmit_lost,
        ),
        (
            "send_failed",
            "Dropped: the interface did not take it.",
            state.send_failed,
        ),
        (
            "queue_overflow",
            "Dropped: the port's own queue (bmv2: one of its queues) was full.",
            state.queue_overflow,
        ),
        (
            "queued",
            "In the port's own queue (bmv2: all its queues) now.",
            state.queued,
        ),
    ];
    switch::PortCounters {
        port: u32::from(link.port),
        interface: String::new(),
        up: link.up,
        link_changes: link.changes,
        counters: counters
            .into_iter()
            .map(|(name, meaning, traffic)| counter(name, meaning, traffic))
            .collect(),
    }
}
