// SPDX-License-Identifier: Apache-2.0
//! The crew does all work that takes long, so that the thread that answers clients does none of it.
//! Long work is decoding a long request, encoding a long answer, and loading a program.
//!
//! Work on the crew yields about every 100 us, and each connection does one thing at a time
//! ([`crate::turns`]). So every connection with long work gets the same share of the crew, whatever
//! it asks for. The crew loads one program at a time, because only the loader knows how much memory
//! a program will take.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;
use tonic::Status;

use crate::contained::contain;
use crate::journal;

/// The threads that do long work.
#[derive(Clone, Debug)]
pub struct Crew {
    /// `None` in virtual time, where the caller's own task does the work.
    runtime: Option<Handle>,
    loads: Arc<Semaphore>,
}

impl Default for Crew {
    fn default() -> Self {
        Self::new(None)
    }
}

/// A task that is aborted when nobody waits for it any more.
struct Task<T>(JoinHandle<T>);

impl<T> Future for Task<T> {
    type Output = Result<T, Status>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let done = ready!(Pin::new(&mut self.0).poll(context));
        let ended = |_| Status::unavailable("the switch is shutting down");
        Poll::Ready(done.map_err(ended))
    }
}

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Crew {
    /// A crew that works on a runtime's threads, or on the caller's own task without a runtime.
    pub fn new(runtime: Option<Handle>) -> Self {
        Self {
            runtime,
            loads: Arc::new(Semaphore::new(1)),
        }
    }

    /// Runs a future on the crew until it is ready, and drops it when the caller stops waiting.
    ///
    /// # Errors
    /// UNAVAILABLE if the server ends first.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, Status> {
        let Some(runtime) = &self.runtime else {
            return Ok(work.await);
        };
        let call = journal::current();
        Task(runtime.spawn(journal::for_the_same(call, work))).await
    }

    /// Starts a task for which nobody waits.
    pub fn begin(&self, work: impl Future<Output = ()> + Send + 'static) {
        match &self.runtime {
            Some(runtime) => drop(runtime.spawn(work)),
            None => drop(tokio::spawn(work)),
        }
    }

    /// Whether the crew has threads of its own.
    pub fn is_apart(&self) -> bool {
        self.runtime.is_some()
    }

    /// Waits until no other program is being loaded. The permit keeps others from loading.
    pub async fn load(&self) -> Option<OwnedSemaphorePermit> {
        // The semaphore is never closed, so this is always a permit.
        Arc::clone(&self.loads).acquire_owned().await.ok()
    }

    /// Runs work that cannot yield, on a thread that nobody else needs. The work looks at a
    /// client's program, so a panic in it becomes an error and ends nothing else.
    ///
    /// # Errors
    /// INTERNAL if the work panicked.
    pub async fn blocking<R: Send + 'static>(
        &self,
        work: impl FnOnce() -> R + Send + 'static,
    ) -> Result<R, Status> {
        let work = move || contain(work);
        let done = match &self.runtime {
            Some(runtime) => runtime.spawn_blocking(work),
            None => tokio::task::spawn_blocking(work),
        };
        let done = done.await;
        let done =
            done.map_err(|error| Status::internal(format!("setting the pipeline: {error}")))?;
        done.map_err(|panic| {
            Status::internal(format!(
                "the switch failed over this forwarding pipeline config and goes on with what it \
                 had; please report it to the project with the config: {panic}"
            ))
        })
    }

    /// Drops a large value on another thread, because freeing its memory takes long.
    pub fn discard(&self, old: impl Send + 'static) {
        let discard = move || drop(old);
        match &self.runtime {
            Some(runtime) => drop(runtime.spawn_blocking(discard)),
            None => drop(tokio::task::spawn_blocking(discard)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;
    use tonic::Code;

    #[tokio::test]
    async fn a_loader_that_panics_is_a_refusal() {
        let crew = Crew::default();
        let status = crew
            .blocking(|| -> u8 { panic!("index out of bounds") })
            .await;
        let status = status.unwrap_err();
        assert_eq!(status.code(), Code::Internal);
        assert!(status.message().contains("goes on with what it had"));
        assert!(status.message().contains("index out of bounds"));
        assert_eq!(crew.blocking(|| 5).await.unwrap(), 5);
    }

    #[test]
    fn work_is_done_on_the_crew_s_threads_and_ends_with_who_waits() {
        let members = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_time()
            .build()
            .unwrap();
        let own = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        let crew = Crew::new(Some(members.handle().clone()));
        let there = own.block_on(crew.run(async { thread::current().id() }));
        assert_ne!(there.unwrap(), thread::current().id());
        let (begun, has_begun) = tokio::sync::oneshot::channel();
        let (kept, dropped) = tokio::sync::oneshot::channel::<()>();
        own.block_on(async {
            let work = crew.run(async move {
                let _kept = kept;
                let _ = begun.send(());
                std::future::pending::<()>().await;
            });
            tokio::select! {
                _ = work => unreachable!("it has no end"),
                _ = has_begun => {}
            }
            // The crew drops the work once nobody waits for it.
            assert!(dropped.await.is_err());
        });
    }
}
