// SPDX-License-Identifier: Apache-2.0
//! One device as its clients see it: arbitration, pipeline config, writes and
//! reads. These are closures on the device's thread, each short.

mod events;
mod fetched;
mod pipeline;
mod read;
mod reading;
mod shadow;
mod turn;
mod view;
mod write;

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, AtomicU64};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use device::events::Generation;
use device::{Device, DeviceHandle, LONGEST_FRAME};
use tokio::sync::{OwnedRwLockReadGuard, RwLock};
use tonic::{Code, Status};

use crate::arbitration::{self, Arbiter, ClientId, Heard, Notices};
use crate::budget::{Account, Budget};
use crate::crew::Crew;
use crate::failure::Failure;
use crate::finished::Finished;
use crate::journal::{self, Pace};
use crate::options::Limits;
use crate::order::Order;
use crate::outbound::ClientLink;
use crate::pipeline_config::{PipelineConfig, lock};
use crate::proto::p4::v1 as p4;
use crate::role::Access;
use crate::slice::Slice;
use shadow::Shadow;
use turn::Turn;

pub use reading::{Answers, Reading};
pub use turn::Asking;

/// The state that the devices of a server share.
#[derive(Debug)]
pub struct Shared {
    pub limits: Limits,
    /// The memory that clients may make the server keep.
    pub budget: Arc<Budget>,
    /// How many messages were dropped because clients were slow.
    pub lost: Arc<AtomicU64>,
    /// The clock of the timestamps that clients are told.
    pub epoch: Epoch,
    /// Does the work that takes long.
    pub crew: Crew,
}

impl Shared {
    pub fn new(limits: Limits) -> Self {
        Shared {
            limits,
            budget: Arc::new(Budget::new(&limits)),
            lost: Arc::default(),
            epoch: Epoch::default(),
            crew: Crew::default(),
        }
    }
}

/// The clock of the timestamps in digests and idle timeouts.
#[derive(Clone, Debug, Default)]
pub enum Epoch {
    /// This machine's clock.
    #[default]
    Machine,
    /// Nanoseconds that the owner of a virtual clock sets.
    Given(Arc<AtomicI64>),
}

/// One device.
#[derive(Debug)]
pub struct Target {
    pub handle: DeviceHandle,
    limits: Limits,
    arbiter: Mutex<Arbiter>,
    clients: Mutex<HashMap<ClientId, ClientLink>>,
    /// A change of the pipeline locks this for writing. So it waits for requests that run, and
    /// later ones wait for it. A request that waits for its turn does not hold this lock, or all
    /// that come after a change would wait for all that came before it.
    ///
    /// What takes several of these takes them in this order: its turn ([`Turn`]), the permission of
    /// its role ([`Begun`]), this lock.
    pipelines: RwLock<Pipelines>,
    /// Keeps requests that would disturb each other from running beside each other, because each of
    /// them takes several closures.
    order: Order,
    crew: Crew,
    /// The memory of reads for the device itself, and for clients in this process.
    own: Arc<Account>,
    /// How many packet-ins, digests and idle timeouts were dropped because clients were slow, or
    /// because they came from an earlier pipeline.
    lost: Arc<AtomicU64>,
    epoch: Epoch,
}

#[derive(Debug, Default)]
struct Pipelines {
    /// The pipeline that the device runs.
    active: Option<Arc<PipelineConfig>>,
    /// The generation of its events.
    generation: Generation,
    /// The pipeline that was saved and has not been committed. Reads and writes refer to it.
    saved: Option<Saved>,
}

#[derive(Debug)]
struct Saved {
    config: Arc<PipelineConfig>,
    shadow: Mutex<Shadow>,
}

/// A primary's running request, which ends when this is dropped.
#[derive(Debug)]
struct Begun {
    /// What the role may do; `None` if that is everything.
    access: Option<Arc<Access>>,
    _running: OwnedRwLockReadGuard<()>,
}

fn no_pipeline(device_id: u64) -> Status {
    Status::failed_precondition(format!(
        "device {device_id} has no forwarding pipeline config: call SetForwardingPipelineConfig \
         first"
    ))
}

