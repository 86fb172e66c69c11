// SPDX-License-Identifier: Apache-2.0
//! The server: binds, serves the devices, and ends.

use std::collections::BTreeMap;
use std::future::Future;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};

use device::DeviceHandle;
use device::handle::PacketIns;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tonic::transport::server::TcpIncoming;

use crate::pipeline_config::PipelineConfig;
use crate::proto::docsis::tm::v1::traffic_manager_server::TrafficManagerServer;
use crate::proto::p4::v1::p4_runtime_server::P4RuntimeServer;
use crate::service::{Service, Targets};
use crate::target::Target;

/// Where the server listens unless told otherwise: on loopback, P4Runtime's port.
pub const DEFAULT_ADDRESS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 9559);
/// The longest message either way, bytes: a pipeline config is the longest.
const MAX_MESSAGE: usize = 64 << 20;
/// RPCs that one connection may have open.
const MAX_RPCS: u32 = 256;
/// How long RPCs may take to end after a shutdown.
const GRACE: Duration = Duration::from_secs(1);
/// A connection without a sign of life for that long is asked for one, and
/// closed after as long again: its client is no primary any more.
const KEEP_ALIVE: Duration = Duration::from_secs(20);

/// A device to be served.
#[derive(Debug)]
pub struct ServedDevice {
    /// The way to the device's thread.
    pub handle: DeviceHandle,
    /// What the device's CPU port sends.
    pub packet_ins: PacketIns,
    /// What the device runs already; `None` when that has no P4Info, and then
    /// clients must set a pipeline before they read or write.
    pub pipeline: Option<PipelineConfig>,
}

/// The server cannot start, or failed. Displayed as one sentence.
#[derive(Debug)]
pub enum ServerError {
    /// The address cannot be listened on.
    Bind(SocketAddr, io::Error),
    /// Two devices have this device_id.
    DuplicateDevice(u64),
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
                    io::ErrorKind::PermissionDenied => f.write_str(
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
            ServerError::Serve(error) => write!(f, "the gRPC server failed: {error}"),
        }
    }
}

impl std::error::Error for ServerError {}

/// P4Runtime and the traffic manager's service on one address.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    targets: Targets,
    packet_ins: Vec<(Arc<Target>, PacketIns)>,
}

impl Server {
    /// Starts to listen; clients wait until [`Self::serve`]. Port 0 is any
    /// free port. Needs a tokio runtime with I/O and time.
    ///
    /// # Errors
    /// [`ServerError::Bind`], [`ServerError::DuplicateDevice`].
    pub async fn bind(
        address: SocketAddr,
        devices: Vec<ServedDevice>,
    ) -> Result<Server, ServerError> {
        let bind = |error| ServerError::Bind(address, error);
        let mut targets = BTreeMap::new();
        let mut packet_ins = Vec::new();
        for device in devices {
            let id = device.handle.device_id();
            let target = Arc::new(Target::new(device.handle, device.pipeline));
            if targets.insert(id, Arc::clone(&target)).is_some() {
                return Err(ServerError::DuplicateDevice(id));
            }
            packet_ins.push((target, device.packet_ins));
        }
        let listener = TcpListener::bind(address).await.map_err(bind)?;
        let address = listener.local_addr().map_err(bind)?;
        Ok(Server {
            listener,
            address,
            targets: Targets(targets),
            packet_ins,
        })
    }

    /// Where the server listens, with the port that port 0 became.
    #[must_use]
    pub fn local_address(&self) -> SocketAddr {
        self.address
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
        for (target, mut packet_ins) in self.packet_ins {
            pumps.spawn(async move {
                while let Some(frame) = packet_ins.recv().await {
                    target.packet_in(frame).await;
                }
            });
        }
        let service = Service {
            targets: Arc::new(self.targets),
            shutdown: ended.clone(),
        };
        let p4runtime = P4RuntimeServer::new(service.clone())
            .max_decoding_message_size(MAX_MESSAGE)
            .max_encoding_message_size(MAX_MESSAGE);
        let traffic_manager = TrafficManagerServer::new(service)
            .max_decoding_message_size(MAX_MESSAGE)
            .max_encoding_message_size(MAX_MESSAGE);
        let incoming = TcpIncoming::from(self.listener).with_nodelay(Some(true));
        let mut wait = ended;
        let serving = tonic::transport::Server::builder()
            .max_concurrent_streams(Some(MAX_RPCS))
            .http2_keepalive_interval(Some(KEEP_ALIVE))
            .http2_keepalive_timeout(Some(KEEP_ALIVE))
            .add_service(p4runtime)
            .add_service(traffic_manager)
            .serve_with_incoming_shutdown(incoming, async move {
                let _ = wait.wait_for(|&ended| ended).await;
            });
        tokio::pin!(serving);
        tokio::select! {
            result = &mut serving => return result.map_err(ServerError::Serve),
            () = shutdown => {}
        }
        // Nobody listens any more where all streams are gone.
        let _ = ending.send(true);
        match tokio::time::timeout(GRACE, serving).await {
            Ok(result) => result.map_err(ServerError::Serve),
            // A client that keeps its connection open does not hold the switch.
            Err(_) => Ok(()),
        }
    }
}
