// SPDX-License-Identifier: Apache-2.0
//! The pipeline that a request refers to. A request looks at it, waits for its turn, and then makes
//! sure that it is still the same.

use std::sync::Arc;

use tokio::sync::RwLockReadGuard;
use tonic::Status;

use super::{Pipelines, Target, no_pipeline};
use crate::journal;
use crate::pipeline_config::PipelineConfig;

/// The pipeline that Reads and Writes refer to.
#[derive(Clone, Debug)]
pub struct View {
    pub config: Arc<PipelineConfig>,
    /// Whether it is saved and not committed yet.
    pub is_saved: bool,
}

/// The pipelines while they do not change.
pub type Held<'t> = RwLockReadGuard<'t, Pipelines>;

impl Pipelines {
    fn view(&self) -> Option<View> {
        let saved = self.saved.as_ref().map(|saved| &saved.config);
        let config = Arc::clone(saved.or(self.active.as_ref())?);
        let is_saved = saved.is_some();
        Some(View { config, is_saved })
    }
}

impl View {
    fn is_of(&self, pipelines: &Pipelines) -> bool {
        let now = pipelines.view();
        now.is_some_and(|now| {
            Arc::ptr_eq(&now.config, &self.config) && now.is_saved == self.is_saved
        })
    }
}

impl Target {
    /// Whether the present request takes from its beginning what others take when it is their turn,
    /// because it is written down or replayed. A replay knows when a request came and when it used
    /// the device, but not when its turn was. So neither the pipeline nor the primary may change in
    /// between.
    pub(super) fn holds_early() -> bool {
        journal::current().is_some()
    }

    /// The pipelines that a request holds from its beginning, if it does so.
    pub(super) async fn held_early(&self) -> Option<Held<'_>> {
        if Self::holds_early() {
            Some(self.pipelines.read().await)
        } else {
            None
        }
    }

    /// The pipeline that a request refers to that comes now.
    ///
    /// # Errors
    /// FAILED_PRECONDITION: there is none.
    pub(super) async fn view(&self, early: Option<&Held<'_>>) -> Result<View, Status> {
        let view = match early {
            Some(held) => held.view(),
            None => self.pipelines.read().await.view(),
        };
        view.ok_or_else(|| no_pipeline(self.device_id()))
    }

    /// Holds the pipelines for a request whose turn it is. `None`: the pipeline that it refers to
    /// has been replaced.
    pub(super) async fn held<'t>(
        &'t self,
        view: &View,
        early: &mut Option<Held<'t>>,
    ) -> Option<Held<'t>> {
        let held = match early.take() {
            Some(held) => held,
            None => self.pipelines.read().await,
        };
        view.is_of(&held).then_some(held)
    }
}
