// SPDX-License-Identifier: Apache-2.0
//! One device as its clients see it: arbitration, pipeline config, writes and
//! reads. Writes and reads are one closure each on the device's thread.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use device::{Device, DeviceHandle};
use tokio::sync::{Notify, RwLock, mpsc};
use tonic::{Code, Status};
use v1model::Pipeline;

use crate::arbitration::{Arbiter, ClientId, Notices};
use crate::failure::{Failure, batch_status};
use crate::pipeline_config::{PipelineConfig, lock};
use crate::proto::p4::v1 as p4;
use crate::read::{self, Answer, Query};
use crate::write::{self, Op};

/// Messages that may wait for a client to read them.
pub const OUTBOUND: usize = 1024;
/// Places in that queue that packet-ins leave to arbitration and errors.
const RESERVED: usize = 64;
/// Entities in one message of a read: far below the 4 MiB that clients take.
const ENTITIES_PER_MESSAGE: usize = 4096;

/// What the server sends on a stream.
pub type Outbound = Result<p4::StreamMessageResponse, Status>;

/// The way to one client's stream.
#[derive(Clone, Debug)]
pub struct ClientLink {
    pub outbound: mpsc::Sender<Outbound>,
    /// Ends the stream of a client that does not read.
    pub evict: Arc<Notify>,
}

/// One device.
#[derive(Debug)]
pub struct Target {
    pub handle: DeviceHandle,
    arbiter: Mutex<Arbiter>,
    clients: Mutex<HashMap<ClientId, ClientLink>>,
    /// Written while a pipeline or a primary changes: that waits for writes
    /// that have started, and later ones wait for it.
    pipelines: RwLock<Pipelines>,
}

#[derive(Debug, Default)]
struct Pipelines {
    /// What the device runs.
    active: Option<Arc<PipelineConfig>>,
    /// Saved and not yet committed: reads and writes refer to it.
    saved: Option<Saved>,
}

#[derive(Debug)]
struct Saved {
    config: Arc<PipelineConfig>,
    shadow: Mutex<Shadow>,
}

/// The state that a saved pipeline will have.
#[derive(Debug)]
struct Shadow {
    pipeline: Pipeline,
    /// The updates that made it, to be replayed in the device.
    updates: Vec<Op>,
}

fn no_pipeline(device_id: u64) -> Status {
    Status::failed_precondition(format!(
        "device {device_id} has no forwarding pipeline config: call SetForwardingPipelineConfig \
         first"
    ))
}

fn gone(device_id: u64) -> Status {
    Status::unavailable(format!("device {device_id} has stopped"))
}

impl Target {
    pub fn new(handle: DeviceHandle, pipeline: Option<PipelineConfig>) -> Self {
        let arbiter = Arbiter::new(handle.device_id());
        Target {
            handle,
            arbiter: Mutex::new(arbiter),
            clients: Mutex::default(),
            pipelines: RwLock::new(Pipelines {
                active: pipeline.map(Arc::new),
                saved: None,
            }),
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
        let answer = self.handle.call(f).await;
        answer.map_err(|_| gone(self.device_id()))
    }

    // --- arbitration and streams ---------------------------------------------

    /// A client's first or later `MasterArbitrationUpdate`.
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
        let _writes_finished = self.pipelines.write().await;
        let notices = lock(&self.arbiter).update(client, role, update)?;
        lock(&self.clients)
            .entry(client)
            .or_insert_with(|| link.clone());
        self.notify(notices);
        Ok(())
    }

    /// A client's stream has ended.
    pub fn disconnect(&self, client: ClientId, role: &str) {
        lock(&self.clients).remove(&client);
        let notices = lock(&self.arbiter).disconnect(client, role);
        self.notify(notices);
    }

    fn notify(&self, notices: Notices) {
        let clients = lock(&self.clients);
        for (client, update) in notices {
            let message = p4::StreamMessageResponse {
                update: Some(p4::stream_message_response::Update::Arbitration(update)),
            };
            if let Some(link) = clients.get(&client)
                && link.outbound.try_send(Ok(message)).is_err()
            {
                link.evict.notify_one();
            }
        }
    }

