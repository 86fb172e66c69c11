// SPDX-License-Identifier: Apache-2.0
//! The gRPC service p4.v1.P4Runtime.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::{Semaphore, watch};
use tonic::{Request, Response, Status, Streaming};

use crate::failure::Failure;
use crate::finished::Finished;
use crate::options::Limits;
use crate::outbound::{self, Outgoing};
use crate::proto::p4::v1 as p4;
use crate::stream;
use crate::target::{Reading, Target};
use crate::wire::rpc::p4_runtime_server::P4Runtime;
use crate::wire::{Encoded, ReadRequest, WriteRequest};

/// The version of the P4Runtime specification that is implemented.
const API_VERSION: &str = "1.5.0";

/// The devices by device_id.
#[derive(Debug)]
pub struct Targets(pub BTreeMap<u64, Arc<Target>>);

impl Targets {
    /// # Errors
    /// NOT_FOUND.
    pub fn find(&self, device_id: u64) -> Result<&Arc<Target>, Failure> {
        self.0.get(&device_id).ok_or_else(|| {
            let known: Vec<_> = self.0.keys().map(u64::to_string).collect();
            Failure::not_found(format!(
                "there is no device {device_id}, this server has {}",
                known.join(", ")
            ))
        })
    }
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
}

#[tonic::async_trait]
impl P4Runtime for Service {
    type ReadStream = Reading;
    type StreamChannelStream = Outgoing;

    async fn write(&self, request: Request<Encoded>) -> Result<Response<Encoded>, Status> {
        let request = WriteRequest::decode(request.into_inner())?;
        let target = Arc::clone(self.targets.find(request.head.device_id)?);
        // Once begun, it is not left half done, whatever becomes of the client.
        Finished::new(async move { target.write(&request).await }).await?;
        // A WriteResponse has no fields.
        Ok(Response::new(Encoded::default()))
    }

    async fn read(&self, request: Request<Encoded>) -> Result<Response<Self::ReadStream>, Status> {
        let request = ReadRequest::decode(request.into_inner())?;
        let target = self.targets.find(request.head.device_id)?;
        let reading = target.read(&request).await?;
        Ok(Response::new(reading))
    }

    async fn set_forwarding_pipeline_config(
        &self,
        request: Request<p4::SetForwardingPipelineConfigRequest>,
    ) -> Result<Response<p4::SetForwardingPipelineConfigResponse>, Status> {
        let request = request.into_inner();
        let target = Arc::clone(self.targets.find(request.device_id)?);
        Finished::new(async move { target.set_pipeline(request).await }).await?;
        Ok(Response::new(p4::SetForwardingPipelineConfigResponse {}))
    }

    async fn get_forwarding_pipeline_config(
        &self,
        request: Request<p4::GetForwardingPipelineConfigRequest>,
    ) -> Result<Response<p4::GetForwardingPipelineConfigResponse>, Status> {
        let request = request.into_inner();
        let target = self.targets.find(request.device_id)?;
        let config = target.pipeline(request.response_type()).await;
        Ok(Response::new(p4::GetForwardingPipelineConfigResponse {
            config,
        }))
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
            link,
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
