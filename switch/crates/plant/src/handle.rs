// SPDX-License-Identifier: Apache-2.0
//! How other threads reach a plant: requests that the devices' own thread runs between packets.

use std::fmt;
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};

use crate::configuration::{Configuration, Refused};
use crate::node::Node;
use crate::run::Plant;

/// Service flows that one request may name, as packets wait until it is done.
pub const MOST_FLOWS: usize = 4096;
/// Requests that may wait for the devices' thread.
const REQUESTS: usize = 16;

/// The devices' thread has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlantGone;

impl fmt::Display for PlantGone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the devices have stopped")
    }
}

impl std::error::Error for PlantGone {}

/// Looks at a plant, at that time, ns.
type LookAt = Box<dyn FnOnce(&Plant, u64) + Send>;

/// What is asked of a plant, and where the answer goes.
enum Request {
    Configure(Configuration, oneshot::Sender<Result<(), Refused>>),
    Look(LookAt),
}

/// Reaches a plant from any thread.
#[derive(Clone)]
pub struct PlantHandle {
    devices: Arc<[u64]>,
    requests: mpsc::Sender<Request>,
    wake: Arc<dyn Fn() + Send + Sync>,
}

impl fmt::Debug for PlantHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlantHandle")
            .field("devices", &self.devices)
            .finish_non_exhaustive()
    }
}

impl PlantHandle {
    /// The plant's devices by P4Runtime's device_id, in the order of its nodes.
    #[must_use]
    pub fn devices(&self) -> &[u64] {
        &self.devices
    }

    /// [`Plant::configure`], at the time at which its turn comes. Waits while there are many requests.
    ///
    /// # Errors
    /// [`PlantGone`].
    pub async fn configure(
        &self,
        request: Configuration,
    ) -> Result<Result<(), Refused>, PlantGone> {
        let (reply, answer) = oneshot::channel();
        let request = Request::Configure(request, reply);
        self.ask(request).await?;
        answer.await.map_err(|_| PlantGone)
    }

    /// Runs `f` between two packets, which wait for it, with the time. Waits while there are many
    /// requests.
    ///
    /// # Errors
    /// [`PlantGone`].
    pub async fn look<R: Send + 'static>(
        &self,
        f: impl FnOnce(&Plant, u64) -> R + Send + 'static,
    ) -> Result<R, PlantGone> {
        let (reply, answer) = oneshot::channel();
        let look = Box::new(move |plant: &Plant, now: u64| {
            // Nobody may wait any more: the caller was cancelled.
            let _ = reply.send(f(plant, now));
        });
        self.ask(Request::Look(look)).await?;
        answer.await.map_err(|_| PlantGone)
    }

    async fn ask(&self, request: Request) -> Result<(), PlantGone> {
        self.requests.send(request).await.map_err(|_| PlantGone)?;
        (self.wake)();
        Ok(())
    }
}

/// The plant's end of its handles.
pub struct PlantRequests(mpsc::Receiver<Request>);

impl fmt::Debug for PlantRequests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlantRequests").finish_non_exhaustive()
    }
}

impl PlantRequests {
    /// Runs the next request, if there is one. All that is due before `now` is to have happened.
    pub fn run_one<N: Node>(&mut self, plant: &mut Plant, nodes: &mut [N], now: u64) -> bool {
        match self.0.try_recv() {
            Ok(Request::Configure(request, reply)) => {
                // Nobody may wait any more: the caller was cancelled.
                let _ = reply.send(plant.configure(nodes, now, request));
                true
            }
            Ok(Request::Look(look)) => {
                look(plant, now);
                true
            }
            Err(_) => false,
        }
    }
}

impl PlantHandle {
    /// Both ends of a plant's requests. `devices` are its nodes' ids; `wake` is called after each
    /// request, to end the sleep of the devices' thread.
    pub fn new(
        devices: impl Into<Arc<[u64]>>,
        wake: impl Fn() + Send + Sync + 'static,
    ) -> (Self, PlantRequests) {
        let (requests, queue) = mpsc::channel(REQUESTS);
        let handle = Self {
            devices: devices.into(),
            requests,
            wake: Arc::new(wake),
        };
        (handle, PlantRequests(queue))
    }
}
