// SPDX-License-Identifier: Apache-2.0
//! The devices' thread: receive, step, send, sleep.

use crate::arrivals::{Arrivals, Portion, Source};
use crate::awake::Awake;
use crate::control::Command;
use crate::device_core::Core;
use crate::linux::Linux;
use crate::lock::{Held, Lock};
use crate::member::Member;
use crate::port::{BATCH, Inbox, Platform, Poll, Port, Time};
use crate::process::log_messages;
use crate::slack::Slack;
use crate::waker::Waker;
use device::Device;
use plant::Captured;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use tracing::{error, info, warn};

/// With a departure nearer than this, few frames are received at a time.
const SOON: u64 = 200_000;
/// Frames received at a time then.
const SMALL_BATCH: usize = 8;
/// Frames received before requests have their turn: those of some milliseconds in which
/// nobody could receive, at tens of thousands a second.
const FRAMES: usize = 512;
/// Departures closer than this, in ns, are waited for awake, this long at the most.
const CLOSE: u64 = 2_000;
const CLOSE_FOR: u64 = 10_000;
/// Nanoseconds after which the thread does not rely on what it saw of the sockets. It may have been
/// stopped, or waited for its lock, and frames that came meanwhile must not seem to come now.
const AWAY: u64 = 250_000;
/// Nanoseconds between two looks at full sockets when the switch ends.
const LOOK_AGAIN: u64 = 5_000_000;

/// Everything that the device's thread works with.
pub struct Shell<S: Platform = Linux> {
    /// The devices, which the gRPC server's thread may run while this one sleeps.
    pub core: Arc<Lock<Core<S>>>,
    /// Wakes this thread for a request.
    pub waker: Waker,
    /// What the main thread says.
    pub commands: Receiver<Command<S>>,
    /// Whether `log_msg` of new pipelines reaches the log.
    pub logs: Arc<AtomicBool>,
}

/// A port of a device of the thread, by their indexes.
#[derive(Debug, Clone, Copy)]
struct Place {
    member: usize,
    port: usize,
}

/// The slots of a thread's ports.
type InboxOf<S> = <<S as Platform>::Port as Port>::Inbox;

/// The ports, whose frames are merged.
struct Sources<'a, S: Platform> {
    core: &'a mut Core<S>,
    places: &'a [Place],
    inbox: &'a mut InboxOf<S>,
    poll: &'a mut S::Poll,
    clock: S::Clock,
    /// How far the clock of the frames' stamps is ahead.
    ahead: u64,
}

impl<S: Platform> Source for Sources<'_, S> {
    fn receive(&mut self, port: usize, slots: Range<usize>) -> usize {
        let place = self.places[port];
        let ports = &mut self.core.members[place.member].ports;
        ports
            .receive(place.port, self.inbox, slots)
            .unwrap_or_else(|| {
                self.poll.ignore(port);
                0
            })
    }

    fn stamp(&self, slot: usize) -> u64 {
        let now = self.clock.now();
        let stamp = self.inbox.stamp(slot);
        stamp.map_or(now, |at| at.saturating_sub(self.ahead).min(now))
    }
}

/// What the thread keeps to itself.
struct Turn<S: Platform> {
    inbox: InboxOf<S>,
    poll: S::Poll,
    arrivals: Arrivals,
    /// The ports of all devices, in the order of the poll set.
    places: Vec<Place>,
    /// Ports that have frames, ascending.
    ready: Vec<usize>,
    /// Set when the switch is to end: when that is, at the latest.
    stop_at: Option<u64>,
}

impl<S: Platform> Turn<S> {
    /// Receives what waits in the ports and runs it and what is due, in the order of time.
    ///
    /// All that was received before `now` is in it, but for what came in the last [`AWAY`].
    fn receive(&mut self, core: &mut Core<S>, now: u64) {
        let clock = core.clock.clone();
        let ahead = clock.ahead();
        self.ready.clear();
        let is_held = |place: Place| {
            let held = core.members[place.member].ports.held_by(place.port);
            held.is_some_and(|at| at <= now) && self.stop_at.is_none()
        };
        let ready = (0..self.places.len())
            .filter(|&port| self.poll.is_ready(port) || is_held(self.places[port]));
        self.ready.extend(ready);
        let portion = Portion {
            slots: self.inbox.slots(),
            at_once: frames_at_once(now, core.next_deadline()),
            frames: FRAMES,
        };
        let mut sources = Sources {
            core,
            places: &self.places,
            inbox: &mut self.inbox,
            poll: &mut self.poll,
            clock,
            ahead,
        };
        let arrivals = &mut self.arrivals;
        arrivals.gather(&self.ready, now, portion, &mut sources);
        sources.core.wake(now, arrivals.first());
        while let Some(arrival) = arrivals.next(&sources) {
            let Place { member, port } = self.places[arrival.port];
            let at = sources.core.run_before(member, arrival.at);
            let Member { device, ports, .. } = &mut sources.core.members[member];
            ports.deliver(port, sources.inbox, arrival.slot, at, device);
            sources.core.received(member);
            arrivals.delivered(arrival, &mut sources);
        }
        if !arrivals.is_behind() {
            // What came since is stamped before now, and so is what it makes due.
            let last = core.time().max(now);
            core.run_due(last);
        }
    }
}

