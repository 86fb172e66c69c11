// SPDX-License-Identifier: Apache-2.0
//! A server with one device in this process, and a client of it.

#![allow(dead_code)] // Each test binary uses a part.

use std::path::PathBuf;
use std::sync::mpsc as std_mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use device::handle::{self, Event, EventSender};
use device::{Device, DeviceConfig, Output};
use p4runtime::proto::docsis::tm::v1::traffic_manager_client::TrafficManagerClient;
use p4runtime::proto::google::rpc;
use p4runtime::proto::p4::config::v1::P4Info;
use p4runtime::proto::p4::v1 as p4;
use p4runtime::proto::p4::v1::entity::Entity;
use p4runtime::proto::p4::v1::p4_runtime_client::P4RuntimeClient;
use p4runtime::{ServedDevice, Server};
use prost::Message;
use tokio::sync::{mpsc, oneshot};
use tonic::transport::Channel;
use tonic::{Code, Status, Streaming};

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

/// A server, its device and a client.
pub struct Fixture {
    pub client: P4RuntimeClient<Channel>,
    pub traffic_manager: TrafficManagerClient<Channel>,
    pub channel: Channel,
    /// Frames that left ports, oldest first.
    pub frames: std_mpsc::Receiver<(u16, Vec<u8>)>,
    pub info: P4Info,
    pub address: std::net::SocketAddr,
    shutdown: Option<oneshot::Sender<()>>,
    server: Option<tokio::task::JoinHandle<()>>,
    device: Option<JoinHandle<()>>,
}

pub fn p4_file(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../../p4src/build")
        .join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

pub fn p4info(program: &str) -> P4Info {
    let text = String::from_utf8(p4_file(&format!("{program}.p4info.txtpb"))).unwrap();
    p4runtime::p4info_from_text(&text).unwrap()
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
        let (handle, mut requests, event_sender, events) =
            handle::channel(DEVICE_ID, Some(CPU_PORT), || {});
        let (frames_out, frames) = std_mpsc::channel();
        let device = std::thread::spawn(move || {
            let start = Instant::now();
            let now = || start.elapsed().as_nanos() as u64;
            let mut device = Device::new(DeviceConfig {
                device_id: DEVICE_ID,
                cpu_port: Some(CPU_PORT),
                ..DeviceConfig::default()
            });
            for port in 1..=3 {
                device.add_port(port);
            }
            let mut wires = Wires {
                frames: frames_out,
                events: event_sender,
            };
            while requests.run_blocking(&mut device, now) {
                device.poll(now(), &mut wires);
            }
        });
        let served = ServedDevice {
            handle,
            events,
            pipeline: None,
        };
        let any_port = "127.0.0.1:0".parse().unwrap();
        let server = Server::bind(any_port, vec![served]).await.unwrap();
        let address = server.local_address();
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
            shutdown: Some(shutdown),
            server: Some(server),
            device: Some(device),
        }
    }

    /// A device that runs cm.p4, and the stream of its primary client.
    pub async fn start_cm() -> (Fixture, Stream) {
        let mut fixture = Fixture::start().await;
        let mut stream = fixture.open_stream().await;
        stream.arbitrate(Some(1)).await;
        assert_eq!(stream.arbitration().await.0, Code::Ok);
        fixture
            .set_pipeline(Action::VerifyAndCommit, Some(config("cm")))
            .await
            .unwrap();
        (fixture, stream)
    }

    /// Ends the server and the device.
    pub async fn stop(mut self) {
        self.shutdown.take().unwrap().send(()).unwrap();
        let server = self.server.take().unwrap();
        tokio::time::timeout(PATIENCE, server)
            .await
            .expect("the server ends although a client is connected")
            .unwrap();
        let device = self.device.take().unwrap();
        tokio::task::spawn_blocking(move || device.join().unwrap())
            .await
            .unwrap();
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

    pub fn field(&self, table: &str, field: &str) -> u32 {
        let id = self.table(table);
        let mut tables = self.info.tables.iter();
        let table = tables.find(|table| table.preamble.as_ref().unwrap().id == id);
        let mut fields = table.unwrap().match_fields.iter();
        fields.find(|found| found.name == field).unwrap().id
    }
}

fn by_alias<'a>(
    mut preambles: impl Iterator<Item = &'a p4runtime::proto::p4::config::v1::Preamble>,
    alias: &str,
) -> u32 {
    let found = preambles.find(|preamble| preamble.alias == alias);
    found.unwrap_or_else(|| panic!("P4Info has no {alias}")).id
}

pub use p4::get_forwarding_pipeline_config_request::ResponseType;
pub use p4::set_forwarding_pipeline_config_request::Action;
pub use p4::update::Type;

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
        self.requests.send(message).await.unwrap();
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
