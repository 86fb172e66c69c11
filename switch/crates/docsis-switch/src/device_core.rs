// SPDX-License-Identifier: Apache-2.0
//! The devices that one thread runs, with their ports, clock and requests. There is one device, or
//! all those that RF links join. Their own thread runs them while frames come and go. While it
//! sleeps, the gRPC server's thread runs requests itself, so that neither thread has to wake the
//! other one.

use crate::linux::Linux;
use crate::lock::Lock;
use crate::member::Member;
use crate::port::{Platform, Time};
use crate::waker::Waker;
use plant::{Plant, PlantRequests};
use std::sync::Weak;

/// How long requests are run before frames are received again, ns.
const REQUESTS_FOR: u64 = 300_000;

/// The RF links and upstream channels that join the devices of a thread.
pub struct Rf {
    /// Runs the devices and channels in due order.
    pub plant: Plant,
    /// The requests of other threads.
    pub requests: PlantRequests,
}

/// Everything that the devices of a thread need to run.
pub struct Core<S: Platform = Linux> {
    /// The devices. There is one if nothing joins it to others.
    pub members: Vec<Member<S>>,
    /// The links that join the devices, if there are any.
    pub rf: Option<Rf>,
    /// The clock of the devices.
    pub clock: S::Clock,
    /// The time until which the devices' thread sleeps. It need not be woken for anything later.
    pub sleeps_until: u64,
}

impl<S: Platform> Core<S> {
    /// The time at which something is due next.
    pub fn next_deadline(&mut self) -> Option<u64> {
        match &self.rf {
            None => self.members[0].device.next_deadline(),
            Some(rf) => rf.plant.next_deadline(&mut self.members),
        }
    }

    /// Lets devices do the next thing that is due by `until`; joined devices do everything.
    pub fn step(&mut self, until: u64) {
        match &mut self.rf {
            None => {
                let Member { device, ports, .. } = &mut self.members[0];
                ports.step(device, until);
            }
            Some(rf) => rf.plant.run(&mut self.members, until),
        }
    }

    /// Lets devices do everything that is due by `until`, each thing at its own time.
    pub fn run_due(&mut self, until: u64) {
        match &mut self.rf {
            None => {
                let Member { device, ports, .. } = &mut self.members[0];
                ports.run_due(device, until);
            }
            Some(rf) => rf.plant.run(&mut self.members, until),
        }
    }

    /// Lets devices do everything that is due before a frame reaches one of them at `at`. Returns
    /// the time at which the frame reaches it, which is not before what has happened.
    pub fn run_before(&mut self, member: usize, at: u64) -> u64 {
        match &mut self.rf {
            None => {
                let Member { device, ports, .. } = &mut self.members[member];
                let at = at.max(device.time());
                ports.run_due(device, at);
                at
            }
            Some(rf) => rf.plant.run_before(&mut self.members, at),
        }
    }

    /// Notes that a device was given something.
    pub fn received(&mut self, member: usize) {
        if let Some(rf) = &mut self.rf {
            rf.plant.received(&mut self.members, member);
        }
    }

    /// Tells devices what the clock says, before they run what is due. `arrived` is when the first
    /// frame came that no device has been given.
    pub fn wake(&mut self, now: u64, arrived: Option<u64>) {
        for member in &mut self.members {
            member.device.tidy_up(now);
        }
        match &mut self.rf {
            None => {
                let Member { device, ports, .. } = &mut self.members[0];
                ports.wake(device, now, arrived);
            }
            Some(rf) => rf.plant.wake(&mut self.members, now, arrived),
        }
    }

    /// The time up to which everything has happened.
    pub fn time(&self) -> u64 {
        match &self.rf {
            None => self.members[0].device.time(),
            Some(rf) => rf.plant.time(),
        }
    }

    /// Whether nothing is queued, on a delay line or under way on a channel.
    pub fn is_empty(&self) -> bool {
        match &self.rf {
            None => self.members[0].device.is_empty(),
            Some(rf) => rf.plant.is_empty(&self.members),
        }
    }

    /// Runs everything that is due, each thing at its own time, and returns the present time.
    pub fn drain(&mut self) -> u64 {
        let now = self.clock.now();
        self.run_due(now);
        now
    }

