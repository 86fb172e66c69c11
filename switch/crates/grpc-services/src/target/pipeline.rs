// SPDX-License-Identifier: Apache-2.0
//! The RPCs SetForwardingPipelineConfig and GetForwardingPipelineConfig.

use std::sync::{Arc, Mutex};

use device::Replaced;
use tonic::Status;
use v1model::{Pipeline, TableId};

use super::turn::Turn;
use super::write::Batch;
use super::{Pipelines, Saved, Shadow, Target, no_pipeline};
use crate::failure::Failure;
use crate::op::{Op, Plant};
use crate::pipeline_config::{PipelineConfig, lock};
use crate::proto::p4::v1 as p4;
use crate::read::{Progress, Query, Source};
use crate::slice::Slice;
use crate::wire::EncodedConfig;

impl Target {
    /// The RPC SetForwardingPipelineConfig.
    ///
    /// # Errors
    /// Its status.
    pub async fn set_pipeline(
        &self,
        request: p4::SetForwardingPipelineConfigRequest,
    ) -> Result<(), Status> {
        use p4::set_forwarding_pipeline_config_request::Action;
        let election_id = request.election_id.as_ref();
        let begun = self.begin(&request.role, election_id)?;
        if let Some(access) = &begun.access {
            access.push_pipeline()?;
        }
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
            // Others wait as long as this waits for the lock, so it does not do so in vain.
            if self.pipelines.read().await.saved.is_none() {
                return Err(nothing_saved());
            }
            let mut pipelines = self.pipelines.write().await;
            return self.commit_saved(&mut pipelines).await;
        }
        let Some(config) = request.config else {
            return Err(Status::invalid_argument("config is unset"));
        };
        // Loading takes milliseconds, so the crew does it, and not the device's thread.
        let load = self.handle.load_options();
        let save = action == Action::VerifyAndSave;
        let verify = move || {
            let verified = PipelineConfig::verify(config, &load)?;
            let shadow = save.then(|| Shadow::new(&verified));
            Ok::<_, Failure>((verified, shadow))
        };
        let (verified, shadow) = self.crew.blocking(verify).await??;
        if action == Action::Verify {
            return Ok(());
        }
        let mut pipelines = self.pipelines.write().await;
        if let Some(shadow) = shadow {
            let before = pipelines.saved.replace(Saved {
                config: Arc::new(verified),
                shadow: Mutex::new(shadow),
            });
            self.crew.discard(before);
            return Ok(());
        }
        match action {
            Action::ReconcileAndCommit if pipelines.active.is_some() => {
                self.reconcile(&mut pipelines, verified).await
            }
            _ => {
                let ready = self.build(Arc::new(verified), Vec::new()).await??;
                let replaced = self.install(&mut pipelines, ready, false).await?;
                self.crew.discard(replaced);
                Ok(())
            }
        }
    }

    async fn commit_saved(&self, pipelines: &mut Pipelines) -> Result<(), Status> {
        let saved = pipelines.saved.take().ok_or_else(nothing_saved)?;
        let updates = std::mem::take(&mut lock(&saved.shadow).updates);
        // The updates are executed again, and bring the notes of the shadow back.
        *lock(&saved.config.notes) = Default::default();
        // The updates succeeded in the shadow, so they succeed here.
        let ready = self.build(Arc::clone(&saved.config), updates).await?;
        let ready = ready.map_err(|failure| Status::internal(failure.message))?;
        let replaced = self.install(pipelines, ready, false).await?;
        self.crew.discard((saved, replaced));
        Ok(())
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
            // Only the cookie changes, so the state stays.
            let notes = std::mem::take(&mut *lock(&old.notes));
            *lock(&verified.notes) = notes;
            pipelines.active = Some(Arc::new(verified));
            pipelines.saved = None;
            return Ok(());
        }
        let refused = |failure: Failure| {
            Status::invalid_argument(format!(
                "the forwarding state cannot be preserved: {}",
                failure.message
            ))
        };
        let new = Arc::new(verified);
        let wanted = self.exported(&old).await?;
        let queries = wanted.iter().map(|(query, _)| Ok(query.clone()));
        let fetched = self.own_queries(queries.collect())?;
        let fetched = self.fetch(&old, fetched, &mut Turn::of_a_change()).await?;
        let (from, to) = (Arc::clone(&old), Arc::clone(&new));
        let kinds: Vec<_> = wanted.iter().map(|(_, kind)| *kind).collect();
        let exported = self.crew.blocking(move || {
            let answers = fetched.answered().zip(kinds);
            let answers = answers.filter_map(|((query, answer), kind)| {
                // Neither fails, because the queries ask only for objects that exist.
                Some((query.ok()?, answer.ok()?, kind))
            });
            from.export(answers, &to)
        });
        let ops = exported.await?.map_err(refused)?;
        // If one update fails, the old pipeline stays.
        let ready = self.build(Arc::clone(&new), ops.clone()).await?;
        let replaced = self
            .install(pipelines, ready.map_err(refused)?, true)
            .await?;
        let missed = self
            .crew
            .blocking(move || missed(&old, &new, replaced, wanted, &ops))
            .await?;
        let Some(active) = &pipelines.active else {
            return Ok(());
        };
        let missed = missed.into_iter().map(Ok).collect();
        let missed = Batch::new(missed, None, usize::MAX, None)?;
        let slice = Some(self.limits.slice);
        self.execute(active, missed, slice, Turn::of_a_change())
            .await?;
        Ok(())
    }

    /// The queries whose answers bring the state of the running pipeline into another one.
    async fn exported(
        &self,
        config: &PipelineConfig,
    ) -> Result<Vec<(Query, p4::update::Type)>, Status> {
        let tables: Vec<_> = config
            .schema
            .tables
            .list()
            .iter()
            .map(|t| t.table)
            .collect();
        let written = self.call(move |device, _| {
            let pipeline = device.pipeline()?;
            let is_written = |table: &TableId| {
                let default = pipeline.default_entry(*table);
                default.is_ok_and(|(_, is_initial)| !is_initial)
            };
            Some(tables.into_iter().filter(is_written).collect::<Vec<_>>())
        });
        let written = written.await?;
        let written = written.ok_or_else(|| no_pipeline(self.device_id()))?;
        Ok(config.export_queries(|table| written.contains(&table))?)
    }

    /// Builds a pipeline and executes updates on it, on another thread than the device's.
    async fn build(
        &self,
        config: Arc<PipelineConfig>,
        updates: Vec<Op>,
    ) -> Result<Result<Ready, Failure>, Status> {
        let (seed, now_ns) = self.call(|device, now| (device.config().seed, now)).await?;
        let build = move || {
            let mut pipeline = Pipeline::new(Arc::clone(&config.program), seed);
            {
                let mut plant = Plant {
                    now_ns,
                    pipeline: &mut pipeline,
                    notes: &mut lock(&config.notes),
                };
                updates.iter().try_for_each(|op| op.execute(&mut plant))?;
            }
            Ok(Ready { config, pipeline })
        };
        self.crew.blocking(build).await
    }

    /// Lets the device run a pipeline, and moves the arrays of the old one into it if they are to
    /// be carried over.
    async fn install(
        &self,
        pipelines: &mut Pipelines,
        ready: Ready,
        carry: bool,
    ) -> Result<Replaced, Status> {
        let Ready {
            config,
            mut pipeline,
        } = ready;
        let active = Arc::clone(&config);
        let generations = self.handle.generations().clone();
        let installed = self.call(move |device, now| {
            if let (true, Some(old)) = (carry, device.pipeline_mut()) {
                pipeline.take_arrays(old);
            }
            let replaced = device.install(now, pipeline);
            for (digest, digest_config) in lock(&config.notes).take_digest_changes() {
                device.configure_digest(digest, digest_config);
            }
            // The old pipeline goes back to the task, so that it is not dropped between packets.
            (replaced, generations.begin())
        });
        let (replaced, generation) = installed.await?;
        pipelines.active = Some(active);
        pipelines.generation = generation;
        if let Some(saved) = pipelines.saved.take() {
            self.crew.discard(saved);
        }
        Ok(replaced)
    }

    /// The RPC GetForwardingPipelineConfig, which returns the saved config, or else the active one.
    pub async fn pipeline(
        &self,
        fields: p4::get_forwarding_pipeline_config_request::ResponseType,
    ) -> Option<EncodedConfig> {
        use p4::get_forwarding_pipeline_config_request::ResponseType;
        let pipelines = self.pipelines.read().await;
        let saved = pipelines.saved.as_ref().map(|saved| &saved.config);
        let config = &saved.or(pipelines.active.as_ref())?.config;
        let with_p4info = matches!(fields, ResponseType::All | ResponseType::P4infoAndCookie);
        let with_device_config = matches!(
            fields,
            ResponseType::All | ResponseType::DeviceConfigAndCookie
        );
        // Bytes are shared, so nothing is copied.
        Some(EncodedConfig {
            p4info: config.p4info.clone().filter(|_| with_p4info),
            p4_device_config: if with_device_config {
                config.p4_device_config.clone()
            } else {
                Default::default()
            },
            cookie: config.cookie,
        })
    }
}

