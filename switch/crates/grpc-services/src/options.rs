// SPDX-License-Identifier: Apache-2.0
//! How the server is reached, and what it grants its clients at most.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use plant::PlantHandle;
use tokio::runtime::Handle;

use crate::journal::MaybeJournal;
use crate::process::Process;
use crate::tls::TlsOptions;

/// Options of a [`Server`](crate::Server). The default is plain HTTP/2, which
/// is fit for loopback, with the default [`Limits`].
#[derive(Clone, Debug, Default)]
pub struct ServerOptions {
    /// The certificates of TLS; `None` for plain HTTP/2.
    pub tls: Option<TlsOptions>,
    /// How much clients may use up.
    pub limits: Limits,
    /// The process that docsis.switch.v1.Switch is about; without it that service is not there.
    pub process: Option<Arc<dyn Process>>,
    /// The plant that docsis.mac.v1.UpstreamChannels is about; without it that service refuses all
    /// requests.
    pub plant: Option<PlantHandle>,
    /// The journal that writes down what clients ask. With a journal there must be only one device.
    pub journal: MaybeJournal,
    /// The threads that do long work, so that it delays no answer; `None` if the server's own
    /// runtime does it.
    pub crew: Option<Handle>,
    /// Counts the packet-ins, digests and idle timeouts that were dropped because a client did not
    /// keep up, or because another pipeline had taken the place of the one that sent them.
    pub lost_messages: Arc<AtomicU64>,
}

/// How much clients may use up. A request past a limit is refused with a sentence, mostly as
/// RESOURCE_EXHAUSTED, and changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest message either way, bytes. P4Runtime asks for 4 MiB or
    /// more; pipeline configs are the longest.
    pub message_bytes: usize,
    /// The longest message on a stream, bytes: a packet-out, an arbitration, an acknowledgement.
    pub stream_message_bytes: usize,
    /// How many updates one Write may have.
    pub updates: usize,
    /// The longest update, or request of a Read, bytes.
    pub update_bytes: usize,
    /// How much work one Write with DATAPLANE_ATOMIC may be, counted in updates. It is limited
    /// because packets wait for all of it.
    pub atomic_updates: usize,
    /// How many members a group, how many replicas a group or session, and four times how many
    /// values a value set may have. It is limited because packets wait while one is written.
    pub members: usize,
    /// How long one Write or Read may hold up packets at a time. Several clients may do so one
    /// after the other.
    pub slice: Duration,
    /// The memory of the updates that undo one Write with ROLLBACK_ON_ERROR or DATAPLANE_ATOMIC,
    /// bytes.
    pub undo_bytes: usize,
    /// The memory of the updates that wait for the COMMIT of a saved pipeline, bytes.
    pub saved_bytes: usize,
    /// The memory that the entries of a device's pipeline may take, bytes: entries of tables,
    /// members and groups, value sets, multicast groups and clone sessions, all with their
    /// metadata. An update that may add to more than that is refused.
    pub kept_bytes: usize,
    /// How many cells the updates of whole arrays in one Write without rollback may write, if there
    /// are several such updates. It is limited because other requests wait for all of them.
    pub cells: usize,
    /// How many requests one Read may have.
    pub requests: usize,
    /// The memory that each connection's client may always make the server keep, bytes: for its
    /// unfinished requests, what they become, and answers that it has not taken.
    pub share: usize,
    /// The memory that all connections may take together beyond their shares, bytes. One connection
    /// gets at most three quarters of it, so these must hold its longest message.
    pub pool: usize,
    /// How many connections there may be at a time. Further ones are closed at once.
    pub connections: usize,
    /// How long a client may take to begin HTTP/2 on its connection, and with TLS once that is agreed
    /// on.
    pub opening: Duration,
    /// How many StreamChannels there may be at a time, of all devices and roles.
    pub streams: usize,
    /// How many RPCs one connection may have open.
    pub rpcs_per_connection: u32,
    /// How long a client's message may take to arrive, and how long its RPC may run.
    pub rpc_time: Duration,
    /// How many messages may wait for a client to read its stream.
    pub queued_messages: usize,
    /// How many bytes of memory these messages may take.
    pub queued_bytes: usize,
    /// How long a client may leave its queue full before its stream is ended, and how long it may
    /// take nothing of an answer before that is ended.
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
            kept_bytes: 256 << 20,
            cells: 4 << 20,
            requests: 1 << 16,
            share: 512 << 10,
            pool: 36 << 20,
            connections: 64,
            opening: Duration::from_secs(10),
            streams: 256,
            rpcs_per_connection: 64,
            rpc_time: Duration::from_secs(60),
            queued_messages: 1024,
            queued_bytes: 2 << 20,
            stall: Duration::from_secs(10),
        }
    }
}