    /// A frame from the CPU port, to the primary of each role. Dropped where
    /// the client does not keep up.
    pub async fn packet_in(&self, frame: Vec<u8>) {
        let pipelines = self.pipelines.read().await;
        let Some(active) = &pipelines.active else {
            return;
        };
        let Some(packet) = active.schema.packet_in.unpack(frame) else {
            return;
        };
        let message = p4::StreamMessageResponse {
            update: Some(p4::stream_message_response::Update::Packet(packet)),
        };
        let arbiter = lock(&self.arbiter);
        let clients = lock(&self.clients);
        for client in arbiter.primaries() {
            if let Some(link) = clients.get(&client)
                && link.outbound.capacity() > RESERVED
            {
                // Full or gone: the frame is lost, as on any wire.
                let _ = link.outbound.try_send(Ok(message.clone()));
            }
        }
    }

    /// A packet-out of a client.
    ///
    /// # Errors
    /// Why it was dropped.
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
        let sent = self.call(move |device, now| device.packet_out(now, &bytes));
        sent.await
            .map_err(|status| Failure::new(status.code(), status.message()))
    }

    fn authorize(&self, role: &str, election_id: Option<&p4::Uint128>) -> Result<(), Status> {
        Ok(lock(&self.arbiter).authorize(role, election_id)?)
    }

    // --- write and read ------------------------------------------------------

    /// The RPC Write.
    ///
    /// # Errors
    /// Its status, with details for each update.
    pub async fn write(&self, request: &p4::WriteRequest) -> Result<(), Status> {
        let pipelines = self.pipelines.read().await;
        self.authorize(&request.role, request.election_id.as_ref())?;
        if request.atomicity() != p4::write_request::Atomicity::ContinueOnError {
            return Err(Status::unimplemented(format!(
                "atomicity {} is not supported, use CONTINUE_ON_ERROR: a batch is executed \
                 between two packets anyway",
                request.atomicity().as_str_name()
            )));
        }
        let results = if let Some(saved) = &pipelines.saved {
            let ops = resolve_updates(&saved.config, request);
            lock(&saved.shadow).execute(&saved.config, ops)
        } else {
            let active = pipelines.active.as_ref();
            let active = active.ok_or_else(|| no_pipeline(self.device_id()))?;
            let ops = resolve_updates(active, request);
            let config = Arc::clone(active);
            let executed = self.call(move |device, now| {
                let pipeline = device.pipeline_mut()?;
                Some(execute(now, pipeline, &config, ops))
            });
            executed
                .await?
                .ok_or_else(|| no_pipeline(self.device_id()))?
        };
        batch_status("updates", &results)
    }

    /// The RPC Read: the messages to stream, and the status after them.
    ///
    /// # Errors
    /// The status of a request of which nothing can be read.
    pub async fn read(
        &self,
        request: &p4::ReadRequest,
    ) -> Result<Vec<Result<p4::ReadResponse, Status>>, Status> {
        let pipelines = self.pipelines.read().await;
        let (config, queries, answers) = if let Some(saved) = &pipelines.saved {
            let config = Arc::clone(&saved.config);
            let queries = resolve_queries(&config, request);
            let answers = fetch(&lock(&saved.shadow).pipeline, &config, &queries);
            (config, queries, answers)
        } else {
            let active = pipelines.active.as_ref();
            let config = Arc::clone(active.ok_or_else(|| no_pipeline(self.device_id()))?);
            let queries = resolve_queries(&config, request);
            let fetched = self.call(move |device, _| {
                let answers = fetch(device.pipeline()?, &config, &queries);
                // Back to the task: dropped there, not between packets.
                Some((config, queries, answers))
            });
            fetched
                .await?
                .ok_or_else(|| no_pipeline(self.device_id()))?
        };
        drop(pipelines);
        Ok(render(&config, &queries, answers))
    }

    // --- pipeline config -----------------------------------------------------

    /// The RPC SetForwardingPipelineConfig.
    ///
    /// # Errors
    /// Its status.
    pub async fn set_pipeline(
        &self,
        request: p4::SetForwardingPipelineConfigRequest,
    ) -> Result<(), Status> {
        use p4::set_forwarding_pipeline_config_request::Action;
        let authorize = || self.authorize(&request.role, request.election_id.as_ref());
        authorize()?;
        let action = request.action();
        if action == Action::Unspecified {
            return Err(Status::invalid_argument("action is unset or unknown"));
        }
        if action == Action::Commit {
            if request.config.is_some() {
                return Err(Status::invalid_argument(
                    "COMMIT takes no config: it commits the one saved before",
                ));
            }
            let mut pipelines = self.pipelines.write().await;
            authorize()?;
            return self.commit_saved(&mut pipelines).await;
        }
        let Some(config) = request.config else {
            return Err(Status::invalid_argument("config is unset"));
        };
        // Loading takes milliseconds: neither here nor on the device's thread.
        let load = self.handle.load_options();
        let verify = move || PipelineConfig::verify(config, &load);
        let verified = tokio::task::spawn_blocking(verify).await;
        let verified = verified.map_err(|error| {
            Status::internal(format!("verifying the pipeline config failed: {error}"))
        })??;
        if action == Action::Verify {
            return Ok(());
        }
        let mut pipelines = self.pipelines.write().await;
        // Another client may have become primary meanwhile.
        self.authorize(&request.role, request.election_id.as_ref())?;
        match action {
            Action::VerifyAndSave => {
                let pipeline = Pipeline::new(Arc::clone(&verified.program), 0);
                pipelines.saved = Some(Saved {
                    config: Arc::new(verified),
                    shadow: Mutex::new(Shadow {
                        pipeline,
                        updates: Vec::new(),
                    }),
                });
                Ok(())
            }
            Action::ReconcileAndCommit if pipelines.active.is_some() => {
                self.reconcile(&mut pipelines, verified).await
            }
            _ => {
                let program = Arc::clone(&verified.program);
                self.call(move |device, now| device.load(now, program))
                    .await?;
                pipelines.active = Some(Arc::new(verified));
                pipelines.saved = None;
                Ok(())
            }
        }
    }

    async fn commit_saved(&self, pipelines: &mut Pipelines) -> Result<(), Status> {
        let Some(saved) = &pipelines.saved else {
            return Err(Status::not_found(
                "there is no saved config: save one with VERIFY_AND_SAVE first",
            ));
        };
        let config = Arc::clone(&saved.config);
        let updates = lock(&saved.shadow).updates.clone();
        let replayed = Arc::clone(&config);
        let results = self
            .call(move |device, now| {
                device.load(now, Arc::clone(&replayed.program));
                let pipeline = device.pipeline_mut()?;
                let ops = updates.into_iter().map(Ok).collect();
                Some(execute(now, pipeline, &replayed, ops))
            })
            .await?;
        pipelines.active = Some(config);
        pipelines.saved = None;
        // They succeeded in the shadow, so they do here.
        match results.into_iter().flatten().find_map(Result::err) {
            None => Ok(()),
            Some(failure) => Err(Status::internal(failure.message)),
        }
    }

    async fn reconcile(
        &self,
        pipelines: &mut Pipelines,
        verified: PipelineConfig,
    ) -> Result<(), Status> {
        let Some(old) = pipelines.active.clone() else {
            return Err(no_pipeline(self.device_id()));
        };
        if old.is_same_pipeline(&verified) {
            // Nothing changes but the cookie, and no state is lost.
            let notes = std::mem::take(&mut *lock(&old.notes));
            *lock(&verified.notes) = notes;
            pipelines.active = Some(Arc::new(verified));
            pipelines.saved = None;
            return Ok(());
        }
        let config = Arc::new(verified);
        let new = Arc::clone(&config);
        let reconciled = self
            .call(move |device, now| {
                let ops = match device.pipeline() {
                    Some(pipeline) => old.export(pipeline, &new.schema)?,
                    None => Vec::new(),
                };
                // A rehearsal: the old pipeline stays where one update fails.
                let mut rehearsal = Pipeline::new(Arc::clone(&new.program), 0);
                for op in ops.iter().cloned() {
                    op.execute(now, &mut rehearsal, &mut lock(&new.notes))?;
                }
                device.load(now, Arc::clone(&new.program));
                if let Some(pipeline) = device.pipeline_mut() {
                    let mut notes = lock(&new.notes);
                    for op in ops {
                        op.execute(now, pipeline, &mut notes)?;
                    }
                }
                Ok::<_, Failure>(())
            })
            .await?;
        reconciled.map_err(|failure| {
            Status::invalid_argument(format!(
                "the forwarding state cannot be preserved: {}",
                failure.message
            ))
        })?;
        pipelines.active = Some(config);
        pipelines.saved = None;
        Ok(())
    }

    /// The RPC GetForwardingPipelineConfig: the saved config, else the active one.
    pub async fn pipeline(
        &self,
        fields: p4::get_forwarding_pipeline_config_request::ResponseType,
    ) -> Option<p4::ForwardingPipelineConfig> {
        use p4::get_forwarding_pipeline_config_request::ResponseType;
        let pipelines = self.pipelines.read().await;
        let saved = pipelines.saved.as_ref().map(|saved| &saved.config);
        let config = &saved.or(pipelines.active.as_ref())?.config;
        let with_p4info = matches!(fields, ResponseType::All | ResponseType::P4infoAndCookie);
        let with_device_config = matches!(
            fields,
            ResponseType::All | ResponseType::DeviceConfigAndCookie
        );
        Some(p4::ForwardingPipelineConfig {
            p4info: with_p4info.then(|| config.p4info.clone()).flatten(),
            p4_device_config: if with_device_config {
                config.p4_device_config.clone()
            } else {
                Default::default()
            },
            cookie: config.cookie,
        })
    }
}