fn nothing_saved() -> Status {
    Status::not_found("there is no saved config: save one with VERIFY_AND_SAVE first")
}

/// A pipeline that is ready to be installed.
struct Ready {
    config: Arc<PipelineConfig>,
    pipeline: Pipeline,
}

/// The updates that add what packets have counted in direct counters since the old pipeline's state
/// was exported as `ops`.
fn missed(
    old: &PipelineConfig,
    new: &PipelineConfig,
    replaced: Replaced,
    wanted: Vec<(Query, p4::update::Type)>,
    ops: &[Op],
) -> Vec<Op> {
    let Some(pipeline) = &replaced.pipeline else {
        return Vec::new();
    };
    let notes = lock(&old.notes);
    let source = Source {
        schema: &old.schema,
        pipeline,
        notes: &notes,
    };
    let answers = wanted.into_iter().filter_map(|(query, kind)| {
        let mut slice = Slice::endless();
        let answer = query.fetch(source, &mut Progress::default(), &mut slice);
        Some((query, answer.ok()??, kind))
    });
    // Nothing was written meanwhile, so these updates differ from `ops` only in their counters.
    let last = old.export(answers, new).unwrap_or_default();
    let pairs = ops.iter().zip(&last);
    pairs
        .filter_map(|(before, after)| before.recount(after))
        .collect()
}
