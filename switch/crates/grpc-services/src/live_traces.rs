// SPDX-License-Identifier: Apache-2.0
//! Begins the live traces that a client follows, one on each device, and ends them with the client.

use std::sync::Arc;

use device::TRACES;
use tonic::Status;

use crate::finished::Finished;
use crate::proto::docsis::switch::v1 as switch;
use crate::target::Target;
use crate::trace_feed::{self, Feed};

/// Begins a trace on each of the devices. `several`: the server has several, so texts name theirs.
///
/// A client that leaves in the middle does not stop it: what has begun by then on some device has
/// to come to the end, where it is removed again. A device has room for [`TRACES`] only.
///
/// # Errors
/// RESOURCE_EXHAUSTED: a device has too many traces. UNAVAILABLE: a device has stopped. No trace
/// is left then.
pub fn begin(
    targets: Vec<Arc<Target>>,
    request: switch::TraceRequest,
    several: bool,
) -> Finished<Result<Feed, Status>> {
    Finished::new(async move {
        let (source, feed, gone) = trace_feed::channel(request);
        let mut traces = Vec::with_capacity(targets.len());
        let mut refusal = None;
        for target in targets {
            let id = target.handle.device_id();
            let sink = source.sink(id, several);
            match target.call(move |device, _| device.add_trace(sink)).await {
                Ok(Some(trace)) => traces.push((target, trace)),
                Ok(None) => {
                    refusal = Some(Status::resource_exhausted(format!(
                        "device {id} has {TRACES} traces already; end one of them"
                    )));
                    break;
                }
                Err(stopped) => {
                    refusal = Some(stopped);
                    break;
                }
            }
        }
        tokio::spawn(async move {
            // Nothing is ever sent: this is ready when the stream drops the sender.
            let _ = gone.await;
            for (target, trace) in traces {
                let _ = target
                    .call(move |device, _| device.remove_trace(trace))
                    .await;
            }
        });
        match refusal {
            Some(status) => Err(status),
            None => Ok(feed),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Limits;
    use crate::target::Shared;
    use device::handle::{self, Requests};
    use device::{Device, DeviceConfig, TraceSink};
    use std::pin::pin;
    use std::task::{Context, Waker};
    use v1model::trace::TraceEvent;

    /// A device whose requests run when the test says so.
    struct Idle {
        target: Arc<Target>,
        device: Device,
        requests: Requests,
    }

    fn idle(device_id: u64) -> Idle {
        let (handle, requests, _, _) = handle::channel(device_id, None, || {});
        let shared = Shared::new(Limits::default());
        Idle {
            target: Arc::new(Target::new(handle, None, &shared)),
            device: Device::new(DeviceConfig::default()),
            requests,
        }
    }

    struct Nothing;

    impl TraceSink for Nothing {
        fn begin(&mut self, _: u64, _: u16, _: &[u8]) -> Option<u64> {
            None
        }

        fn copy(&mut self, _: u64) -> u64 {
            0
        }

        fn event(&mut self, _: u64, _: u64, _: &TraceEvent<'_>) {}
    }

    impl Idle {
        /// How many more traces the device takes.
        fn room(&mut self) -> usize {
            let add = || self.device.add_trace(Box::new(Nothing));
            let added: Vec<_> = std::iter::from_fn(add).collect();
            added.iter().for_each(|id| self.device.remove_trace(*id));
            added.len()
        }
    }

    fn ask(devices: &[Idle]) -> Finished<Result<Feed, Status>> {
        let targets = devices.iter().map(|one| Arc::clone(&one.target));
        begin(targets.collect(), Default::default(), true)
    }

    /// Runs requests of the devices until nobody has another one.
    async fn run(devices: &mut [Idle]) {
        let mut quiet = 0;
        while quiet < 10 {
            tokio::task::yield_now().await;
            let ran = devices
                .iter_mut()
                .map(|one| one.requests.run_one(&mut one.device, 0));
            quiet = if ran.fold(false, |any, ran| any | ran) {
                0
            } else {
                quiet + 1
            };
        }
    }

    #[tokio::test]
    async fn a_client_that_leaves_before_the_traces_have_begun_leaves_none() {
        let mut devices = [idle(1), idle(2)];
        for steps in 0..4 {
            {
                let mut asked = pin!(ask(&devices));
                let mut context = Context::from_waker(Waker::noop());
                // Each step is one of asking one device, and of hearing its answer.
                for _ in 0..steps {
                    assert!(asked.as_mut().poll(&mut context).is_pending());
                    for one in &mut devices {
                        one.requests.run_one(&mut one.device, 0);
                    }
                    if asked.as_mut().poll(&mut context).is_ready() {
                        break;
                    }
                }
            }
            run(&mut devices).await;
            assert_eq!(devices.each_mut().map(Idle::room), [TRACES; 2], "{steps}");
        }
    }

    #[tokio::test]
    async fn a_refusal_leaves_no_trace_behind() {
        let mut devices = [idle(1), idle(2)];
        // The second device has no room.
        while devices[1].device.add_trace(Box::new(Nothing)).is_some() {}
        let asked = tokio::spawn(ask(&devices));
        run(&mut devices).await;
        let status = asked.await.unwrap().unwrap_err();
        assert_eq!(status.code(), tonic::Code::ResourceExhausted);
        run(&mut devices).await;
        assert_eq!(devices.each_mut().map(Idle::room), [TRACES, 0]);
    }
}