fn exhausted(words: String) -> Status {
    Status::resource_exhausted(words)
}

impl Target {
    pub fn new(handle: DeviceHandle, pipeline: Option<PipelineConfig>, shared: &Shared) -> Self {
        let arbiter = Arbiter::new(handle.device_id());
        Target {
            handle,
            limits: shared.limits,
            arbiter: Mutex::new(arbiter),
            clients: Mutex::default(),
            pipelines: RwLock::new(Pipelines {
                active: pipeline.map(Arc::new),
                ..Pipelines::default()
            }),
            order: Order::default(),
            crew: shared.crew.clone(),
            own: Account::new(&shared.budget),
            lost: Arc::clone(&shared.lost),
            epoch: shared.epoch.clone(),
        }
    }

    fn device_id(&self) -> u64 {
        self.handle.device_id()
    }

    /// Runs `f` on the device's thread.
    ///
    /// # Errors
    /// UNAVAILABLE: the device has stopped.
    pub async fn call<R, F>(&self, f: F) -> Result<R, Status>
    where
        R: Send + 'static,
        F: FnOnce(&mut Device, u64) -> R + Send + 'static,
    {
        self.call_sliced(None, None, |device, now, _| f(device, now))
            .await
    }

    /// As [`Self::call`], for a long look at the device: `f` runs on the device's own thread.
    ///
    /// # Errors
    /// UNAVAILABLE: the device has stopped.
    pub async fn look<R, F>(&self, f: F) -> Result<R, Status>
    where
        R: Send + 'static,
        F: FnOnce(&Device, u64) -> R + Send + 'static,
    {
        let turn = Some(&mut Turn::of_a_look());
        self.call_sliced(turn, None, |device, now, _| f(device, now))
            .await
    }

    /// Runs `f` on the device's thread with a slice of this length, as one of the closures of a
    /// turn.
    ///
    /// # Errors
    /// UNAVAILABLE: the device has stopped.
    async fn call_sliced<R, F>(
        &self,
        turn: Option<&mut Turn>,
        length: Option<Duration>,
        f: F,
    ) -> Result<R, Status>
    where
        R: Send + 'static,
        F: FnOnce(&mut Device, u64, &mut Slice) -> R + Send + 'static,
    {
        let handle = self.handle.clone();
        let call = journal::current();
        let from_afar = turn.as_ref().is_some_and(|turn| turn.from_afar);
        let first = turn.and_then(|turn| turn.first.take());
        let pace = match (first, &call) {
            (Some(pace), _) => pace,
            (None, Some(call)) => call.turn().await,
            (None, None) => Pace::Clock,
        };
        let run = move |device: &mut Device, now: u64| {
            let mut slice = Slice::paced(length, pace);
            let result = f(device, now, &mut slice);
            if let Some(call) = call {
                call.ran(now, slice.done());
            }
            result
        };
        // If nobody waits any more, a task still receives the answer and drops it, because dropping
        // a large answer on the device's thread would hold up packets.
        let called = async move {
            if from_afar {
                handle.call_from_afar(run).await
            } else {
                handle.call(run).await
            }
        };
        let answer = Finished::new(called).await;
        answer.map_err(|_| Status::unavailable(format!("device {} has stopped", self.device_id())))
    }

    // --- arbitration ---------------------------------------------------------

    /// Handles a client's `MasterArbitrationUpdate`, the first one or a later one.
    ///
    /// # Errors
    /// The status to end its stream with.
    pub async fn arbitrate(
        &self,
        client: ClientId,
        link: &ClientLink,
        role: Option<&str>,
        update: &p4::MasterArbitrationUpdate,
    ) -> Result<(), Failure> {
        let change = {
            // The lock is held until all clients are told, so that none hears of a later change
            // first.
            let mut arbiter = lock(&self.arbiter);
            let heard = arbiter.update(client, role, update)?;
            lock(&self.clients)
                .entry(client)
                .or_insert_with(|| link.clone());
            match heard {
                Heard::Tell(notices) => {
                    self.notify(notices);
                    return Ok(());
                }
                Heard::Change(notices, change) => {
                    self.notify(notices);
                    change
                }
            }
        };
        change.finished().await;
        let mut arbiter = lock(&self.arbiter);
        self.notify(arbiter.settle(&change));
        Ok(())
    }

