// SPDX-License-Identifier: Apache-2.0
//! A server with one device in this process, and a client of it.

#![allow(dead_code)] // Each test binary uses a part.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc as std_mpsc;
use std::sync::{Arc, OnceLock};
use std::thread::{JoinHandle, Thread};
use std::time::{Duration, Instant};

use device::events::{Event, EventSender};
use device::handle;
use device::{Device, DeviceConfig, DeviceHandle, Output};
use grpc_services::proto::docsis::tm::v1::traffic_manager_client::TrafficManagerClient;
use grpc_services::proto::google::rpc;
use grpc_services::proto::p4::config::v1::P4Info;
use grpc_services::proto::p4::v1 as p4;
use grpc_services::proto::p4::v1::entity::Entity;
use grpc_services::proto::p4::v1::field_match::FieldMatchType;
use grpc_services::proto::p4::v1::p4_runtime_client::P4RuntimeClient;
use grpc_services::{ServedDevice, Server, ServerOptions};
use prost::Message;
use tokio::sync::{mpsc, oneshot};
use tonic::transport::Channel;
use tonic::{Code, Status, Streaming};

pub mod large;

pub const DEVICE_ID: u64 = 1;
pub const CPU_PORT: u16 = 255;
const PATIENCE: Duration = Duration::from_secs(10);

/// What leaves the device.
struct Wires {
    frames: std_mpsc::Sender<(u16, Vec<u8>)>,
    events: EventSender,
}

impl Output for Wires {
    fn transmit(&mut self, _now_ns: u64, port: u16, frame: &[u8], _paced: bool) {
        // A test that does not look at the wires has dropped the other end.
        let _ = self.frames.send((port, frame.to_vec()));
    }

    fn packet_in(&mut self, _now_ns: u64, frame: &[u8]) -> bool {
        self.events.packet_in(frame)
    }

    fn event(&mut self, _now_ns: u64, event: Event) -> bool {
        self.events.send(event)
    }
}

/// How much a device's thread has done, by some measure.
pub type Probe = fn() -> u64;

/// What requests cost a device's thread, by a [`Probe`].
#[derive(Debug, Default)]
pub struct Holds {
    requests: AtomicU64,
    longest: AtomicU64,
}

impl Holds {
    fn note(&self, cost: u64) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.longest.fetch_max(cost, Ordering::Relaxed);
    }

    /// How many requests came since the last call, and what the dearest cost.
    pub fn take(&self) -> (u64, u64) {
        let requests = self.requests.swap(0, Ordering::Relaxed);
        (requests, self.longest.swap(0, Ordering::Relaxed))
    }
}

/// A server, its device and a client.
pub struct Fixture {
    pub client: P4RuntimeClient<Channel>,
    pub traffic_manager: TrafficManagerClient<Channel>,
    pub channel: Channel,
    /// Frames that left ports, oldest first.
    pub frames: std_mpsc::Receiver<(u16, Vec<u8>)>,
    pub info: P4Info,
    pub address: std::net::SocketAddr,
    /// The device, past the server.
    pub handle: DeviceHandle,
    /// What requests cost the devices' threads.
    pub holds: Arc<Holds>,
    shutdown: Option<oneshot::Sender<()>>,
    server: Option<tokio::task::JoinHandle<()>>,
    devices: Vec<TestDevice>,
}

/// A device without sockets, in a thread of its own.
struct TestDevice {
    thread: JoinHandle<()>,
    stop: Arc<AtomicBool>,
}

/// A device's thread looks at the clock that often, at least.
const TICK: Duration = Duration::from_millis(1);

fn start_device(
    device_id: u64,
    frames: std_mpsc::Sender<(u16, Vec<u8>)>,
    probe: Probe,
    holds: Arc<Holds>,
) -> (TestDevice, ServedDevice) {
    let sleeper = Arc::new(OnceLock::<Thread>::new());
    let wake = Arc::clone(&sleeper);
    let (handle, mut requests, events_out, events) =
        handle::channel(device_id, Some(CPU_PORT), move || {
            if let Some(thread) = wake.get() {
                thread.unpark();
            }
        });
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let thread = std::thread::spawn(move || {
        let _ = sleeper.set(std::thread::current());
        let start = Instant::now();
        let now = || start.elapsed().as_nanos() as u64;
        let mut device = Device::new(DeviceConfig {
            device_id,
            cpu_port: Some(CPU_PORT),
            ..DeviceConfig::default()
        });
        for port in 1..=3 {
            device.add_port(port);
        }
        let mut wires = Wires {
            frames,
            events: events_out,
        };
        while !stopped.load(Ordering::Relaxed) {
            loop {
                let before = probe();
                if !requests.run_one(&mut device, now()) {
                    break;
                }
                holds.note(probe() - before);
                device.poll(now(), &mut wires);
            }
            device.poll(now(), &mut wires);
            std::thread::park_timeout(TICK);
        }
    });
    let served = ServedDevice {
        handle,
        events,
        pipeline: None,
    };
    (TestDevice { thread, stop }, served)
}

