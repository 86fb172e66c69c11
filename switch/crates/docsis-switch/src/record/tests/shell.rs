// SPDX-License-Identifier: Apache-2.0
//! A device that runs l2.p4 and is recorded, in this thread: frames, requests and lateness as
//! a test says. It uses the recorder as ports and requests do.

use super::super::{Recorder, Recording};
use device::events::EventSender;
use device::handle::{self, Requests};
use device::{Device, DeviceConfig, Event, Output, Traffic};
use grpc_services::in_process::{self, InProcess, InProcessStream};
use grpc_services::proto::docsis::tm::v1 as tm;
use grpc_services::proto::p4::config::v1::P4Info;
use grpc_services::proto::p4::v1 as p4;
use grpc_services::proto::p4::v1::entity::Entity;
use grpc_services::{Limits, ServedDevice, p4info_from_text};
use prost::Message;
use recording::format::Header;
use std::io::Write;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

/// The port that is narrow.
pub const NARROW: u16 = 1;
/// bit/s there.
const RATE: u64 = 20_000_000;
pub const STATIONS: u8 = 40;
const PORTS: [u16; 4] = [1, 2, 3, 4];

struct Wires<'a> {
    recorder: &'a Recorder,
    events: &'a EventSender,
}

impl Output for Wires<'_> {
    fn transmit(&mut self, now_ns: u64, port: u16, frame: &[u8], paced: bool) {
        self.recorder.sent(now_ns, port, frame, paced);
    }

    fn packet_in(&mut self, now_ns: u64, frame: &[u8]) -> bool {
        let taken = self.events.packet_in(frame);
        self.recorder.packet_in(now_ns, frame, taken);
        taken
    }

    fn event(&mut self, now_ns: u64, event: Event) -> bool {
        let hash = Recorder::hash_of(&event);
        let taken = self.events.send(event);
        self.recorder.event(now_ns, hash, taken);
        taken
    }
}

fn built(name: &str) -> Vec<u8> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../p4src/build/bench/");
    std::fs::read(format!("{folder}{name}")).unwrap()
}

fn info() -> &'static P4Info {
    static INFO: OnceLock<P4Info> = OnceLock::new();
    INFO.get_or_init(|| {
        let text = String::from_utf8(built("l2.p4info.txtpb")).unwrap();
        p4info_from_text(&text).unwrap()
    })
}

fn station(number: u8) -> [u8; 6] {
    [2, 0, 0, 0, 0, number]
}

/// A frame for a station, of so many bytes.
pub fn frame(to: u8, length: usize, content: u8) -> Vec<u8> {
    let mut frame = station(to).to_vec();
    frame.extend([2, 0, 0, 0, 1, 1, 0x08, 0x00]);
    frame.resize(length.max(60), content);
    frame
}

fn entry(number: u8, port: u16) -> Entity {
    let actions = info().actions.iter().map(|a| a.preamble.as_ref().unwrap());
    let forward = actions.into_iter().find(|p| p.alias == "forward").unwrap();
    let action = p4::Action {
        action_id: forward.id,
        params: vec![p4::action::Param {
            param_id: 1,
            value: port.to_be_bytes().to_vec(),
        }],
    };
    let exact = p4::field_match::Exact {
        value: station(number).to_vec(),
    };
    Entity::TableEntry(Box::new(p4::TableEntry {
        table_id: info().tables[0].preamble.as_ref().unwrap().id,
        r#match: vec![p4::FieldMatch {
            field_id: 1,
            field_match_type: Some(p4::field_match::FieldMatchType::Exact(exact)),
        }],
        action: Some(p4::TableAction {
            r#type: Some(p4::table_action::Type::Action(action)),
        }),
        ..Default::default()
    }))
}

fn election() -> Option<p4::Uint128> {
    Some(p4::Uint128 { high: 0, low: 1 })
}

fn arbitration() -> Vec<u8> {
    let update = p4::MasterArbitrationUpdate {
        device_id: 1,
        election_id: election(),
        ..Default::default()
    };
    let update = p4::stream_message_request::Update::Arbitration(update);
    let message = p4::StreamMessageRequest {
        update: Some(update),
    };
    message.encode_to_vec()
}

pub struct Shell {
    device: Device,
    requests: Requests,
    events: EventSender,
    recorder: Arc<Recorder>,
    recording: Recording,
    server: InProcess,
    /// The controller's; while it is open that is primary.
    _stream: InProcessStream,
    runtime: Runtime,
    pub clock: u64,
}

impl Shell {
    /// A device that is provisioned, and recorded into `out`.
    pub fn start(out: impl Write + Send + 'static, limit: u64, queue: usize) -> Self {
        let config = DeviceConfig {
            device_id: 1,
            cpu_port: Some(255),
            seed: 7,
            ..DeviceConfig::default()
        };
        let header = Header {
            device_id: 1,
            cpu_port: config.cpu_port,
            drop_port: config.drop_port,
            seed: config.seed,
            lateness_bound: config.lateness_bound,
            ports: PORTS.to_vec(),
            ..Header::default()
        };
        let recording = Recording::begin_in(out, "test".into(), limit, queue, &header).unwrap();
        let recorder = recording.recorder();
        let mut device = Device::new(config);
        PORTS.into_iter().for_each(|port| device.add_port(port));
        let (handle, requests, events, told) = handle::channel(1, config.cpu_port, || {});
        let served = ServedDevice {
            handle,
            events: told,
            pipeline: None,
        };
        // Every request has as many turns as it can.
        let limits = Limits {
            slice: Duration::ZERO,
            ..Limits::default()
        };
        let server = InProcess::with_journal(served, limits, recording.recorder());
        let runtime = Builder::new_current_thread().build().unwrap();
        let mut stream = server.open_stream().unwrap();
        let said = runtime.block_on(stream.send(arbitration().into()));
        said.unwrap();
        let mut shell = Shell {
            device,
            requests,
            events,
            recorder,
            recording,
            server,
            _stream: stream,
            runtime,
            clock: 1_000,
        };
        shell.provision();
        shell
    }