impl Shadow {
    fn execute(
        &mut self,
        config: &PipelineConfig,
        ops: Vec<Result<Op, Failure>>,
    ) -> Vec<Result<(), Failure>> {
        let mut notes = lock(&config.notes);
        let results = ops.into_iter().map(|op| {
            let op = op?;
            op.clone().execute(0, &mut self.pipeline, &mut notes)?;
            self.updates.push(op);
            Ok(())
        });
        results.collect()
    }
}

fn resolve_updates(
    config: &PipelineConfig,
    request: &p4::WriteRequest,
) -> Vec<Result<Op, Failure>> {
    let updates = request.updates.iter();
    updates
        .map(|update| write::resolve(&config.schema, update))
        .collect()
}

fn execute(
    now: u64,
    pipeline: &mut Pipeline,
    config: &PipelineConfig,
    ops: Vec<Result<Op, Failure>>,
) -> Vec<Result<(), Failure>> {
    let mut notes = lock(&config.notes);
    ops.into_iter()
        .map(|op| op?.execute(now, pipeline, &mut notes))
        .collect()
}

fn resolve_queries(
    config: &PipelineConfig,
    request: &p4::ReadRequest,
) -> Vec<Result<Query, Failure>> {
    let entities = request.entities.iter();
    entities
        .map(|entity| read::resolve(&config.schema, entity))
        .collect()
}

