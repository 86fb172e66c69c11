// SPDX-License-Identifier: Apache-2.0
//! The server: binds, serves the devices, and ends.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;
use std::{fmt, io};

use device::DeviceHandle;
use device::events::Events;
use plant::PlantHandle;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use crate::address::ServerAddress;
use crate::budget::Budget;
use crate::connections::{Connections, Listener};
use crate::crew::Crew;
use crate::in_flight::InFlightLayer;
use crate::journal::MaybeJournal;
use crate::options::{Limits, ServerOptions};
use crate::pipeline_config::PipelineConfig;
use crate::process::Process;
use crate::proto::docsis::mac::v1::upstream_channels_server::UpstreamChannelsServer;
use crate::proto::docsis::switch::v1::switch_server::SwitchServer;
use crate::proto::docsis::tm::v1::traffic_manager_server::TrafficManagerServer;
use crate::service::Service;
use crate::switch_service::SwitchService;
use crate::target::{Shared, Target};
use crate::targets::Targets;
use crate::tls::{self, TlsError};
use crate::upstream_channels_service::ChannelsService;
use crate::whole_answers::WholeAnswersLayer;
use crate::wire::rpc::p4_runtime_server::P4RuntimeServer;

/// How long RPCs may take to end after a shutdown.
const GRACE: Duration = Duration::from_secs(1);
/// How many bytes of a request a client may send before the server takes any of them. A control
/// loop's batch fits, so that its client does not have to wait in the middle. These bytes are not
/// charged, so all streams together must not have many of them.
const WINDOW: u32 = 32 << 10;
/// How many bytes of all its requests a client may send on a connection before the server takes any.
///
/// The number also limits short frames. For each frame below 256 bytes that waits, h2 adds up what
/// the frame is short of 256, and it closes the connection when the sum exceeds half of this window.
/// A client that sends each message in a frame of its own must not lose its connection for that. The
/// shortest message that makes sense, the acknowledgement of a digest, has 16 bytes with its prefix.
/// A stream full of these adds up to [`WINDOW`] x (256 / 16 - 1), which is less than half.
const CONNECTION_WINDOW: u32 = 1 << 20;
/// The longest metadata of a request, bytes.
const METADATA: u32 = 8 << 10;
/// The longest request of the services other than P4Runtime, bytes.
const SMALL_MESSAGE: usize = 1 << 20;
/// A connection on which nothing has arrived for this long is pinged, and closed if nothing arrives
/// for as long again. A client that is gone must not stay primary. HTTP/2 pings clients that have begun;
/// until then [`Limits::opening`] applies.
const KEEP_ALIVE: Duration = Duration::from_secs(20);

/// A device to be served.
#[derive(Debug)]
pub struct ServedDevice {
    /// The way to the device's thread.
    pub handle: DeviceHandle,
    /// The packet-ins, digests and idle timeouts that the device sends.
    pub events: Events,
    /// The pipeline that the device runs already; `None` if it has no P4Info. Clients must then set
    /// a pipeline before they read or write.
    pub pipeline: Option<PipelineConfig>,
}

/// The server cannot start, or failed. Displayed as one sentence.
#[derive(Debug)]
pub enum ServerError {
    /// The address cannot be listened on.
    Bind(ServerAddress, io::Error),
    /// Two devices have this device_id.
    DuplicateDevice(u64),
    /// There is no TLS: the certificates or the key cannot be used, or it was not built in.
    Tls(TlsError),
    /// Serving failed.
    Serve(tonic::transport::Error),
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ServerError::Bind(address, error) => {
                write!(f, "cannot listen for gRPC on {address}: ")?;
                match error.kind() {
                    io::ErrorKind::AddrInUse => f.write_str(
                        "another process does; stop it or choose another address with \
                         --grpc-server-addr",
                    ),
                    io::ErrorKind::AddrNotAvailable => f.write_str(
                        "this machine does not have that address; choose another with \
                         --grpc-server-addr",
                    ),
                    io::ErrorKind::PermissionDenied if address.tcp().is_some() => f.write_str(
                        "ports below 1024 are root's; choose another with --grpc-server-addr",
                    ),
                    _ => write!(f, "{error}"),
                }
            }
            ServerError::DuplicateDevice(id) => {
                write!(
                    f,
                    "two devices have device_id {id}: choose another with --device-id"
                )
            }
            ServerError::Tls(error) => error.fmt(f),
            ServerError::Serve(error) => write!(f, "the gRPC server failed: {error}"),
        }
    }
}

impl std::error::Error for ServerError {}

/// All services at one address.
#[derive(Debug)]
pub struct Server {
    builder: tonic::transport::Server,
    limits: Limits,
    process: Option<Arc<dyn Process>>,
    plant: Option<PlantHandle>,
    journal: MaybeJournal,
    lost: Arc<AtomicU64>,
    budget: Arc<Budget>,
    crew: Crew,
    listener: Listener,
    address: ServerAddress,
    targets: Targets,
    events: Vec<(Arc<Target>, Events)>,
}

