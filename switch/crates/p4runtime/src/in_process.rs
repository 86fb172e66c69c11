// SPDX-License-Identifier: Apache-2.0
//! The server without sockets: encoded requests in, statuses out. For tests
//! and the fuzzer.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use prost::Message;
use tokio::sync::{Semaphore, watch};
use tokio_stream::Stream;
use tonic::{Request, Status};

use crate::outbound::{self, Outgoing};
use crate::proto::p4::v1 as p4;
use crate::server::ServedDevice;
use crate::service::{Service, Targets};
use crate::stream::Session;
use crate::target::{Shared, Target};
use crate::wire::Encoded;
use crate::wire::rpc::p4_runtime_server::P4Runtime;

/// One device's services and one open stream.
pub struct InProcess {
    service: Service,
    session: Session,
    outgoing: Outgoing,
    _shutdown: watch::Sender<bool>,
}

fn decoded<M: Message + Default>(bytes: &[u8]) -> Result<M, Status> {
    M::decode(bytes).map_err(|error| Status::internal(error.to_string()))
}

impl InProcess {
    /// Serves a device. Its packet-ins and other events go nowhere.
    #[must_use]
    pub fn new(device: ServedDevice) -> Self {
        let id = device.handle.device_id();
        let shared = Shared::default();
        let limits = shared.limits;
        let target = Arc::new(Target::new(device.handle, device.pipeline, &shared));
        let (shutdown, ended) = watch::channel(false);
        let (link, outgoing) = outbound::channel(&limits);
        InProcess {
            service: Service {
                targets: Arc::new(Targets(BTreeMap::from([(id, target)]))),
                shutdown: ended,
                limits,
                streams: Arc::new(Semaphore::new(1)),
            },
            session: Session::new(link),
            outgoing,
            _shutdown: shutdown,
        }
    }

    /// The RPC Write with an encoded `WriteRequest`.
    ///
    /// # Errors
    /// Its status; INTERNAL when the bytes are no such message.
    pub async fn write(&self, request: &[u8]) -> Result<(), Status> {
        let request = Encoded(Bytes::copy_from_slice(request));
        self.service.write(Request::new(request)).await.map(drop)
    }

    /// The RPC Read with an encoded `ReadRequest`.
    ///
    /// # Errors
    /// Its status; INTERNAL when the bytes are no such message.
    pub async fn read(&self, request: &[u8]) -> Result<(), Status> {
        let request = Encoded(Bytes::copy_from_slice(request));
        self.service.read(Request::new(request)).await.map(drop)
    }

    /// The RPC SetForwardingPipelineConfig with its encoded request.
    ///
    /// # Errors
    /// Its status; INTERNAL when the bytes are no such message.
    pub async fn set_pipeline(&self, request: &[u8]) -> Result<(), Status> {
        let request = decoded::<p4::SetForwardingPipelineConfigRequest>(request)?;
        let set = self
            .service
            .set_forwarding_pipeline_config(Request::new(request));
        set.await.map(drop)
    }

    /// The RPC GetForwardingPipelineConfig with its encoded request.
    ///
    /// # Errors
    /// Its status; INTERNAL when the bytes are no such message.
    pub async fn get_pipeline(&self, request: &[u8]) -> Result<(), Status> {
        let request = decoded::<p4::GetForwardingPipelineConfigRequest>(request)?;
        let get = self
            .service
            .get_forwarding_pipeline_config(Request::new(request));
        get.await.map(drop)
    }

    /// An encoded `StreamMessageRequest` on the stream; gives the answers that
    /// are there by then.
    ///
    /// # Errors
    /// The status that ends the stream; INTERNAL when the bytes are no such message.
    pub async fn stream(&mut self, message: &[u8]) -> Result<usize, Status> {
        let message = decoded::<p4::StreamMessageRequest>(message)?;
        let targets = Arc::clone(&self.service.targets);
        self.session.receive(&targets, message).await?;
        let mut answers = 0;
        let mut context = Context::from_waker(Waker::noop());
        while let Poll::Ready(Some(_)) = Pin::new(&mut self.outgoing).poll_next(&mut context) {
            answers += 1;
        }
        Ok(answers)
    }
}