    /// Runs requests, each at the time of its turn and after everything that is due. Stops after a
    /// while, because frames must be received, and returns whether there may be more requests.
    pub fn answer(&mut self) -> bool {
        let end = self.clock.now() + REQUESTS_FOR;
        loop {
            let now = self.drain();
            if now >= end {
                return true;
            }
            if !self.answer_one_each(now) {
                return false;
            }
        }
    }

    /// Runs the next request of each device and of the links. Returns whether there was one.
    fn answer_one_each(&mut self, now: u64) -> bool {
        let mut any = false;
        for index in 0..self.members.len() {
            let Member {
                device,
                ports,
                requests,
            } = &mut self.members[index];
            if requests.run_one(device, now) {
                any = true;
                ports.look_at_drops(device);
                self.received(index);
            }
        }
        if let Some(Rf { plant, requests }) = &mut self.rf {
            any |= requests.run_one(plant, &mut self.members, now);
        }
        any
    }

    /// Sends the frames that wait, and tells devices which of them failed and how late they were.
    pub fn flush(&mut self) {
        for Member { device, ports, .. } in &mut self.members {
            ports.flush(device);
        }
    }

    /// Tells devices what the kernel dropped in front of them.
    pub fn count_missed(&mut self) {
        for Member { device, ports, .. } in &mut self.members {
            ports.count_missed(device);
        }
    }

    /// The earliest time at which a port will have a frame that it holds back itself.
    pub fn next_held(&self) -> Option<u64> {
        let members = self.members.iter();
        members.filter_map(|member| member.ports.next_held()).min()
    }

    /// Whether frames wait for room in any socket.
    pub fn any_waiting(&self) -> bool {
        self.members.iter().any(|member| member.ports.any_waiting())
    }

    /// Runs requests while the devices' own thread sleeps. Returns whether that must be woken.
    fn answer_in_its_place(&mut self) -> bool {
        if self.members.iter_mut().any(|one| one.ports.have_frames()) {
            // The devices' thread is about to wake for frames, which come before the requests.
            return true;
        }
        self.count_missed();
        let now = self.clock.now();
        self.wake(now, None);
        let more = self.answer();
        self.flush();
        let due = self.next_deadline();
        more || self.any_waiting() || due.is_some_and(|at| at < self.sleeps_until)
    }
}