impl Server {
    /// Starts to listen; clients wait until [`Self::serve`]. Port 0 is any
    /// free port. Needs a tokio runtime with I/O and time.
    ///
    /// # Errors
    /// [`ServerError::Bind`], [`ServerError::DuplicateDevice`].
    pub async fn bind(
        address: ServerAddress,
        devices: Vec<ServedDevice>,
    ) -> Result<Server, ServerError> {
        Server::bind_with(address, devices, &ServerOptions::default()).await
    }

    /// As [`Self::bind`], with TLS or other limits.
    ///
    /// # Errors
    /// Those of [`Self::bind`], and [`ServerError::Tls`].
    pub async fn bind_with(
        address: ServerAddress,
        devices: Vec<ServedDevice>,
        options: &ServerOptions,
    ) -> Result<Server, ServerError> {
        let limits = options.limits;
        let mut builder = tonic::transport::Server::builder()
            .max_concurrent_streams(Some(limits.rpcs_per_connection))
            .timeout(limits.rpc_time)
            .initial_stream_window_size(WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .http2_max_header_list_size(METADATA)
            .http2_keepalive_interval(Some(KEEP_ALIVE))
            .http2_keepalive_timeout(Some(KEEP_ALIVE));
        if let Some(options) = &options.tls {
            builder = tls::secured(builder, options).map_err(ServerError::Tls)?;
        }
        let mut targets = BTreeMap::new();
        let mut events = Vec::new();
        let crew = Crew::new(options.crew.clone());
        let shared = Shared {
            lost: Arc::clone(&options.lost_messages),
            crew: crew.clone(),
            ..Shared::new(limits)
        };
        for device in devices {
            let id = device.handle.device_id();
            let target = Target::new(device.handle, device.pipeline, &shared);
            let target = Arc::new(target);
            if targets.insert(id, Arc::clone(&target)).is_some() {
                return Err(ServerError::DuplicateDevice(id));
            }
            events.push((target, device.events));
        }
        let (listener, address) = Listener::bind(&address)
            .await
            .map_err(|error| ServerError::Bind(address, error))?;
        Ok(Server {
            builder,
            limits,
            process: options.process.clone(),
            plant: options.plant.clone(),
            journal: options.journal.clone(),
            lost: Arc::clone(&options.lost_messages),
            budget: shared.budget,
            crew,
            listener,
            address,
            targets: Targets(targets),
            events,
        })
    }

    /// Where the server listens, with the port that port 0 became.
    #[must_use]
    pub fn local_address(&self) -> &ServerAddress {
        &self.address
    }

    /// Serves until `shutdown` is ready, then ends all streams and returns
    /// within about a second.
    ///
    /// # Errors
    /// [`ServerError::Serve`].
    pub async fn serve(self, shutdown: impl Future<Output = ()>) -> Result<(), ServerError> {
        let (ending, ended) = watch::channel(false);
        // Aborted when dropped.
        let mut pumps = JoinSet::new();
        for (target, mut events) in self.events {
            pumps.spawn(async move {
                while let Some((generation, event)) = events.recv().await {
                    target.event(generation, event).await;
                }
            });
        }
        let targets = Arc::new(self.targets);
        let switch = self.process.map(|process| {
            SwitchServer::new(SwitchService {
                targets: Arc::clone(&targets),
                process,
                lost: self.lost,
            })
        });
        let whole = WholeAnswersLayer::new(self.crew.clone(), self.limits.stall);
        let service = Service {
            targets,
            shutdown: ended.clone(),
            limits: self.limits,
            streams: Arc::new(Semaphore::new(
                self.limits.streams.min(Semaphore::MAX_PERMITS),
            )),
            journal: self.journal,
            crew: self.crew,
        };
        let p4runtime = P4RuntimeServer::new(service.clone())
            .max_decoding_message_size(self.limits.message_bytes)
            .max_encoding_message_size(self.limits.message_bytes);
        let traffic_manager = TrafficManagerServer::new(service)
            .max_decoding_message_size(SMALL_MESSAGE)
            .max_encoding_message_size(self.limits.message_bytes);
        let channels = UpstreamChannelsServer::new(ChannelsService { plant: self.plant })
            .max_decoding_message_size(SMALL_MESSAGE)
            .max_encoding_message_size(self.limits.message_bytes);
        let incoming = Connections::new(self.listener, &self.limits, self.budget);
        let mut wait = ended;
        let builder = self.builder.layer(InFlightLayer {
            message_time: self.limits.rpc_time,
            message_bytes: self.limits.stream_message_bytes,
        });
        let mut builder = builder.layer(whole);
        let serving = builder
            .add_service(p4runtime)
            .add_service(traffic_manager)
            .add_service(channels)
            .add_optional_service(switch)
            .serve_with_incoming_shutdown(incoming, async move {
                let _ = wait.wait_for(|&ended| ended).await;
            });
        tokio::pin!(serving);
        tokio::select! {
            result = &mut serving => return result.map_err(ServerError::Serve),
            () = shutdown => {}
        }
        // Sending fails if there are no streams any more, and then there is nothing to end.
        let _ = ending.send(true);
        match tokio::time::timeout(GRACE, serving).await {
            Ok(result) => result.map_err(ServerError::Serve),
            // A client that keeps its connection open must not keep the switch from ending.
            Err(_) => Ok(()),
        }
    }
}
