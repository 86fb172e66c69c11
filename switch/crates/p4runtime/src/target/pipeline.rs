// SPDX-License-Identifier: Apache-2.0
//! The RPCs SetForwardingPipelineConfig and GetForwardingPipelineConfig.

use std::sync::{Arc, Mutex};

use tonic::Status;
use v1model::Pipeline;

use super::{Pipelines, Saved, Shadow, Target, no_pipeline};
use crate::failure::Failure;
use crate::op::Plant;
use crate::pipeline_config::{PipelineConfig, lock};
use crate::proto::p4::v1 as p4;

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
                let shadow = Mutex::new(Shadow::new(&verified));
                pipelines.saved = Some(Saved {
                    config: Arc::new(verified),
                    shadow,
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
        let Some(saved) = pipelines.saved.take() else {
            return Err(Status::not_found(
                "there is no saved config: save one with VERIFY_AND_SAVE first",
            ));
        };
        let updates = std::mem::take(&mut lock(&saved.shadow).updates);
        // The notes of the shadow come from the same updates.
        *lock(&saved.config.notes) = Default::default();
        let config = Arc::clone(&saved.config);
        let result = self
            .call(move |device, now| {
                device.load(now, Arc::clone(&config.program));
                let mut notes = lock(&config.notes);
                let mut result = Ok(());
                if let Some(pipeline) = device.pipeline_mut() {
                    let mut plant = Plant {
                        now_ns: now,
                        pipeline,
                        notes: &mut notes,
                    };
                    // They succeeded in the shadow, so they do here.
                    result = updates.iter().try_for_each(|op| op.execute(&mut plant));
                }
                for (digest, config) in notes.take_digest_changes() {
                    device.configure_digest(now, digest, config);
                }
                result
            })
            .await?;
        pipelines.active = Some(saved.config);
        result.map_err(|failure| Status::internal(failure.message))
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
                    Some(pipeline) => old.export(pipeline, now, &new)?,
                    None => Vec::new(),
                };
                // A rehearsal: the old pipeline stays where one update fails.
                let mut rehearsal = Pipeline::new(Arc::clone(&new.program), 0);
                let mut plant = Plant {
                    now_ns: now,
                    pipeline: &mut rehearsal,
                    notes: &mut Default::default(),
                };
                for op in &ops {
                    op.execute(&mut plant)?;
                }
                device.load(now, Arc::clone(&new.program));
                let mut notes = lock(&new.notes);
                if let Some(pipeline) = device.pipeline_mut() {
                    let mut plant = Plant {
                        now_ns: now,
                        pipeline,
                        notes: &mut notes,
                    };
                    for op in &ops {
                        op.execute(&mut plant)?;
                    }
                }
                for (digest, config) in notes.take_digest_changes() {
                    device.configure_digest(now, digest, config);
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