fn read(path: &std::path::Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

pub fn p4_file(name: &str) -> Vec<u8> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    // The testbed's programs, or one of the small ones of the core's tests.
    let built = root.join("../../../p4src/build").join(name);
    if built.exists() {
        return read(&built);
    }
    read(&root.join("../v1model/tests/programs").join(name))
}

pub fn p4info(program: &str) -> P4Info {
    let text = String::from_utf8(p4_file(&format!("{program}.p4info.txtpb"))).unwrap();
    grpc_services::p4info_from_text(&text).unwrap()
}

pub fn config(program: &str) -> p4::ForwardingPipelineConfig {
    p4::ForwardingPipelineConfig {
        p4info: Some(p4info(program)),
        p4_device_config: p4_file(&format!("{program}.json")).into(),
        cookie: None,
    }
}

impl Fixture {
    /// A device with ports 1 to 3 and no pipeline.
    pub async fn start() -> Fixture {
        Fixture::start_with(&[DEVICE_ID], &ServerOptions::default()).await
    }

    /// Such devices; `handle` and `frames` are the first one's.
    pub async fn start_with(device_ids: &[u64], options: &ServerOptions) -> Fixture {
        Fixture::start_probed(device_ids, options, || 0).await
    }

    /// As [`Fixture::start_with`]; `holds` has what requests cost by the probe.
    pub async fn start_probed(
        device_ids: &[u64],
        options: &ServerOptions,
        probe: Probe,
    ) -> Fixture {
        let (frames_out, frames) = std_mpsc::channel();
        let holds = Arc::new(Holds::default());
        let (devices, served): (Vec<_>, Vec<_>) = device_ids
            .iter()
            .map(|id| start_device(*id, frames_out.clone(), probe, Arc::clone(&holds)))
            .unzip();
        let handle = served[0].handle.clone();
        let any_port = "127.0.0.1:0".parse().unwrap();
        let options = ServerOptions {
            // What is long is done on tasks of its own, as in the switch.
            crew: Some(tokio::runtime::Handle::current()),
            ..options.clone()
        };
        let server = Server::bind_with(any_port, served, &options).await.unwrap();
        let address = server.local_address().tcp().unwrap();
        let (shutdown, stop) = oneshot::channel();
        let server = tokio::spawn(async move {
            let stop = async {
                let _ = stop.await;
            };
            server.serve(stop).await.unwrap();
        });
        let channel = Channel::from_shared(format!("http://{address}"))
            .unwrap()
            .connect()
            .await
            .unwrap();
        Fixture {
            client: P4RuntimeClient::new(channel.clone()).max_decoding_message_size(64 << 20),
            traffic_manager: TrafficManagerClient::new(channel.clone()),
            channel,
            frames,
            info: p4info("cm"),
            address,
            handle,
            holds,
            shutdown: Some(shutdown),
            server: Some(server),
            devices,
        }
    }

    /// A device that runs a program, and the stream of its primary client.
    pub async fn start_program(program: &str) -> (Fixture, Stream) {
        Fixture::start_program_with(program, &ServerOptions::default()).await
    }

    /// As [`Fixture::start_program`], with these options.
    pub async fn start_program_with(program: &str, options: &ServerOptions) -> (Fixture, Stream) {
        let mut fixture = Fixture::start_with(&[DEVICE_ID], options).await;
        fixture.info = p4info(program);
        let mut stream = fixture.open_stream().await;
        stream.arbitrate(Some(1)).await;
        assert_eq!(stream.arbitration().await.0, Code::Ok);
        fixture
            .set_pipeline(Action::VerifyAndCommit, Some(config(program)))
            .await
            .unwrap();
        (fixture, stream)
    }

