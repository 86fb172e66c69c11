// SPDX-License-Identifier: Apache-2.0
//! Runs the events of a world, one after the other.

use std::collections::VecDeque;

use prefetch::fetch;

use super::World;
use crate::digest::Happened;
use crate::error::{WorldError, invalid};
use crate::frame::Frame;
use crate::host::Endpoint;
use crate::link::End;
use crate::net::Net;
use crate::wire::{self, BROADCAST, Packet};

/// The last time that a world can reach.
pub(super) const END: u64 = 1 << 60;

/// What a source of the schedule is, by index.
#[derive(Clone, Copy, Debug)]
pub(super) enum Source {
    /// A device has something to do.
    Device(u32),
    /// Its process runs.
    Process(u32),
    /// A link delivers.
    Link(u32),
    /// A host's processes run.
    Host(u32),
    /// An application's timer.
    Application(u32),
    /// Samples are taken.
    Sampler(u32),
    /// A port's line is looked at.
    Meter(u32),
    /// Frames that come from nowhere.
    Injection(u32),
    /// An upstream channel's MAC.
    Channel(u32),
}

/// Applications that are sampled together.
#[derive(Debug)]
pub(super) struct Sampler {
    pub source: u32,
    pub interval: u64,
    pub applications: Vec<u32>,
}

/// Frames that are to arrive at a port.
#[derive(Debug)]
pub(super) struct Injection {
    pub source: u32,
    pub device: u32,
    pub port: u16,
    pub frames: VecDeque<(u64, Frame)>,
}

impl World {
    /// Lets everything happen that is due by `time`, which then is now.
    ///
    /// # Errors
    /// The time is before now, or too far away; a limit was reached on the way.
    pub fn run_until(&mut self, time: u64) -> Result<(), WorldError> {
        self.check()?;
        if time < self.net.now {
            return Err(invalid(format!(
                "time does not go back: it is {} ns, and {time} ns is before that",
                self.net.now
            )));
        }
        if time > END {
            return Err(invalid(format!(
                "a world ends at {END} ns, before {time} ns"
            )));
        }
        while let Some((at, source)) = self.net.schedule.take(time) {
            debug_assert!(at >= self.net.now, "an event of the past");
            self.net.now = at;
            self.net.totals.events += 1;
            if let Some(next) = self.net.schedule.likely() {
                self.fetch(self.sources[next as usize]);
            }
            self.happen(self.sources[source as usize]);
            if self.net.failure.is_some() {
                return self.check();
            }
        }
        self.net.now = time;
        Ok(())
    }

    /// Asks for what the next event needs first, while the one before it happens.
    #[inline]
    fn fetch(&self, source: Source) {
        match source {
            Source::Link(link) => fetch(&self.net.links[link as usize]),
            Source::Host(host) => fetch(&self.hosts[host as usize]),
            Source::Application(application) => fetch(&self.applications[application as usize]),
            // There are few of the others.
            _ => {}
        }
    }

    fn happen(&mut self, source: Source) {
        let net = &mut self.net;
        match source {
            Source::Device(device) => {
                self.devices[device as usize].step(&self.runtime, net);
            }
            Source::Process(device) => self.devices[device as usize].release(net),
            Source::Link(link) => {
                let to = net.links[link as usize].to;
                if let Some(frame) = net.receive(link) {
                    match to {
                        End::Device(device, port) => {
                            let device = &mut self.devices[device as usize];
                            device.receive(&self.runtime, net, port, frame);
                        }
                        End::Host(host) => self.reach_host(host, frame),
                    }
                }
            }
            Source::Host(host) => {
                while let Some((frame, endpoint)) = self.hosts[host as usize].gate.pass() {
                    self.net.unkeep(frame.bytes.len());
                    self.hand_over(host, frame, endpoint);
                }
            }
            Source::Application(application) => {
                self.applications[application as usize].on_timer(net, &mut self.hosts);
            }
            Source::Sampler(sampler) => {
                let sampler = &self.samplers[sampler as usize];
                for &number in &sampler.applications {
                    let application = &mut self.applications[number as usize];
                    let reading = application.reading();
                    if let Some(samples) = &mut application.samples {
                        samples.take(net, &reading);
                    }
                }
                let next = net.now + sampler.interval;
                net.schedule.set(sampler.source, Some(next));
            }
            Source::Meter(meter) => {
                let meter = &mut self.meters[meter as usize];
                let device = &self.devices[meter.device as usize].device;
                meter.take(net, device.line_bytes(meter.port).unwrap_or(0));
                let next = net.now + meter.interval;
                net.schedule.set(meter.source, Some(next));
            }
            Source::Channel(channel) => {
                let mut woken = net.take_woken(channel);
                self.channels[channel as usize].step(
                    &self.runtime,
                    net,
                    &mut self.devices,
                    &mut woken,
                );
                net.give_woken(channel, woken);
            }
            Source::Injection(injection) => {
                let injection = &mut self.injections[injection as usize];
                if let Some((_, frame)) = injection.frames.pop_front() {
                    net.release(frame.bytes.len());
                    let device = &mut self.devices[injection.device as usize];
                    device.receive(&self.runtime, net, injection.port, frame);
                }
                let next = injection.frames.front().map(|(at, _)| *at);
                net.schedule.set(injection.source, next);
            }
        }
    }