/// How many frames are received from a port at a time. With a departure near they are
/// few, as it waits for them. One that is due already leaves between them; and one nearer than
/// [`CLOSE`] is, more often than not, that of a flow that is all but unlimited: it does not make
/// batches small.
fn frames_at_once(now: u64, due: Option<u64>) -> usize {
    match due {
        Some(at) if (now + CLOSE..now + SOON).contains(&at) => SMALL_BATCH,
        _ => BATCH,
    }
}

/// Waits awake for departures that are nearer than a system call takes, so that they leave with
/// those before them. Nothing is received meanwhile, as a look at the sockets is such a call. So a
/// frame that comes during the wait arrives at its last departure, [`CLOSE_FOR`] late at most, and
/// the wait ends if the thread was away since `before`.
fn drain_close<S: Platform>(core: &mut Core<S>, before: u64) {
    let mut now = core.clock.now();
    let end = now + CLOSE_FOR;
    if now > before + AWAY {
        return;
    }
    while now < end && core.next_deadline().is_some_and(|at| at < now + CLOSE) {
        core.step(now);
        let later = core.clock.now();
        if later > now + AWAY {
            return;
        }
        now = later;
    }
}

impl<S: Platform> Shell<S> {
    /// Does what the main thread says.
    fn obey(&self, core: &mut Core<S>, turn: &mut Turn<S>) {
        let poll = &mut turn.poll;
        while let Ok(command) = self.commands.try_recv() {
            match command {
                Command::Stop { drain_ns } => {
                    (0..turn.places.len()).for_each(|port| poll.ignore(port));
                    turn.stop_at = Some(core.clock.now().saturating_add(drain_ns));
                }
                Command::LinkUp { port, link } => {
                    let place = turn.places[port];
                    let Member { device, ports, .. } = &mut core.members[place.member];
                    if let Some(link) = link {
                        ports.attach(place.port, link);
                        if turn.stop_at.is_none() {
                            poll.replace(port, ports.port(place.port));
                        }
                    }
                    ports.set_up(device, place.port, true);
                }
                Command::LinkDown { port } => {
                    let place = turn.places[port];
                    let Member { device, ports, .. } = &mut core.members[place.member];
                    ports.set_up(device, place.port, false);
                }
                Command::LogMessages(on) => {
                    self.logs.store(on, Ordering::Relaxed);
                    for member in &mut core.members {
                        if let Some(pipeline) = member.device.pipeline_mut() {
                            log_messages(pipeline, on);
                        }
                    }
                }
            }
        }
    }

    fn lock(&self) -> Held<'_, Core<S>> {
        // A panic ends the process, so nobody ever sees what it left.
        self.core.lock()
    }

    /// Runs until it is told to end.
    pub fn run(self) {
        let mut core = self.lock();
        let places = places(&core.members);
        let waker_at = places.len();
        let ports = core.members.iter().flat_map(|member| member.ports.ports());
        let mut turn: Turn<S> = Turn {
            inbox: Inbox::new(BATCH.max(waker_at)),
            poll: Poll::new(ports, Some(&self.waker)),
            arrivals: Arrivals::default(),
            places,
            ready: Vec::with_capacity(waker_at),
            stop_at: None,
        };
        let mut slack = Slack::default();
        let mut balance = Awake::since(core.clock.now());
        // Requests may wait, and nobody says so again.
        let mut asked = false;
        loop {
            let now = core.clock.now();
            balance.was_awake(now);
            let due = core.next_deadline();
            let held = core.next_held().filter(|_| turn.stop_at.is_none());
            let deadline = due.into_iter().chain(turn.stop_at).chain(held).min();
            // Being awake when a departure is due: hosts see how late it is.
            let early = if balance.may_wait() { slack.ns() } else { 0 };
            let timeout = deadline.map(|at| at.saturating_sub(now + early));
            let timeout = look_again(&core, timeout, &mut turn);
            let busy = asked || turn.arrivals.is_behind();
            let timeout = if busy { Some(0) } else { timeout };
            if timeout == Some(0) {
                turn.poll.wait(timeout);
            } else {
                core.sleeps_until = timeout.map_or(u64::MAX, |ns| now.saturating_add(ns));
                drop(core);
                turn.poll.wait(timeout);
                core = self.lock();
            }
            let awake = core.clock.now();
            if timeout != Some(0) {
                balance.slept(awake);
            }
            if awake > now + AWAY {
                // What came since it looked is older than what is done now.
                turn.poll.wait(Some(0));
            }
            if let Some(timeout) = timeout.filter(|&ns| ns > 0)
                && awake > now + timeout
            {
                slack.overslept(awake - now - timeout);
            }
            if timeout == Some(0) && !busy && deadline.is_some_and(|at| at > now && at <= awake) {
                slack.stayed_awake();
            }
            turn.receive(&mut core, awake);
            if !turn.arrivals.is_behind() {
                drain_close(&mut core, awake);
            }
            if turn.poll.is_ready(waker_at) {
                self.waker.reset();
                self.obey(&mut core, &mut turn);
                core.count_missed();
                asked = true;
            }
            asked = asked && core.answer();
            core.flush();
            if is_over(&core, turn.stop_at) {
                break;
            }
        }
        let now = core.clock.now();
        for Member { device, ports, .. } in &mut core.members {
            ports.give_up(device);
            ports.count_missed(device);
            ports.end_recording(device);
            report(device, now);
            info!("{}; slack {} us", device.lateness(), slack.ns() / 1000);
        }
        if let Some(rf) = &mut core.rf {
            rf.plant.end_captures().into_iter().for_each(report_capture);
            for look in rf.plant.channels() {
                let late = |share| look.maps_late.quantile(share).unwrap_or(0) / 1000;
                info!(
                    "channel {}: {} MAPs were made late by {} us at the median, {} us at p99",
                    look.name,
                    look.maps_late.count(),
                    late(500),
                    late(990)
                );
            }
        }
    }
}

