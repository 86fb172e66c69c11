// SPDX-License-Identifier: Apache-2.0
//! A client that is the primary of one device, as a controller is. Benchmarks of this server and of
//! others use it. It moves cells of registers between its own arrays and the wire without
//! protobuf's objects, as a controller would whose control loop takes milliseconds.

use bytes::BytesMut;
use prost::Message;

use crate::address::ServerAddress;
use crate::bytestring;
use crate::proto::p4::v1 as p4;
use crate::proto::p4::v1::entity::Entity;
use crate::proto::p4::v1::p4_runtime_client::P4RuntimeClient;
use crate::wire::rpc::p4_runtime_client::P4RuntimeClient as EncodedClient;
use crate::wire::{self, Encoded};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Streaming;
use tonic::transport::{Channel, Endpoint};

/// Longest message that is accepted, bytes.
const MESSAGE_BYTES: usize = 256 << 20;
/// How many bytes of one answer may be on their way to this client.
const WINDOW: u32 = 1 << 20;
/// About how many bytes the update of a cell takes on the wire.
const UPDATE_BYTES: usize = 24;
/// An election id that is higher than that of any client that a person starts.
const ELECTION: u64 = 1 << 32;

/// A connection that may write.
#[derive(Debug)]
pub struct Client {
    rpc: P4RuntimeClient<Channel>,
    encoded: EncodedClient<Channel>,
    device_id: u64,
    // The election ends with the stream.
    _requests: mpsc::Sender<p4::StreamMessageRequest>,
    _replies: Streaming<p4::StreamMessageResponse>,
}

fn sentence(error: &tonic::Status) -> String {
    format!("{:?}: {}", error.code(), error.message())
}

impl Client {
    /// Connects to a server and becomes the primary of a device.
    ///
    /// # Errors
    /// One sentence: nobody listens there, or another one is primary.
    pub async fn connect(address: &ServerAddress, device_id: u64) -> Result<Self, String> {
        let channel = Endpoint::from_shared(address.uri(false))
            .map_err(|error| format!("{address} is no address: {error}"))?
            .initial_stream_window_size(WINDOW)
            .initial_connection_window_size(WINDOW)
            .connect()
            .await
            .map_err(|error| format!("no P4Runtime server at {address}: {error}"))?;
        let encoded = EncodedClient::new(channel.clone())
            .max_decoding_message_size(MESSAGE_BYTES)
            .max_encoding_message_size(MESSAGE_BYTES);
        let mut rpc = P4RuntimeClient::new(channel)
            .max_decoding_message_size(MESSAGE_BYTES)
            .max_encoding_message_size(MESSAGE_BYTES);
        let (requests, outbound) = mpsc::channel(1);
        let update = p4::MasterArbitrationUpdate {
            device_id,
            election_id: Some(Self::election()),
            ..Default::default()
        };
        let request = p4::StreamMessageRequest {
            update: Some(p4::stream_message_request::Update::Arbitration(update)),
        };
        requests
            .send(request)
            .await
            .map_err(|_| "the stream to the server is closed".to_owned())?;
        let mut replies = rpc
            .stream_channel(ReceiverStream::new(outbound))
            .await
            .map_err(|error| sentence(&error))?
            .into_inner();
        let reply = replies.message().await.map_err(|error| sentence(&error))?;
        let status = reply.and_then(|reply| match reply.update {
            Some(p4::stream_message_response::Update::Arbitration(update)) => update.status,
            _ => None,
        });
        match status {
            Some(status) if status.code == 0 => Ok(Self {
                rpc,
                encoded,
                device_id,
                _requests: requests,
                _replies: replies,
            }),
            Some(status) => Err(format!(
                "the server made another primary: {}",
                status.message
            )),
            None => Err("the server did not answer the election".to_owned()),
        }
    }

    fn election() -> p4::Uint128 {
        p4::Uint128 {
            high: 0,
            low: ELECTION,
        }
    }

    /// Pushes a program: its P4Info and what p4c made of it.
    ///
    /// # Errors
    /// What the server said.
    pub async fn push(
        &mut self,
        p4info: crate::proto::p4::config::v1::P4Info,
        program: Vec<u8>,
    ) -> Result<(), String> {
        let request = p4::SetForwardingPipelineConfigRequest {
            device_id: self.device_id,
            election_id: Some(Self::election()),
            action: p4::set_forwarding_pipeline_config_request::Action::VerifyAndCommit as i32,
            config: Some(p4::ForwardingPipelineConfig {
                p4info: Some(p4info),
                p4_device_config: program.into(),
                cookie: None,
            }),
            ..Default::default()
        };
        let reply = self.rpc.set_forwarding_pipeline_config(request).await;
        reply.map(|_| ()).map_err(|error| sentence(&error))
    }

    /// Writes a batch.
    ///
    /// # Errors
    /// What the server said.
    pub async fn write(&mut self, updates: Vec<p4::Update>) -> Result<(), String> {
        let request = p4::WriteRequest {
            device_id: self.device_id,
            election_id: Some(Self::election()),
            updates,
            ..Default::default()
        };
        let reply = self.rpc.write(request).await;
        reply.map(|_| ()).map_err(|error| sentence(&error))
    }

    /// Writes cells of registers in one batch: register id, index, value.
    ///
    /// # Errors
    /// What the server said.
    pub async fn write_cells(
        &mut self,
        cells: impl ExactSizeIterator<Item = (u32, i64, u64)>,
    ) -> Result<(), String> {
        let head = p4::WriteRequest {
            device_id: self.device_id,
            election_id: Some(Self::election()),
            ..Default::default()
        };
        let mut request = BytesMut::with_capacity(64 + cells.len() * UPDATE_BYTES);
        head.encode(&mut request)
            .map_err(|error| error.to_string())?;
        for (register_id, index, value) in cells {
            wire::put_update(&mut request, register_id, index, value.into());
        }
        let reply = self.encoded.write(Encoded(request.freeze())).await;
        reply.map(drop).map_err(|error| sentence(&error))
    }

    /// Reads all cells of registers; gives each cell's register id, index and
    /// value to `out`, the registers in their order.
    ///
    /// # Errors
    /// What the server said, or that it answered something else than cells of
    /// at most 64 bits.
    pub async fn read_cells(
        &mut self,
        registers: &[u32],
        mut out: impl FnMut(u32, i64, u64),
    ) -> Result<(), String> {
        let entities = registers.iter().map(|&register_id| p4::Entity {
            entity: Some(Entity::RegisterEntry(p4::RegisterEntry {
                register_id,
                ..Default::default()
            })),
        });
        let request = p4::ReadRequest {
            device_id: self.device_id,
            entities: entities.collect(),
            ..Default::default()
        };
        let request = Encoded(request.encode_to_vec().into());
        let replies = self.encoded.read(request).await;
        let mut replies = replies.map_err(|error| sentence(&error))?.into_inner();
        while let Some(reply) = replies.message().await.map_err(|error| sentence(&error))? {
            for cell in wire::cells(&reply.0) {
                let cell = cell.ok_or("the server answered what is no cell of a register")?;
                let value = bytestring::decode(cell.bitstring, 64)
                    .map_err(|error| format!("the server's value of a cell {error}"))?;
                out(cell.register_id, cell.index, value as u64);
            }
        }
        Ok(())
    }
}