    /// A frame comes from a port's wire.
    pub async fn receive(&self, port: u16, frame: &[u8]) {
        let frame = frame.to_vec();
        let received = self
            .handle
            .call(move |device, now| device.receive(now, port, &frame));
        received.await.unwrap();
    }

    /// A device that runs cm.p4, and the stream of its primary client.
    pub async fn start_cm() -> (Fixture, Stream) {
        Fixture::start_program("cm").await
    }

    /// Ends the server and the device.
    pub async fn stop(mut self) {
        self.shutdown.take().unwrap().send(()).unwrap();
        let server = self.server.take().unwrap();
        tokio::time::timeout(PATIENCE, server)
            .await
            .expect("the server ends although a client is connected")
            .unwrap();
        for device in self.devices {
            device.stop.store(true, Ordering::Relaxed);
            tokio::task::spawn_blocking(move || device.thread.join().unwrap())
                .await
                .unwrap();
        }
    }

    pub async fn open_stream(&mut self) -> Stream {
        let (requests, outbound) = mpsc::channel(64);
        let outbound = tokio_stream::wrappers::ReceiverStream::new(outbound);
        let inbound = self.client.stream_channel(outbound).await.unwrap();
        Stream {
            requests,
            inbound: inbound.into_inner(),
        }
    }

    pub async fn set_pipeline(
        &mut self,
        action: Action,
        config: Option<p4::ForwardingPipelineConfig>,
    ) -> Result<(), Status> {
        let request = p4::SetForwardingPipelineConfigRequest {
            device_id: DEVICE_ID,
            election_id: election_id(1),
            action: action as i32,
            config,
            ..Default::default()
        };
        let set = self.client.set_forwarding_pipeline_config(request).await;
        set.map(drop)
    }

    pub async fn pipeline(&mut self, fields: ResponseType) -> Option<p4::ForwardingPipelineConfig> {
        let request = p4::GetForwardingPipelineConfigRequest {
            device_id: DEVICE_ID,
            response_type: fields as i32,
        };
        let response = self.client.get_forwarding_pipeline_config(request).await;
        response.unwrap().into_inner().config
    }

    /// Writes one batch with an atomicity.
    pub async fn write_as(
        &mut self,
        atomicity: Atomicity,
        updates: Vec<p4::Update>,
    ) -> Result<(), Status> {
        let request = p4::WriteRequest {
            device_id: DEVICE_ID,
            election_id: election_id(1),
            atomicity: atomicity as i32,
            updates,
            ..Default::default()
        };
        self.client.write(request).await.map(drop)
    }

    pub async fn write(&mut self, updates: Vec<p4::Update>) -> Result<(), Status> {
        let request = p4::WriteRequest {
            device_id: DEVICE_ID,
            election_id: election_id(1),
            updates,
            ..Default::default()
        };
        self.client.write(request).await.map(drop)
    }

    /// Writes one update that fails, and gives its `p4.v1.Error`.
    pub async fn write_fails(&mut self, update: p4::Update) -> (Code, String) {
        let status = self.write(vec![update]).await.unwrap_err();
        errors(&status).remove(0)
    }

    /// All that a client may read, but for what packets count, in an order that
    /// does not depend on what was deleted and brought back.
    pub async fn everything(&mut self) -> Vec<Entity> {
        use p4::packet_replication_engine_entry::Type as Replication;
        let with_resources = p4::TableEntry {
            counter_data: Some(Default::default()),
            meter_config: Some(Default::default()),
            ..Default::default()
        };
        let defaults = p4::TableEntry {
            is_default_action: true,
            ..with_resources.clone()
        };
        let replication = |kind| {
            Entity::PacketReplicationEngineEntry(p4::PacketReplicationEngineEntry {
                r#type: Some(kind),
            })
        };
        let all = vec![
            table_entry(with_resources),
            table_entry(defaults),
            Entity::ActionProfileMember(Default::default()),
            Entity::ActionProfileGroup(Default::default()),
            Entity::CounterEntry(Default::default()),
            Entity::MeterEntry(Default::default()),
            Entity::RegisterEntry(Default::default()),
            Entity::ValueSetEntry(Default::default()),
            Entity::DigestEntry(Default::default()),
            replication(Replication::MulticastGroupEntry(Default::default())),
            replication(Replication::CloneSessionEntry(Default::default())),
        ];
        let mut found = self.read(all).await.unwrap();
        found.sort_by_key(|entity| format!("{entity:?}"));
        found
    }

