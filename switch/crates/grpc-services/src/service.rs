// SPDX-License-Identifier: Apache-2.0
//! The gRPC service p4.v1.P4Runtime.

use std::sync::Arc;

use prost::Message;
use tokio::sync::{Semaphore, watch};
use tonic::{Request, Response, Status, Streaming};

use crate::budget::{Charge, Purpose};
use crate::connections::Client;
use crate::crew::Crew;
use crate::finished::Finished;
use crate::journal::{self, Answer, MaybeJournal, Waiting, encoded};
use crate::options::Limits;
use crate::outbound::{self, Outgoing};
use crate::proto::p4::v1 as p4;
use crate::stream::{self, Session};
use crate::target::{Answers, Asking, Reading};
use crate::targets::Targets;
use crate::wire::rpc::p4_runtime_server::P4Runtime;
use crate::wire::{Encoded, EncodedConfigResponse, ReadRequest, WriteRequest, config_memory};

/// The version of the P4Runtime specification that is implemented.
const API_VERSION: &str = "1.5.0";

/// The paths of the methods that a journal writes down.
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
    /// Becomes true when the server ends, because streams do not end by themselves.
    pub shutdown: watch::Receiver<bool>,
    pub limits: Limits,
    /// Limits how many streams there are.
    pub streams: Arc<Semaphore>,
    /// Writes requests down.
    pub journal: MaybeJournal,
    /// Does the work that takes long.
    pub crew: Crew,
}

/// A request of at most this many bytes is decoded by the thread that receives it, which takes 100
/// us at most.
const SHORT: usize = 8 << 10;

impl Service {
    /// Does the work of a request of so many bytes. A short request is done on the thread that
    /// received it; a long one is done by the crew, one at a time for each connection.
    ///
    /// # Errors
    /// Those of the work; UNAVAILABLE if the server ends.
    async fn work<T: Send + 'static>(
        &self,
        bytes: usize,
        client: Option<&Client>,
        work: impl Future<Output = Result<T, Status>> + Send + 'static,
    ) -> Result<T, Status> {
        if bytes <= SHORT || !self.crew.is_apart() {
            return work.await;
        }
        let turn = match client {
            Some(client) => Some(client.turns.apart.clone().next().await),
            None => None,
        };
        let work = async move {
            let _turn = turn;
            work.await
        };
        self.crew.run(work).await?
    }

    async fn do_read(&self, request: Encoded, client: Option<Client>) -> Result<Reading, Status> {
        let (bytes, targets) = (request.0.len(), Arc::clone(&self.targets));
        let asking = Asking {
            is_apart: bytes > SHORT,
            client: client.clone(),
        };
        let read = async move {
            let request = ReadRequest::decode(request)?;
            let target = targets.find(request.head.device_id)?;
            target.read(&request, asking).await
        };
        self.work(bytes, client.as_ref(), read).await
    }

    /// Decodes a request on a thread of the crew, because that may take long.
    ///
    /// # Errors
    /// INTERNAL if the bytes are no such message, RESOURCE_EXHAUSTED if the message would take too
    /// much memory.
    async fn config_request(
        &self,
        request: Encoded,
        charge: Option<&mut Charge>,
    ) -> Result<p4::SetForwardingPipelineConfigRequest, Status> {
        if let Some(charge) = charge {
            charge.add(config_memory(&request.0))?;
        }
        let decode = move || p4::SetForwardingPipelineConfigRequest::decode(request.0);
        let decoded = self.crew.blocking(decode).await?;
        decoded.map_err(|error| Status::internal(error.to_string()))
    }
}

#[tonic::async_trait]
impl P4Runtime for Service {
    type ReadStream = Answers;
    type StreamChannelStream = Outgoing;

