// SPDX-License-Identifier: Apache-2.0
//! The server without sockets: encoded requests in, encoded responses out. For
//! devices in virtual time, for tests and for the fuzzer.
//!
//! A future of this server waits for the device's end of its requests
//! ([`device::handle::Requests`]). Where one thread has both, [`drive`] runs them
//! in turns.

use std::collections::BTreeMap;
use std::fmt;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use device::events::Events;
use prost::Message;
use tokio::runtime::Runtime;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio_stream::Stream;
use tonic::{Request, Response, Status};

use crate::crew::Crew;
use crate::journal::{Journal, MaybeJournal};
use crate::options::Limits;
use crate::outbound::{self, Outgoing};
use crate::proto::docsis::tm::v1 as tm;
use crate::proto::docsis::tm::v1::traffic_manager_server::TrafficManager;
use crate::proto::p4::v1 as p4;
use crate::server::ServedDevice;
use crate::service::{Service, method};
use crate::stream::Session;
use crate::target::{Epoch, Shared, Target};
use crate::targets::Targets;
use crate::wire::Encoded;
use crate::wire::rpc::p4_runtime_server::P4Runtime;

/// A Read of single cells of registers that answers with the values alone: 64 bits each, in this
/// machine's order of bytes, in the order of the request. A control loop in virtual time uses it,
/// because encoding and decoding thousands of entities would take most of its time.
pub const READ_CELLS: &str = "/p4.v1.P4Runtime/Read.cells";

/// Polls a future of this server, and lets the device do a step whenever the future waits. `step`
/// runs one request of the device, and returns whether there was one.
pub fn drive<T>(
    runtime: &Runtime,
    future: impl Future<Output = T>,
    mut step: impl FnMut() -> bool,
) -> T {
    runtime.block_on(async {
        let mut future = pin!(future);
        std::future::poll_fn(|context| {
            loop {
                if let Poll::Ready(value) = future.as_mut().poll(context) {
                    return Poll::Ready(value);
                }
                if !step() {
                    return Poll::Pending;
                }
            }
        })
        .await
    })
}

/// One device's services.
pub struct InProcess {
    service: Service,
    target: Arc<Target>,
    events: Events,
    _shutdown: watch::Sender<bool>,
}

impl fmt::Debug for InProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("InProcess").field(&self.service).finish()
    }
}

fn decoded<M: Message + Default>(bytes: Bytes) -> Result<Request<M>, Status> {
    let message = M::decode(bytes).map_err(|error| Status::internal(error.to_string()))?;
    Ok(Request::new(message))
}

fn encoded<M: Message>(response: Response<M>) -> Vec<Bytes> {
    vec![response.into_inner().encode_to_vec().into()]
}

impl InProcess {
    /// Serves a device, with this machine's time in what it tells.
    #[must_use]
    pub fn new(device: ServedDevice, limits: Limits) -> Self {
        Self::with_epoch(device, limits, Epoch::Machine, None)
    }

    /// As [`Self::new`], with a journal that writes requests down or replays them.
    #[must_use]
    pub fn with_journal(device: ServedDevice, limits: Limits, journal: Arc<dyn Journal>) -> Self {
        Self::with_epoch(device, limits, Epoch::Machine, Some(journal))
    }

    /// Serves a device whose clients are told the time in `epoch`, nanoseconds.
    #[must_use]
    pub fn in_virtual_time(device: ServedDevice, limits: Limits, epoch: Arc<AtomicI64>) -> Self {
        Self::with_epoch(device, limits, Epoch::Given(epoch), None)
    }

    fn with_epoch(
        device: ServedDevice,
        limits: Limits,
        epoch: Epoch,
        journal: MaybeJournal,
    ) -> Self {
        let id = device.handle.device_id();
        let shared = Shared {
            epoch,
            ..Shared::new(limits)
        };
        let target = Arc::new(Target::new(device.handle, device.pipeline, &shared));
        let (shutdown, ended) = watch::channel(false);
        let streams = limits.streams.min(Semaphore::MAX_PERMITS);
        InProcess {
            service: Service {
                targets: Arc::new(Targets(BTreeMap::from([(id, Arc::clone(&target))]))),
                shutdown: ended,
                limits,
                streams: Arc::new(Semaphore::new(streams)),
                journal,
                crew: Crew::default(),
            },
            target,
            events: device.events,
            _shutdown: shutdown,
        }
    }

