// SPDX-License-Identifier: Apache-2.0
//! How the server is reached, and what it grants its clients at most.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use plant::PlantHandle;
use tokio::runtime::Handle;
use tonic::transport::{Certificate, Identity, ServerTlsConfig};

use crate::journal::MaybeJournal;
use crate::process::Process;

/// Options of a [`Server`](crate::Server). The default is plain HTTP/2, which
/// is fit for loopback, with the default [`Limits`].
#[derive(Clone, Debug, Default)]
pub struct ServerOptions {
    /// TLS; `None` is plain HTTP/2.
    pub tls: Option<TlsOptions>,
    /// What clients may use up.
    pub limits: Limits,
    /// The process, for docsis.switch.v1.Switch; without it that is not served.
    pub process: Option<Arc<dyn Process>>,
    /// What joins the devices, for docsis.mac.v1.UpstreamChannels; without it that is refused.
    pub plant: Option<PlantHandle>,
    /// Writes down what clients ask of the device, of which there is to be one.
    pub journal: MaybeJournal,
    /// Threads for what takes long, so that it holds up no answer; `None`: it is done where the server
    /// runs.
    pub crew: Option<Handle>,
    /// Counts the packet-ins, digests and idle timeouts that clients lost
    /// because they did not keep up; shared with whoever shows it.
    pub lost_messages: Arc<AtomicU64>,
}

/// The server's certificate, and whose certificates clients need. All in PEM.
#[derive(Clone, PartialEq, Eq)]
pub struct TlsOptions {
    /// The certificate chain, the server's own first.
    pub cert: Vec<u8>,
    /// The private key of the first certificate.
    pub key: Vec<u8>,
    /// Clients must show a certificate that one of these signed; `None` lets
    /// any client in.
    pub client_ca: Option<Vec<u8>>,
}

impl std::fmt::Debug for TlsOptions {
    /// Without the key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TlsOptions")
            .field("client_ca", &self.client_ca.is_some())
            .finish_non_exhaustive()
    }
}

/// How long a client may take for TLS's handshake.
const HANDSHAKE: Duration = Duration::from_secs(10);

impl TlsOptions {
    /// Reads the PEM files.
    ///
    /// # Errors
    /// One sentence that names the file.
    pub fn from_files(cert: &Path, key: &Path, client_ca: Option<&Path>) -> Result<Self, String> {
        let read = |what: &str, path: &Path| {
            std::fs::read(path)
                .map_err(|error| format!("cannot read the {what} {}: {error}", path.display()))
        };
        Ok(TlsOptions {
            cert: read("server's certificate", cert)?,
            key: read("server's private key", key)?,
            client_ca: client_ca
                .map(|path| read("client certificate authority", path))
                .transpose()?,
        })
    }

    pub(crate) fn config(&self) -> ServerTlsConfig {
        let config = ServerTlsConfig::new()
            .identity(Identity::from_pem(&self.cert, &self.key))
            .timeout(HANDSHAKE);
        match &self.client_ca {
            Some(ca) => config.client_ca_root(Certificate::from_pem(ca)),
            None => config,
        }
    }
}

/// What clients may use up. What is past a limit is refused in words, mostly
/// with RESOURCE_EXHAUSTED, and changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest message either way, bytes. P4Runtime asks for 4 MiB or
    /// more; pipeline configs are the longest.
    pub message_bytes: usize,
    /// The longest message on a stream, bytes: a packet-out, an arbitration, an acknowledgement.
    pub stream_message_bytes: usize,
    /// Updates in one Write.
    pub updates: usize,
    /// The longest update, or request of a Read, bytes.
    pub update_bytes: usize,
    /// Updates in one Write with DATAPLANE_ATOMIC, or as much work: packets wait
    /// for it.
    pub atomic_updates: usize,
    /// Members of one group, replicas of one group or session, four times the
    /// values of a value set: packets wait while it is written.
    pub members: usize,
    /// How long one Write or Read may hold up packets at a time; so many
    /// clients, so many times.
    pub slice: Duration,
    /// Memory of what undoes one Write with ROLLBACK_ON_ERROR or DATAPLANE_ATOMIC, bytes.
    pub undo_bytes: usize,
    /// Memory of the updates that wait for the COMMIT of a saved pipeline, bytes.
    pub saved_bytes: usize,
    /// Cells that a Write without rollback may write by updates of whole arrays, if these are
    /// several: others wait for their turn meanwhile.
    pub cells: usize,
    /// Requests in one Read.
    pub requests: usize,
    /// Memory of what a connection's client makes the server keep, bytes: its requests that are not
    /// done and what they become, answers that it has not taken. What every connection has for itself,
    pub share: usize,
    /// and what all have together beyond that; one connection gets three quarters of it at most,
    /// in which its longest message is to find room.
    pub pool: usize,
    /// Connections at a time; more are closed at once.
    pub connections: usize,
    /// StreamChannels at a time, over all devices and roles.
    pub streams: usize,
    /// RPCs that one connection may have open.
    pub rpcs_per_connection: u32,
    /// How long a message of a client may take to arrive, and its RPC to run.
    pub rpc_time: Duration,
    /// Messages that wait for a client to read its stream.
    pub queued_messages: usize,
    /// Bytes of memory of such messages.
    pub queued_bytes: usize,
    /// How long a client may leave a full queue alone before its stream ends, and how long it
    /// may take nothing of what it reads before that ends.
    pub stall: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            message_bytes: 24 << 20,
            stream_message_bytes: 64 << 10,
            updates: 1 << 17,
            update_bytes: 256 << 10,
            atomic_updates: 1024,
            members: 4096,
            slice: Duration::from_micros(100),
            undo_bytes: 8 << 20,
            saved_bytes: 8 << 20,
            cells: 4 << 20,
            requests: 1 << 16,
            share: 512 << 10,
            pool: 36 << 20,
            connections: 64,
            streams: 256,
            rpcs_per_connection: 64,
            rpc_time: Duration::from_secs(60),
            queued_messages: 1024,
            queued_bytes: 2 << 20,
            stall: Duration::from_secs(10),
        }
    }
}