    async fn write(&self, request: Request<Encoded>) -> Result<Response<Encoded>, Status> {
        let client = Client::of_rpc(request.extensions()).cloned();
        let request = request.into_inner();
        let (message, bytes) = (request.0.clone(), request.0.len());
        let targets = Arc::clone(&self.targets);
        let asking = Asking {
            is_apart: bytes > SHORT,
            client: client.clone(),
        };
        let write = async {
            let write = async move {
                let request = WriteRequest::decode(request)?;
                let target = Arc::clone(targets.find(request.head.device_id)?);
                // A write that has begun is finished even if its client goes away.
                Finished::new(async move { target.write(&request, asking).await }).await
            };
            self.work(bytes, client.as_ref(), write).await?;
            // A WriteResponse has no fields.
            Ok(Response::new(Encoded::default()))
        };
        let encode = |response: &Encoded| response.0.clone();
        journal::unary(&self.journal, method::WRITE, || message, encode, write).await
    }

    async fn read(&self, request: Request<Encoded>) -> Result<Response<Self::ReadStream>, Status> {
        let client = Client::of_rpc(request.extensions()).cloned();
        let request = request.into_inner();
        let Some(journal) = &self.journal else {
            let reading = self.do_read(request, client.clone()).await?;
            return Ok(Response::new(Answers::new(reading, &self.crew, client)));
        };
        let waiting = Waiting::asked(journal, method::READ, &request.0);
        match waiting.run(self.do_read(request, client.clone())).await {
            Ok(reading) => {
                let reading = reading.awaited(waiting);
                Ok(Response::new(Answers::new(reading, &self.crew, client)))
            }
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
        request: Request<Encoded>,
    ) -> Result<Response<Encoded>, Status> {
        let client = Client::of_rpc(request.extensions()).cloned();
        let own = client.as_ref();
        let mut charge = own.map(|client| client.account.charge(Purpose::Requests));
        let request = request.into_inner();
        let message = request.0.clone();
        let turn = client.map(|client| client.turns.load);
        let set = async {
            // Only one request of each connection waits for the loader, so that no connection waits
            // behind all requests of another one.
            let turn = match turn {
                Some(turn) => Some(turn.next().await),
                None => None,
            };
            let one = self.crew.load().await;
            let request = self.config_request(request, charge.as_mut()).await?;
            let target = Arc::clone(self.targets.find(request.device_id)?);
            let set = async move {
                let _turns = (turn, one);
                target.set_pipeline(request).await
            };
            Finished::new(set).await?;
            // A SetForwardingPipelineConfigResponse has no fields.
            Ok(Response::new(Encoded::default()))
        };
        let encode = |response: &Encoded| response.0.clone();
        journal::unary(&self.journal, method::SET_PIPELINE, || message, encode, set).await
    }

    async fn get_forwarding_pipeline_config(
        &self,
        request: Request<Encoded>,
    ) -> Result<Response<Encoded>, Status> {
        let client = Client::of_rpc(request.extensions()).cloned();
        let message = request.into_inner().0;
        let asked = message.clone();
        let get = async {
            let request = p4::GetForwardingPipelineConfigRequest::decode(asked)
                .map_err(|error| Status::internal(error.to_string()))?;
            let target = self.targets.find(request.device_id)?;
            let config = target.pipeline(request.response_type()).await;
            let response = EncodedConfigResponse { config };
            let Some(client) = client else {
                return Ok(Response::new(Encoded(encoded(&response))));
            };
            // The answer is charged to the client while it waits for it.
            let mut charge = client.account.charge(Purpose::Answers);
            charge.add(response.encoded_len())?;
            let turn = client.turns.render.next().await;
            let encode = async move {
                let _turn = turn;
                encoded(&response)
            };
            let bytes = self.crew.run(encode).await?;
            Ok(Response::new(Encoded(charge.around(bytes))))
        };
        let encode = |response: &Encoded| response.0.clone();
        journal::unary(&self.journal, method::GET_PIPELINE, || message, encode, get).await
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
        let client = Client::of_rpc(request.extensions());
        let account = client.map(|client| &client.account);
        let (link, outgoing) = outbound::channel(&self.limits, account);
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