/// Runs the waiting requests on this thread if the devices' own thread sleeps, and otherwise has
/// that thread run them.
pub fn serve<S: Platform>(core: &Weak<Lock<Core<S>>>, waker: &Waker) {
    let Some(core) = core.upgrade() else {
        // The devices have ended, and their requests have ended with them.
        return;
    };
    let must_wake = match core.try_lock() {
        Some(mut core) => core.answer_in_its_place(),
        None => true,
    };
    if must_wake {
        waker.wake();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use crate::ports::{self, Opening, Ports};
    use crate::veth_tests::{on_a_link, send};
    use crate::wait::PollSet;
    use device::handle::{self, DeviceHandle};
    use device::{Device, DeviceConfig, DeviceGone};
    use std::os::fd::AsRawFd;
    use std::sync::{Arc, OnceLock};
    use std::thread;

    /// A device whose thread sleeps, as long as nobody locks the core.
    struct Sleeping {
        core: Arc<Lock<Core>>,
        handle: DeviceHandle,
        waker: Waker,
    }

    fn sleeping(sleeps_until: u64) -> Sleeping {
        sleeping_with(sleeps_until, &[])
    }

    fn sleeping_with(sleeps_until: u64, interfaces: &[(u16, String)]) -> Sleeping {
        let (waker, clock) = (Waker::new().unwrap(), Clock::start());
        let entrance: Arc<OnceLock<Weak<Lock<Core>>>> = Arc::default();
        let (way, wake) = (Arc::clone(&entrance), waker.clone());
        let (handle, requests, events, _) =
            handle::channel(0, None, move || serve(way.get().unwrap(), &wake));
        let member = Member {
            device: Device::new(DeviceConfig::default()),
            ports: Ports::open(interfaces, None, Opening::default(), clock, events).unwrap(),
            requests,
        };
        let core = Arc::new(Lock::new(Core {
            members: vec![member],
            rf: None,
            clock,
            sleeps_until,
        }));
        entrance.set(Arc::downgrade(&core)).unwrap();
        Sleeping {
            core,
            handle,
            waker,
        }
    }

    impl Sleeping {
        fn call<R: Send + 'static>(
            &self,
            f: impl FnOnce(&mut Device, u64) -> R + Send + 'static,
        ) -> Result<R, DeviceGone> {
            let mut runtime = tokio::runtime::Builder::new_current_thread();
            runtime.build().unwrap().block_on(self.handle.call(f))
        }

        fn is_woken(&self) -> bool {
            let mut poll = PollSet::of([self.waker.as_raw_fd()]);
            poll.wait(Some(0));
            poll.is_ready(0)
        }
    }

    #[test]
    fn a_request_runs_on_the_thread_that_has_it_while_the_device_s_sleeps() {
        let device = sleeping(u64::MAX);
        let ran_on = device.call(|_, _| thread::current().id()).unwrap();
        assert_eq!(ran_on, thread::current().id());
        assert!(!device.is_woken());
    }

    #[test]
    fn a_device_that_is_awake_runs_its_requests_itself() {
        let device = sleeping(u64::MAX);
        let mut core = device.core.lock();
        let handle = device.handle.clone();
        let asked = thread::spawn(move || {
            let mut runtime = tokio::runtime::Builder::new_current_thread();
            let call = handle.call(|_, _| thread::current().id());
            runtime.build().unwrap().block_on(call)
        });
        let mut poll = PollSet::of([device.waker.as_raw_fd()]);
        poll.wait(None);
        // A thread that is stopped meanwhile lets frames have a turn first.
        while core.answer() {}
        assert_eq!(asked.join().unwrap().unwrap(), thread::current().id());
    }

    /// A frame that nobody has received yet came before the request.
    #[test]
    fn a_request_waits_for_frames_that_came_before_it() {
        on_a_link(|| {
            let device = sleeping_with(u64::MAX, &[(1, "dsw-a".to_owned())]);
            let mut far_end = ports::open("dsw-b", Opening::default()).unwrap();
            send(&mut far_end, &[0xff; 60]);
            let handle = device.handle.clone();
            let asked = thread::spawn(move || {
                let mut runtime = tokio::runtime::Builder::new_current_thread();
                let call = handle.call(|_, _| thread::current().id());
                runtime.build().unwrap().block_on(call)
            });
            let mut poll = PollSet::of([device.waker.as_raw_fd()]);
            poll.wait(Some(10_000_000_000));
            assert!(poll.is_ready(0), "the device's thread is not woken");
            while device.core.lock().answer() {}
            assert_eq!(asked.join().unwrap().unwrap(), thread::current().id());
        });
    }

    #[test]
    fn what_is_due_earlier_than_the_device_s_thread_knows_wakes_it() {
        let device = sleeping(u64::MAX);
        // A frame on a delay line of a minute.
        let receive = |device: &mut Device, now| {
            let config = device::PortConfig {
                port: 1,
                receive_delay_ns: 60_000_000_000,
                ..Default::default()
            };
            let request = device::Configuration {
                ports: vec![config],
                ..Default::default()
            };
            device.add_port(1);
            device.configure(now, &request).unwrap();
            device.receive(now, 1, &[0; 60]);
        };
        device.call(receive).unwrap();
        assert!(device.is_woken());
        // It knows of it now.
        device.waker.reset();
        let due = device.core.lock().next_deadline();
        device.core.lock().sleeps_until = due.unwrap();
        device.call(|_, _| ()).unwrap();
        assert!(!device.is_woken());
    }

    #[test]
    fn a_device_that_has_ended_answers_nobody() {
        let device = sleeping(u64::MAX);
        let Sleeping {
            core,
            handle,
            waker,
        } = device;
        drop(core);
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let answer = runtime.build().unwrap().block_on(handle.call(|_, _| ()));
        assert_eq!(answer, Err(DeviceGone));
        drop(waker);
    }
}