    /// Removes a client whose stream has ended.
    pub fn disconnect(&self, client: ClientId, role: &str) {
        lock(&self.clients).remove(&client);
        let mut arbiter = lock(&self.arbiter);
        self.notify(arbiter.disconnect(client, role));
    }

    fn notify(&self, notices: Notices) {
        let clients = lock(&self.clients);
        for (client, update) in notices {
            if let Some(link) = clients.get(&client) {
                link.arbitration(update);
            }
        }
    }

    /// Lets a request that changes the device begin, if its client is the primary. Another client
    /// that becomes primary meanwhile waits until the request has ended.
    ///
    /// # Errors
    /// NOT_FOUND or PERMISSION_DENIED, without waiting for other requests.
    fn begin(&self, role: &str, election_id: Option<&p4::Uint128>) -> Result<Begun, Status> {
        // The arbiter stays locked, so that nobody becomes primary in between.
        let arbiter = lock(&self.arbiter);
        let permit = arbiter.authorize(role, election_id)?;
        // It is taken only if an earlier client of the role is still about to become primary.
        let running = permit.running.try_read_owned();
        let running = running.map_err(|_| arbitration::is_changing())?;
        Ok(Begun {
            access: permit.access,
            _running: running,
        })
    }

    // --- packet-out and acknowledgements -------------------------------------

    /// Sends a client's packet-out.
    ///
    /// # Errors
    /// The reason why it was dropped.
    pub async fn packet_out(
        &self,
        client: ClientId,
        role: &str,
        packet: &p4::PacketOut,
    ) -> Result<(), Failure> {
        let pipelines = self.pipelines.read().await;
        if !lock(&self.arbiter).is_primary(client, role) {
            return Err(Failure::denied(
                "only the primary client may send packet-outs",
            ));
        }
        let precondition = |words: String| Failure::new(Code::FailedPrecondition, words);
        let device_id = self.device_id();
        let Some(active) = &pipelines.active else {
            return Err(precondition(no_pipeline(device_id).message().to_owned()));
        };
        if self.handle.cpu_port().is_none() {
            return Err(precondition(format!(
                "device {device_id} has no CPU port: start the switch with --cpu-port"
            )));
        }
        let bytes = active.schema.packet_out.pack(packet)?;
        if bytes.len() > LONGEST_FRAME {
            // As of an interface: packets that wait take no more memory than is promised.
            return Err(Failure::invalid(format!(
                "a packet-out of {} bytes, header included, was dropped: the switch takes \
                 {LONGEST_FRAME} at most",
                bytes.len()
            )));
        }
        let sent = self.call(move |device, now| device.packet_out(now, &bytes));
        Ok(sent.await?)
    }

    /// Handles a client's acknowledgement of a list of digests. A list for which the device does
    /// not wait is no error, because the acknowledgement may have come too late.
    ///
    /// # Errors
    /// The client is not the primary, or there is no such digest.
    pub async fn acknowledge(
        &self,
        client: ClientId,
        role: &str,
        ack: &p4::DigestListAck,
    ) -> Result<(), Failure> {
        let pipelines = self.pipelines.read().await;
        if !lock(&self.arbiter).is_primary(client, role) {
            return Err(Failure::denied(
                "only the primary client may acknowledge digests",
            ));
        }
        let active = pipelines.active.as_ref();
        let digest = active.and_then(|active| active.schema.digests.get(ack.digest_id));
        let digest = digest.ok_or_else(|| {
            Failure::invalid(format!("there is no digest with id {}", ack.digest_id))
        })?;
        let (id, list_id) = (digest.digest, ack.list_id);
        let _ = self
            .call(move |device, now| device.ack_digest(now, id, list_id))
            .await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