    pub async fn read(&mut self, entities: Vec<Entity>) -> Result<Vec<Entity>, Status> {
        let entities = entities.into_iter().map(|entity| p4::Entity {
            entity: Some(entity),
        });
        let request = p4::ReadRequest {
            device_id: DEVICE_ID,
            entities: entities.collect(),
            ..Default::default()
        };
        let mut stream = self.client.read(request).await?.into_inner();
        let mut found = Vec::new();
        while let Some(message) = stream.message().await? {
            found.extend(
                message
                    .entities
                    .into_iter()
                    .filter_map(|found| found.entity),
            );
        }
        Ok(found)
    }

    pub fn table(&self, alias: &str) -> u32 {
        let preambles = self
            .info
            .tables
            .iter()
            .map(|x| x.preamble.as_ref().unwrap());
        by_alias(preambles, alias)
    }

    pub fn action(&self, alias: &str) -> u32 {
        let preambles = self
            .info
            .actions
            .iter()
            .map(|x| x.preamble.as_ref().unwrap());
        by_alias(preambles, alias)
    }

    pub fn register(&self, alias: &str) -> u32 {
        let preambles = self
            .info
            .registers
            .iter()
            .map(|x| x.preamble.as_ref().unwrap());
        by_alias(preambles, alias)
    }

    pub fn counter(&self, alias: &str) -> u32 {
        let preambles = self
            .info
            .counters
            .iter()
            .map(|x| x.preamble.as_ref().unwrap());
        by_alias(preambles, alias)
    }

    /// The id of any object.
    pub fn id(&self, alias: &str) -> u32 {
        let info = &self.info;
        let heads = (info.action_profiles.iter().map(|x| &x.preamble))
            .chain(info.meters.iter().map(|x| &x.preamble))
            .chain(info.value_sets.iter().map(|x| &x.preamble))
            .chain(info.digests.iter().map(|x| &x.preamble))
            .chain(info.tables.iter().map(|x| &x.preamble))
            .chain(info.counters.iter().map(|x| &x.preamble))
            .chain(info.registers.iter().map(|x| &x.preamble))
            .chain(info.actions.iter().map(|x| &x.preamble));
        by_alias(heads.map(|head| head.as_ref().unwrap()), alias)
    }

    pub fn field(&self, table: &str, field: &str) -> u32 {
        let id = self.table(table);
        let mut tables = self.info.tables.iter();
        let table = tables.find(|table| table.preamble.as_ref().unwrap().id == id);
        let mut fields = table.unwrap().match_fields.iter();
        fields.find(|found| found.name == field).unwrap().id
    }
}

fn by_alias<'a>(
    mut preambles: impl Iterator<Item = &'a grpc_services::proto::p4::config::v1::Preamble>,
    alias: &str,
) -> u32 {
    let found = preambles.find(|preamble| preamble.alias == alias);
    found.unwrap_or_else(|| panic!("P4Info has no {alias}")).id
}

pub use p4::get_forwarding_pipeline_config_request::ResponseType;
pub use p4::set_forwarding_pipeline_config_request::Action;
pub use p4::update::Type;
pub use p4::write_request::Atomicity;

/// A client's StreamChannel.
pub struct Stream {
    pub requests: mpsc::Sender<p4::StreamMessageRequest>,
    pub inbound: Streaming<p4::StreamMessageResponse>,
}

impl Stream {
    pub async fn send(&self, update: p4::stream_message_request::Update) {
        let message = p4::StreamMessageRequest {
            update: Some(update),
        };
        let sent = tokio::time::timeout(PATIENCE, self.requests.send(message)).await;
        sent.expect("the server takes a message").unwrap();
    }

    pub async fn arbitrate(&self, id: Option<u64>) {
        self.send(p4::stream_message_request::Update::Arbitration(
            p4::MasterArbitrationUpdate {
                device_id: DEVICE_ID,
                election_id: id.and_then(election_id),
                ..Default::default()
            },
        ))
        .await;
    }

    /// The next message.
    pub async fn next(&mut self) -> Result<p4::stream_message_response::Update, Status> {
        let message = tokio::time::timeout(PATIENCE, self.inbound.message()).await;
        let message = message.expect("the server answers")?;
        Ok(message
            .expect("the stream is open")
            .update
            .expect("an update is set"))
    }