/// The ports of all devices, one device after the other.
fn places<S: Platform>(members: &[Member<S>]) -> Vec<Place> {
    let of = |(member, one): (usize, &Member<S>)| {
        (0..one.ports.len()).map(move |port| Place { member, port })
    };
    members.iter().enumerate().flat_map(of).collect()
}

/// Lets the poll set end when a socket that was full has room. At the end nothing
/// is received, so ports are not polled: they are looked at now and then.
fn look_again<S: Platform>(
    core: &Core<S>,
    timeout: Option<u64>,
    turn: &mut Turn<S>,
) -> Option<u64> {
    let any_waiting = core.any_waiting();
    if !any_waiting && !turn.poll.wants_room() {
        return timeout;
    }
    for (index, place) in turn.places.iter().enumerate() {
        let waits = core.members[place.member].ports.is_waiting(place.port);
        turn.poll.want_room(index, waits);
    }
    let soon = (any_waiting && turn.stop_at.is_some()).then_some(LOOK_AGAIN);
    timeout.into_iter().chain(soon).min()
}

/// Whether the devices have been told to end and may: nothing is queued, on a delay line, on its
/// way on a channel or into a socket, or their time is up.
fn is_over<S: Platform>(core: &Core<S>, stop_at: Option<u64>) -> bool {
    let is_empty = || core.is_empty() && !core.any_waiting();
    stop_at.is_some_and(|at| is_empty() || core.clock.now() >= at)
}

/// What became of a channel's capture.
fn report_capture((channel, captured): (String, io::Result<Captured>)) {
    match captured {
        Ok(Captured {
            frames,
            left_out: 0,
        }) => {
            info!("channel {channel}: {frames} frames are in its capture");
        }
        Ok(Captured { frames, left_out }) => warn!(
            "channel {channel}: {frames} frames are in its capture, and {left_out} are not: \
             --channel-pcap-limit, or the disk, had no room for them"
        ),
        Err(error) => error!("channel {channel}: its capture cannot be written: {error}"),
    }
}

/// The final counters: every port's, and of the others those that counted.
fn report(device: &Device, now: u64) {
    let id = device.config().device_id;
    if !device.is_empty() {
        warn!("device {id}: frames were left in queues or on delay lines; see --drain-ms");
    }
    for port in device.traffic_manager_state(now).ports {
        if port.receive_lost.frames + port.transmit_lost.frames > 0 {
            info!(
                "device {id} port {}: its link lost {} frames on their way to the switch and {} \
                 on their way from it, as configured",
                port.config.port, port.receive_lost.frames, port.transmit_lost.frames
            );
        }
        info!(
            "device {id} port {}: received {} frames, sent {}, not sent {}",
            port.config.port,
            port.received.frames,
            port.sent.frames,
            port.send_failed.frames
                + port.receive_overflow.frames
                + port.transmit_overflow.frames
                + port.queue_overflow.frames,
        );
    }
    for link in device.links().filter(|link| link.missed > 0) {
        info!(
            "device {id} port {}: {} frames were dropped by the kernel: they came faster than \
             the switch took them",
            link.port, link.missed
        );
    }
    for (name, meaning, traffic) in device.counters().named() {
        if traffic.frames > 0 {
            info!(
                "device {id}: {name}: {} frames, {} bytes. {meaning}",
                traffic.frames, traffic.bytes
            );
        }
    }
}
