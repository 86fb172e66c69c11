// SPDX-License-Identifier: Apache-2.0
//! The gRPC service p4.v1.P4Runtime.

use std::sync::Arc;

use prost::Message;
use tokio::sync::{Semaphore, watch};
use tonic::{Request, Response, Status, Streaming};

use crate::budget::Account;
use crate::connections::Client;
use crate::finished::Finished;
use crate::journal::{self, Answer, MaybeJournal, Waiting, encoded};
use crate::options::Limits;
use crate::outbound::{self, Outgoing};
use crate::proto::p4::v1 as p4;
use crate::stream::{self, Session};
use crate::target::Reading;
use crate::targets::Targets;
use crate::wire::rpc::p4_runtime_server::P4Runtime;
use crate::wire::{Encoded, ReadRequest, WriteRequest};

/// The version of the P4Runtime specification that is implemented.
const API_VERSION: &str = "1.5.0";

/// Paths of methods that are written down.
pub mod method {
    pub const WRITE: &str = "/p4.v1.P4Runtime/Write";
    pub const READ: &str = "/p4.v1.P4Runtime/Read";
    pub const SET_PIPELINE: &str = "/p4.v1.P4Runtime/SetForwardingPipelineConfig";
    pub const GET_PIPELINE: &str = "/p4.v1.P4Runtime/GetForwardingPipelineConfig";
    pub const CONFIGURE: &str = "/docsis.tm.v1.TrafficManager/Configure";
    pub const GET: &str = "/docsis.tm.v1.TrafficManager/Get";
}

/// Implements the service over the devices.
#[derive(Clone, Debug)]
pub struct Service {
    pub targets: Arc<Targets>,
    /// Becomes true when the server ends: streams do not end by themselves.
    pub shutdown: watch::Receiver<bool>,
    pub limits: Limits,
    /// Places for streams.
    pub streams: Arc<Semaphore>,
    /// Writes requests down.
    pub journal: MaybeJournal,
}

impl Service {
    async fn do_read(
        &self,
        request: Encoded,
        account: Option<Arc<Account>>,
    ) -> Result<Reading, Status> {
        let request = ReadRequest::decode(request)?;
        let target = self.targets.find(request.head.device_id)?;
        target.read(&request, account).await
    }
}

#[tonic::async_trait]
impl P4Runtime for Service {
    type ReadStream = Reading;
    type StreamChannelStream = Outgoing;

    async fn write(&self, request: Request<Encoded>) -> Result<Response<Encoded>, Status> {
        let request = request.into_inner();
        let message = request.0.clone();
        let write = async {
            let request = WriteRequest::decode(request)?;
            let target = Arc::clone(self.targets.find(request.head.device_id)?);
            // Once begun, it is not left half done, whatever becomes of the client.
            Finished::new(async move { target.write(&request).await }).await?;
            // A WriteResponse has no fields.
            Ok(Response::new(Encoded::default()))
        };
        let encode = |response: &Encoded| response.0.clone();
        journal::unary(&self.journal, method::WRITE, || message, encode, write).await
    }

    async fn read(&self, request: Request<Encoded>) -> Result<Response<Self::ReadStream>, Status> {
        let account = Client::account(request.extensions()).cloned();
        let request = request.into_inner();
        let Some(journal) = &self.journal else {
            return self.do_read(request, account).await.map(Response::new);
        };
        let waiting = Waiting::asked(journal, method::READ, &request.0);
        match waiting.run(self.do_read(request, account)).await {
            Ok(reading) => Ok(Response::new(reading.awaited(waiting))),
            Err(status) => {
                let mut answer = Answer::default();
                answer.fail(&status);
                waiting.answered(&answer);
                Err(status)
            }
        }
    }

    async fn set_forwarding_pipeline_config(
        &self,
        request: Request<p4::SetForwardingPipelineConfigRequest>,
    ) -> Result<Response<p4::SetForwardingPipelineConfigResponse>, Status> {
        let request = request.into_inner();
        let message = self.journal.as_ref().map(|_| request.encode_to_vec());
        let set = async {
            let target = Arc::clone(self.targets.find(request.device_id)?);
            Finished::new(async move { target.set_pipeline(request).await }).await?;
            Ok(Response::new(p4::SetForwardingPipelineConfigResponse {}))
        };
        let message = || message.unwrap_or_default().into();
        let (journal, encode) = (&self.journal, encoded);
        journal::unary(journal, method::SET_PIPELINE, message, encode, set).await
    }

    async fn get_forwarding_pipeline_config(
        &self,
        request: Request<p4::GetForwardingPipelineConfigRequest>,
    ) -> Result<Response<p4::GetForwardingPipelineConfigResponse>, Status> {
        let request = request.into_inner();
        let get = async {
            let target = self.targets.find(request.device_id)?;
            let config = target.pipeline(request.response_type()).await;
            Ok(Response::new(p4::GetForwardingPipelineConfigResponse {
                config,
            }))
        };
        let message = || request.encode_to_vec().into();
        let (journal, encode) = (&self.journal, encoded);
        journal::unary(journal, method::GET_PIPELINE, message, encode, get).await
    }

    async fn stream_channel(
        &self,
        request: Request<Streaming<p4::StreamMessageRequest>>,
    ) -> Result<Response<Self::StreamChannelStream>, Status> {
        let Ok(place) = Arc::clone(&self.streams).try_acquire_owned() else {
            return Err(Status::resource_exhausted(format!(
                "{} StreamChannels are open already",
                self.limits.streams
            )));
        };
        let (link, outgoing) = outbound::channel(&self.limits);
        tokio::spawn(stream::serve(
            Arc::clone(&self.targets),
            request.into_inner(),
            Session::new(link, self.journal.clone()),
            self.shutdown.clone(),
            place,
        ));
        Ok(Response::new(outgoing))
    }

    async fn capabilities(
        &self,
        _request: Request<p4::CapabilitiesRequest>,
    ) -> Result<Response<p4::CapabilitiesResponse>, Status> {
        Ok(Response::new(p4::CapabilitiesResponse {
            p4runtime_api_version: API_VERSION.into(),
            experimental: None,
        }))
    }
}