    /// The next message, an arbitration: its status and election id.
    pub async fn arbitration(&mut self) -> (Code, Option<u64>) {
        match self.next().await.unwrap() {
            p4::stream_message_response::Update::Arbitration(update) => {
                assert_eq!(update.device_id, DEVICE_ID);
                let code = update.status.unwrap().code;
                (Code::from(code), update.election_id.map(|id| id.low))
            }
            other => panic!("not an arbitration: {other:?}"),
        }
    }
}

pub fn election_id(low: u64) -> Option<p4::Uint128> {
    Some(p4::Uint128 { high: 0, low })
}

pub fn update(kind: Type, entity: Entity) -> p4::Update {
    p4::Update {
        r#type: kind as i32,
        entity: Some(p4::Entity {
            entity: Some(entity),
        }),
    }
}

/// The details of a failed batch: one error for each update.
pub fn errors(status: &Status) -> Vec<(Code, String)> {
    assert_eq!(status.code(), Code::Unknown, "{status:?}");
    let details = rpc::Status::decode(status.details()).unwrap().details;
    let errors = details.iter().map(|any| {
        let error = p4::Error::decode(any.value.as_slice()).unwrap();
        (Code::from(error.canonical_code), error.message)
    });
    errors.collect()
}

pub fn table_entry(entry: p4::TableEntry) -> Entity {
    Entity::TableEntry(Box::new(entry))
}

pub fn register_entry(register_id: u32, index: Option<i64>, value: Option<&[u8]>) -> Entity {
    Entity::RegisterEntry(p4::RegisterEntry {
        register_id,
        index: index.map(|index| p4::Index { index }),
        data: value.map(|value| p4::P4Data {
            data: Some(p4::p4_data::Data::Bitstring(value.to_vec())),
        }),
    })
}

pub fn exact(field_id: u32, value: &[u8]) -> p4::FieldMatch {
    let value = value.to_vec();
    field_match(
        field_id,
        FieldMatchType::Exact(p4::field_match::Exact { value }),
    )
}

pub fn ternary(field_id: u32, value: &[u8], mask: &[u8]) -> p4::FieldMatch {
    let (value, mask) = (value.to_vec(), mask.to_vec());
    let ternary = p4::field_match::Ternary { value, mask };
    field_match(field_id, FieldMatchType::Ternary(ternary))
}

pub fn range(field_id: u32, low: &[u8], high: &[u8]) -> p4::FieldMatch {
    let (low, high) = (low.to_vec(), high.to_vec());
    let range = p4::field_match::Range { low, high };
    field_match(field_id, FieldMatchType::Range(range))
}

pub fn lpm(field_id: u32, value: &[u8], prefix_len: i32) -> p4::FieldMatch {
    let value = value.to_vec();
    let lpm = p4::field_match::Lpm { value, prefix_len };
    field_match(field_id, FieldMatchType::Lpm(lpm))
}

pub fn optional(field_id: u32, value: &[u8]) -> p4::FieldMatch {
    let value = value.to_vec();
    field_match(
        field_id,
        FieldMatchType::Optional(p4::field_match::Optional { value }),
    )
}

fn field_match(field_id: u32, kind: FieldMatchType) -> p4::FieldMatch {
    p4::FieldMatch {
        field_id,
        field_match_type: Some(kind),
    }
}

pub fn bare_action(action_id: u32, params: &[&[u8]]) -> p4::Action {
    let params = params
        .iter()
        .zip(1..)
        .map(|(value, param_id)| p4::action::Param {
            param_id,
            value: value.to_vec(),
        });
    p4::Action {
        action_id,
        params: params.collect(),
    }
}

pub fn action(action_id: u32, params: &[&[u8]]) -> Option<p4::TableAction> {
    table_action(p4::table_action::Type::Action(bare_action(
        action_id, params,
    )))
}

pub fn table_action(kind: p4::table_action::Type) -> Option<p4::TableAction> {
    Some(p4::TableAction { r#type: Some(kind) })
}

pub fn insert(entity: Entity) -> p4::Update {
    update(Type::Insert, entity)
}

pub fn modify(entity: Entity) -> p4::Update {
    update(Type::Modify, entity)
}

pub fn delete(entity: Entity) -> p4::Update {
    update(Type::Delete, entity)
}