fn fetch(
    pipeline: &Pipeline,
    config: &PipelineConfig,
    queries: &[Result<Query, Failure>],
) -> Vec<Option<Result<Answer, Failure>>> {
    let notes = lock(&config.notes);
    let answers = queries.iter().map(|query| {
        let query = query.as_ref().ok()?;
        Some(query.fetch(&config.schema, pipeline, &notes))
    });
    answers.collect()
}

fn render(
    config: &PipelineConfig,
    queries: &[Result<Query, Failure>],
    answers: Vec<Option<Result<Answer, Failure>>>,
) -> Vec<Result<p4::ReadResponse, Status>> {
    let mut entities = Vec::new();
    let mut results = Vec::with_capacity(queries.len());
    for (query, answer) in queries.iter().zip(answers) {
        results.push(match (query, answer) {
            (Ok(query), Some(Ok(answer))) => {
                query.render(&config.schema, answer, &mut entities);
                Ok(())
            }
            (Err(failure), _) => Err(failure.clone()),
            (_, Some(Err(failure))) => Err(failure),
            (Ok(_), None) => Err(Failure::new(Code::Internal, "the request was not executed")),
        });
    }
    let mut messages = Vec::new();
    while entities.len() > ENTITIES_PER_MESSAGE {
        let rest = entities.split_off(ENTITIES_PER_MESSAGE);
        messages.push(Ok(p4::ReadResponse { entities }));
        entities = rest;
    }
    if !entities.is_empty() {
        messages.push(Ok(p4::ReadResponse { entities }));
    }
    if let Err(status) = batch_status("requests", &results) {
        messages.push(Err(status));
    }
    messages
}