    /// A frame's last bit is at a host's interface.
    fn reach_host(&mut self, index: u32, frame: Frame) {
        let net = &mut self.net;
        let host = &mut self.hosts[index as usize];
        net.totals.received += 1;
        host.counters.received += 1;
        net.note(Happened::HostReceived, host.hash, 0, frame.hash);
        let mut endpoint = None;
        if let Some((id, key)) = wire::flow_of(&frame.bytes) {
            endpoint = host.flow(&key);
            if let Some(Endpoint { application, role }) = endpoint {
                let common = &mut self.applications[application as usize].common;
                common.arrived(net.now, role, id, frame.bytes.len());
            }
        }
        if host.gate.is_open() {
            self.hand_over(index, frame, endpoint);
            return;
        }
        if let Some(Endpoint { application, role }) = endpoint {
            self.applications[application as usize].fetch(role);
        }
        net.keep(frame.bytes.len());
        if let Some(runs) = host.gate.wait(net.now, (frame, endpoint)) {
            net.schedule.set(host.source, Some(runs));
        }
    }

    /// A host's kernel takes a frame.
    fn hand_over(&mut self, index: u32, frame: Frame, endpoint: Option<Endpoint>) {
        let net = &mut self.net;
        let host = &mut self.hosts[index as usize];
        match wire::parse(&frame.bytes, frame.filled) {
            Packet::Transport { addresses, content } => {
                let mine =
                    addresses.destination_mac == host.mac && addresses.destination == host.address;
                match endpoint.filter(|_| mine) {
                    Some(Endpoint { application, role }) => {
                        let application = &mut self.applications[application as usize];
                        let from = (role, &addresses);
                        if !application.receive(net, &mut self.hosts, from, content) {
                            self.hosts[index as usize].counters.malformed += 1;
                        }
                    }
                    None => host.counters.unwanted += 1,
                }
            }
            Packet::Icmp { addresses, message }
                if addresses.destination_mac == host.mac
                    && addresses.destination == host.address =>
            {
                if let Some(reply) = wire::echo_reply(&addresses, message) {
                    host.send(net, Net::frame(reply));
                } else {
                    host.counters.unwanted += 1;
                }
            }
            Packet::ArpRequest {
                sender_mac,
                sender,
                target,
            } if target == host.address
                && (frame.bytes[..6] == host.mac || frame.bytes[..6] == BROADCAST) =>
            {
                let reply = wire::arp_reply(host.mac, host.address, sender_mac, sender);
                host.send(net, Net::frame(reply));
            }
            Packet::Malformed => host.counters.malformed += 1,
            _ => host.counters.unwanted += 1,
        }
        self.net.reuse(frame);
    }
}

#[cfg(test)]
mod tests {
    use crate::net::MOST_VALUES;
    use crate::{DeviceOptions, Flow, HostOptions, Times, UdpStreamOptions, World, WorldError};

    #[test]
    fn a_world_that_reaches_a_limit_stops_and_says_why_and_what_there_is_can_be_read() {
        let mut world = World::new(1).unwrap();
        let device = DeviceOptions {
            name: "one",
            device_id: 1,
            ports: vec![1, 2],
            ..DeviceOptions::default()
        };
        world.add_device(&device).unwrap();
        for (name, number) in [("a", 1), ("b", 2)] {
            let host = HostOptions {
                name,
                mac: [2, 0, 0, 0, 0, number],
                address: [10, 0, 0, number],
                device: "one",
                port: number.into(),
                ..HostOptions::default()
            };
            world.add_host(&host).unwrap();
        }
        let flow = Flow {
            source: "a",
            destination: "b",
            port: 5000,
            one_in: 1,
            ..Flow::default()
        };
        let stream = UdpStreamOptions {
            times: Times::default(),
            frame_length: 200,
            interval: 1_000_000,
            train: 1,
            on_off: (0, 0),
            at: None,
        };
        let number = world.add_udp_stream(&flow, stream).unwrap();
        world.net.values = MOST_VALUES - 5;
        let error = world.run_until(1_000_000_000).unwrap_err();
        assert!(matches!(error, WorldError::Limit(_)), "{error}");
        let words = error.to_string();
        assert!(words.ends_with("record fewer packets (one_in), probes or samples"));
        assert!(world.now() < 4_000_000);
        let again = world.run_until(2_000_000_000).unwrap_err();
        assert_eq!(again.to_string(), words);
        assert_eq!(world.packet_records(number).unwrap()[0].len(), 2);
    }
}
