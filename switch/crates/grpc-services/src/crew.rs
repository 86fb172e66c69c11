// SPDX-License-Identifier: Apache-2.0
//! Who does what takes long, so that the thread that answers does nothing else: to take a long
//! request apart, to put a long answer into messages, to load a program.
//!
//! What runs here lets others have a turn every 100 us or so, and a connection does one thing at a
//! time. So of all connections that have long work each gets as much of the crew as another, whatever they ask
//! for. Programs are loaded one at a time, as that takes memory that only the loader knows.

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

/// Where long work is done.
#[derive(Clone, Debug)]
pub struct Crew {
    /// `None`: where it is asked for, in a process of its own time.
    runtime: Option<Handle>,
    loads: Arc<Semaphore>,
}

impl Default for Crew {
    fn default() -> Self {
        Self::new(None)
    }
}

/// Ends a task with who waits for it.
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
    /// A crew whose members are a runtime's threads.
    pub fn new(runtime: Option<Handle>) -> Self {
        Self {
            runtime,
            loads: Arc::new(Semaphore::new(1)),
        }
    }

    /// Has a future run to its end, or until nobody waits for it.
    ///
    /// # Errors
    /// UNAVAILABLE: the server ends.
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

    /// Begins a task that ends by itself.
    pub fn begin(&self, work: impl Future<Output = ()> + Send + 'static) {
        match &self.runtime {
            Some(runtime) => drop(runtime.spawn(work)),
            None => drop(tokio::spawn(work)),
        }
    }

    /// Whether there are threads for it.
    pub fn is_apart(&self) -> bool {
        self.runtime.is_some()
    }

    /// Waits until a program may be loaded.
    pub async fn load(&self) -> Option<OwnedSemaphorePermit> {
        // Nobody closes it.
        Arc::clone(&self.loads).acquire_owned().await.ok()
    }

    /// Runs what does not let others have a turn, on a thread where that holds up nobody, and
    /// where a defect that a program finds in the switch ends nothing else.
    ///
    /// # Errors
    /// INTERNAL: it panicked.
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

    /// Drops what is large.
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
            // Nobody waits for it any more.
            assert!(dropped.await.is_err());
        });
    }
}