    /// Runs a method of p4.v1.P4Runtime or docsis.tm.v1.TrafficManager, given by its
    /// path, with an encoded request. Gives the encoded responses: one, or as many as
    /// the method streams. [`READ_CELLS`] is one more, for callers in this process.
    ///
    /// # Errors
    /// The method's status; INTERNAL when the bytes are no such message, UNIMPLEMENTED
    /// when there is no such method, or it is StreamChannel.
    pub async fn call(&self, path: &str, request: Bytes) -> Result<Vec<Bytes>, Status> {
        let (longest, length) = (self.service.limits.message_bytes, request.len());
        if length > longest {
            return Err(Status::out_of_range(format!(
                "the request has {length} bytes, more than {longest}"
            )));
        }
        let service = &self.service;
        match path {
            method::WRITE => {
                let response = service.write(Request::new(Encoded(request))).await?;
                Ok(vec![response.into_inner().0])
            }
            method::READ => {
                let answers = service.read(Request::new(Encoded(request))).await?;
                let responses = answers.into_inner().here()?;
                responses.map(|response| response.map(|r| r.0)).collect()
            }
            READ_CELLS => {
                let answers = service.read(Request::new(Encoded(request))).await?;
                Ok(vec![answers.into_inner().here()?.cells()?])
            }
            method::SET_PIPELINE => {
                let request = Request::new(Encoded(request));
                let response = service.set_forwarding_pipeline_config(request).await?;
                Ok(vec![response.into_inner().0])
            }
            method::GET_PIPELINE => {
                let request = Request::new(Encoded(request));
                let response = service.get_forwarding_pipeline_config(request).await?;
                Ok(vec![response.into_inner().0])
            }
            "/p4.v1.P4Runtime/Capabilities" => {
                service.capabilities(decoded(request)?).await.map(encoded)
            }
            method::CONFIGURE => {
                let request: Request<tm::ConfigureRequest> = decoded(request)?;
                service.configure(request).await.map(encoded)
            }
            method::GET => {
                let request: Request<tm::GetRequest> = decoded(request)?;
                service.get(request).await.map(encoded)
            }
            "/docsis.tm.v1.TrafficManager/GetLateness" => {
                service.get_lateness(decoded(request)?).await.map(encoded)
            }
            _ => Err(Status::unimplemented(format!(
                "there is no method {path} to call here"
            ))),
        }
    }

    /// Opens a StreamChannel.
    ///
    /// # Errors
    /// RESOURCE_EXHAUSTED: there are as many as the limits allow.
    pub fn open_stream(&self) -> Result<InProcessStream, Status> {
        let limits = &self.service.limits;
        let Ok(place) = Arc::clone(&self.service.streams).try_acquire_owned() else {
            return Err(Status::resource_exhausted(format!(
                "{} StreamChannels are open already",
                limits.streams
            )));
        };
        let (link, outgoing) = outbound::channel(limits, None);
        Ok(InProcessStream {
            targets: Arc::clone(&self.service.targets),
            session: Session::new(link, self.service.journal.clone()),
            outgoing,
            _place: place,
        })
    }

    /// Passes to the streams what the device has sent since the last call.
    pub async fn deliver_events(&mut self) {
        while let Ok((generation, event)) = self.events.try_recv() {
            self.target.event(generation, event).await;
        }
    }
}

/// A StreamChannel. It ends when dropped.
pub struct InProcessStream {
    targets: Arc<Targets>,
    session: Session,
    outgoing: Outgoing,
    _place: OwnedSemaphorePermit,
}

impl fmt::Debug for InProcessStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InProcessStream").finish_non_exhaustive()
    }
}

impl InProcessStream {
    /// Takes an encoded `StreamMessageRequest`.
    ///
    /// # Errors
    /// The status that ends the stream; INTERNAL when the bytes are no such message.
    pub async fn send(&mut self, message: Bytes) -> Result<(), Status> {
        let message: Request<p4::StreamMessageRequest> = decoded(message)?;
        self.session
            .receive(&self.targets, message.into_inner())
            .await?;
        Ok(())
    }

    /// Takes the encoded `StreamMessageResponse`s that are there.
    pub fn receive(&mut self) -> Vec<Bytes> {
        let mut there = Vec::new();
        let mut context = Context::from_waker(Waker::noop());
        while let Poll::Ready(Some(Ok(message))) =
            Pin::new(&mut self.outgoing).poll_next(&mut context)
        {
            there.push(message.encode_to_vec().into());
        }
        there
    }
}

impl Drop for InProcessStream {
    fn drop(&mut self) {
        self.session.end();
    }
}