    fn provision(&mut self) {
        use p4::set_forwarding_pipeline_config_request::Action;
        let config = p4::ForwardingPipelineConfig {
            p4info: Some(info().clone()),
            p4_device_config: built("l2.json").into(),
            cookie: None,
        };
        let request = p4::SetForwardingPipelineConfigRequest {
            device_id: 1,
            election_id: election(),
            action: Action::VerifyAndCommit as i32,
            config: Some(config),
            ..Default::default()
        };
        self.ask(
            "/p4.v1.P4Runtime/SetForwardingPipelineConfig",
            request.encode_to_vec(),
        );
        let request = tm::ConfigureRequest {
            device_id: 1,
            ports: vec![tm::PortConfig {
                port: NARROW.into(),
                rate: RATE,
                queue_limit: 20_000,
                ..Default::default()
            }],
            ..Default::default()
        };
        self.ask(
            "/docsis.tm.v1.TrafficManager/Configure",
            request.encode_to_vec(),
        );
        self.write(p4::update::Type::Insert, 0..STATIONS / 2);
    }

    /// What is due by the clock happens.
    fn run_due(&mut self) {
        let Shell {
            device,
            recorder,
            events,
            clock,
            ..
        } = self;
        run_due(device, recorder, events, *clock);
    }

    /// A client asks; each of its turns comes a while after the one before.
    pub fn ask(&mut self, method: &str, message: Vec<u8>) {
        let Shell {
            device,
            requests,
            events,
            recorder,
            server,
            runtime,
            clock,
            ..
        } = self;
        // Any status is an answer.
        let _ = in_process::drive(runtime, server.call(method, message.into()), || {
            *clock += 70_001;
            run_due(device, recorder, events, *clock);
            let has_run = requests.run_one(device, *clock);
            recorder.look_at_drops(device);
            has_run
        });
    }

    /// Writes entries of the table of stations; every third leads to the narrow port.
    pub fn write(&mut self, kind: p4::update::Type, stations: std::ops::Range<u8>) {
        let updates = stations.map(|number| p4::Update {
            r#type: kind as i32,
            entity: Some(p4::Entity {
                entity: Some(entry(number, PORTS[usize::from(number % 3)])),
            }),
        });
        let request = p4::WriteRequest {
            device_id: 1,
            election_id: election(),
            updates: updates.collect(),
            ..Default::default()
        };
        self.ask("/p4.v1.P4Runtime/Write", request.encode_to_vec());
    }

    /// Reads the table of stations.
    pub fn read(&mut self) {
        let entry = p4::TableEntry {
            table_id: info().tables[0].preamble.as_ref().unwrap().id,
            ..Default::default()
        };
        let request = p4::ReadRequest {
            device_id: 1,
            entities: vec![p4::Entity {
                entity: Some(Entity::TableEntry(Box::new(entry))),
            }],
            ..Default::default()
        };
        self.ask("/p4.v1.P4Runtime/Read", request.encode_to_vec());
    }

    /// Gets the traffic manager's state.
    pub fn get(&mut self) {
        let request = tm::GetRequest { device_id: 1 };
        self.ask("/docsis.tm.v1.TrafficManager/Get", request.encode_to_vec());
    }

    /// A frame that came a while ago is delivered.
    pub fn receive(&mut self, behind: u64, port: u16, frame: &[u8]) {
        let stamp = self.clock.saturating_sub(behind);
        let jumps = self.device.lateness().jumps();
        self.device.wake(self.clock, Some(stamp));
        if self.device.lateness().jumps() != jumps {
            self.recorder.jumped(self.clock, Some(stamp));
        }
        let at = stamp.max(self.device.time());
        run_due(&mut self.device, &self.recorder, &self.events, at);
        self.recorder.arrived(at, port, frame);
        self.device.receive(at, port, frame);
        self.recorder.look_at_drops(&self.device);
    }

    /// Time passes, and what is due happens.
    pub fn pause(&mut self, ns: u64) {
        self.clock += ns;
        self.run_due();
    }

    pub fn link(&mut self, port: u16, up: bool) {
        self.device.set_port_up(port, up);
        self.recorder.link(port, up);
    }

    pub fn missed(&mut self, port: u16, frames: u64) {
        self.device.missed(port, frames);
        self.recorder.missed(port, frames);
    }

    /// The interface did not take the frame that left last, if one did.
    pub fn not_sent(&mut self, port: u16) {
        let state = self.device.traffic_manager_state(self.clock);
        let mut ports = state.ports.iter().filter(|p| p.config.port == port);
        if ports.next().is_some_and(|port| port.sent.frames > 0) {
            let failed = Traffic {
                frames: 1,
                bytes: 60,
            };
            self.recorder.not_sent(port, failed);
            self.device.send_failed(port, failed);
        }
    }

    /// The device ends.
    pub fn stop(self) {
        self.recorder.finish(&self.device, self.clock);
        self.recording.close();
    }
}

fn run_due(device: &mut Device, recorder: &Recorder, events: &EventSender, until: u64) {
    let mut wires = Wires { recorder, events };
    while device.step(until, &mut wires) {
        recorder.stepped(until, device);
    }
}
