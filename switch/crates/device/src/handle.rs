// SPDX-License-Identifier: Apache-2.0
//! How other threads reach a device: closures that its own thread runs between
//! packets. All that one closure does is atomic for the data plane.

use crate::Device;
use crate::events::{self, EventSender, Events, Generations};
use std::fmt;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};
use v1model::LoadOptions;

type Request = Box<dyn FnOnce(&mut Device, u64) + Send>;

/// The device's thread has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceGone;

impl fmt::Display for DeviceGone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the device has stopped")
    }
}

impl std::error::Error for DeviceGone {}

/// Reaches one device from any thread.
#[derive(Clone)]
pub struct DeviceHandle {
    device_id: u64,
    cpu_port: Option<u16>,
    load: LoadOptions,
    generations: Generations,
    requests: mpsc::Sender<Request>,
    wake: Arc<dyn Fn() + Send + Sync>,
    /// Wakes the device's own thread.
    wake_from_afar: Arc<dyn Fn() + Send + Sync>,
}

impl fmt::Debug for DeviceHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceHandle")
            .field("device_id", &self.device_id)
            .finish_non_exhaustive()
    }
}

impl DeviceHandle {
    /// P4Runtime's device_id.
    #[must_use]
    pub fn device_id(&self) -> u64 {
        self.device_id
    }

    /// The port of packet-in and packet-out, if the device has one.
    #[must_use]
    pub fn cpu_port(&self) -> Option<u16> {
        self.cpu_port
    }

    /// How the device's programs are to be understood; the default until set.
    #[must_use]
    pub fn load_options(&self) -> LoadOptions {
        self.load
    }

    /// The counter of the device's pipelines, whose events have its numbers.
    #[must_use]
    pub fn generations(&self) -> &Generations {
        &self.generations
    }

    /// Sets [`Self::load_options`], before the handle is handed on.
    #[must_use]
    pub fn with_load_options(self, load: LoadOptions) -> Self {
        Self { load, ..self }
    }

    /// Sets what wakes the device's own thread for [`Self::call_from_afar`], before the handle is
    /// handed on; the `wake` of [`channel`] until set.
    #[must_use]
    pub fn with_wake_from_afar(self, wake: impl Fn() + Send + Sync + 'static) -> Self {
        let wake_from_afar = Arc::new(wake);
        Self {
            wake_from_afar,
            ..self
        }
    }

    /// Runs `f` on the device's thread, between two packets, with the device's
    /// clock in nanoseconds. Waits while the device's queue of requests is full.
    /// Keep `f` short: packets wait for it.
    ///
    /// # Errors
    /// [`DeviceGone`].
    pub async fn call<R, F>(&self, f: F) -> Result<R, DeviceGone>
    where
        R: Send + 'static,
        F: FnOnce(&mut Device, u64) -> R + Send + 'static,
    {
        self.call_and(&*self.wake, f).await
    }

    /// As [`Self::call`], for one of many calls that are long together: it runs on the device's own
    /// thread and never on this one, which may have better to do, or be put aside for others in the
    /// middle of it while packets wait.
    ///
    /// # Errors
    /// [`DeviceGone`].
    pub async fn call_from_afar<R, F>(&self, f: F) -> Result<R, DeviceGone>
    where
        R: Send + 'static,
        F: FnOnce(&mut Device, u64) -> R + Send + 'static,
    {
        self.call_and(&*self.wake_from_afar, f).await
    }

    async fn call_and<R, F>(&self, wake: &(dyn Fn() + Send + Sync), f: F) -> Result<R, DeviceGone>
    where
        R: Send + 'static,
        F: FnOnce(&mut Device, u64) -> R + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let request: Request = Box::new(move |device, now| {
            // Nobody waits any more: the caller was cancelled.
            let _ = reply.send(f(device, now));
        });
        self.requests.send(request).await.map_err(|_| DeviceGone)?;
        wake();
        answer.await.map_err(|_| DeviceGone)
    }
}

/// The device's end of its handles.
pub struct Requests {
    queue: mpsc::Receiver<Request>,
}

impl fmt::Debug for Requests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Requests").finish_non_exhaustive()
    }
}

impl Requests {
    /// Runs the next request, if there is one.
    pub fn run_one(&mut self, device: &mut Device, now: u64) -> bool {
        match self.queue.try_recv() {
            Ok(request) => {
                request(device, now);
                true
            }
            Err(_) => false,
        }
    }

    /// Waits for a request and runs it; false when all handles are gone. For
    /// devices without packets, as in tests; not within an async runtime.
    pub fn run_blocking(&mut self, device: &mut Device, now: impl FnOnce() -> u64) -> bool {
        match self.queue.blocking_recv() {
            Some(request) => {
                request(device, now());
                true
            }
            None => false,
        }
    }
}

/// Requests that may wait for a device's thread.
pub const REQUESTS: usize = 256;
/// Both ends of a device's requests and events. `wake` is called after each
/// request, to end the sleep of the device's thread.
pub fn channel(
    device_id: u64,
    cpu_port: Option<u16>,
    wake: impl Fn() + Send + Sync + 'static,
) -> (DeviceHandle, Requests, EventSender, Events) {
    let (requests, queue) = mpsc::channel(REQUESTS);
    let generations = Generations::default();
    let (sender, events) = events::channel(generations.clone());
    let wake: Arc<dyn Fn() + Send + Sync> = Arc::new(wake);
    let handle = DeviceHandle {
        device_id,
        cpu_port,
        load: LoadOptions::default(),
        generations,
        requests,
        wake_from_afar: Arc::clone(&wake),
        wake,
    };
    (handle, Requests { queue }, sender, events)
}
