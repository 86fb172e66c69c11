// SPDX-License-Identifier: Apache-2.0
//! The crew is a group of threads for work that takes long: decoding a long request, encoding a long
//! answer, and loading a program. The thread that answers clients does no such work, so it is free
//! for short requests.
//!
//! Work on the crew yields about every 100 us, and each connection does one thing at a time
//! ([`crate::turns`]). So all connections with long work get equal shares of the crew, whatever they
//! ask for. The crew loads one program at a time. Two programs at once could take too much memory,
//! and nobody knows how much a program needs before it is loaded.

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
    /// The runtime whose threads do the work. It is `None` in virtual time, where the caller's own
    /// task does the work.
    runtime: Option<Handle>,
    /// The permit to load a program. There is one.
    loads: Arc<Semaphore>,
}

impl Default for Crew {
    fn default() -> Self {
        Self::new(None)
    }
}

/// A task of the crew. Dropping this aborts the task.
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
    /// Makes a crew of a runtime's threads. Without a runtime the caller's own task does the work.
    pub fn new(runtime: Option<Handle>) -> Self {
        Self {
            runtime,
            loads: Arc::new(Semaphore::new(1)),
        }
    }

    /// Runs a future on the crew and returns its output. The future is dropped if the caller stops
    /// waiting before it is ready.
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

    /// Starts a task and returns at once.
    pub fn begin(&self, work: impl Future<Output = ()> + Send + 'static) {
        match &self.runtime {
            Some(runtime) => drop(runtime.spawn(work)),
            None => drop(tokio::spawn(work)),
        }
    }

    /// Whether the crew has threads of its own, as it has except in virtual time.
    pub fn is_apart(&self) -> bool {
        self.runtime.is_some()
    }

    /// Waits until no other program is being loaded, and returns the permit to load one. Others
    /// wait until the permit is dropped.
    pub async fn load(&self) -> Option<OwnedSemaphorePermit> {
        // The semaphore is never closed, so this is always a permit.
        Arc::clone(&self.loads).acquire_owned().await.ok()
    }

    /// Runs work that cannot yield on a thread of its own, so that it delays nobody. The work looks
    /// at a client's program. If that makes it panic, the caller gets an error and the process goes
    /// on.
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
    fn the_crew_does_the_work_and_drops_it_when_the_caller_stops_waiting() {
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
