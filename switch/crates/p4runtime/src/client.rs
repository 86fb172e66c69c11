// SPDX-License-Identifier: Apache-2.0
//! A client as a controller's: the primary of one device. For benchmarks, of
//! this server or another one.

use crate::proto::p4::v1 as p4;
use crate::proto::p4::v1::entity::Entity;
use crate::proto::p4::v1::p4_runtime_client::P4RuntimeClient;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Streaming;
use tonic::transport::Channel;

/// Longest message that is accepted, bytes.
const MESSAGE_BYTES: usize = 256 << 20;
/// Elections are won against anything that a person started.
const ELECTION: u64 = 1 << 32;

/// A connection that may write.
#[derive(Debug)]
pub struct Client {
    rpc: P4RuntimeClient<Channel>,
    device_id: u64,
    // The election ends with the stream.
    _requests: mpsc::Sender<p4::StreamMessageRequest>,
    _replies: Streaming<p4::StreamMessageResponse>,
}

fn sentence(error: &tonic::Status) -> String {
    format!("{:?}: {}", error.code(), error.message())
}

impl Client {
    /// Connects to host:port and becomes the primary of a device.
    ///
    /// # Errors
    /// One sentence: nobody listens there, or another one is primary.
    pub async fn connect(address: &str, device_id: u64) -> Result<Self, String> {
        let mut rpc = P4RuntimeClient::connect(format!("http://{address}"))
            .await
            .map_err(|error| format!("no P4Runtime server at {address}: {error}"))?
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

    /// Reads; returns how many entities came.
    ///
    /// # Errors
    /// What the server said.
    pub async fn read(&mut self, entities: Vec<Entity>) -> Result<usize, String> {
        let request = p4::ReadRequest {
            device_id: self.device_id,
            entities: entities
                .into_iter()
                .map(|entity| p4::Entity {
                    entity: Some(entity),
                })
                .collect(),
            ..Default::default()
        };
        let mut replies = self
            .rpc
            .read(request)
            .await
            .map_err(|error| sentence(&error))?
            .into_inner();
        let mut count = 0;
        while let Some(reply) = replies.message().await.map_err(|error| sentence(&error))? {
            count += reply.entities.len();
        }
        Ok(count)
    }
}
