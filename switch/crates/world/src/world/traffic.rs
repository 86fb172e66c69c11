// SPDX-License-Identifier: Apache-2.0
//! Adds applications to a world.

use super::run::{END, Source};
use super::{MOST_APPLICATIONS, World, device_rank};
use crate::application::{
    Application, Common, Kind as Traffic, Probes, ProbesConfig, RequestResponse,
    RequestResponseConfig, Timetable, UdpStream, UdpStreamConfig,
};
use crate::error::{WorldError, invalid};
use crate::frame::{CRC, LONGEST, SHORTEST};
use crate::random::Random;
use crate::schedule::Kind;
use crate::wire::{Addresses, ETHERNET, FlowKey, IPV4, PROTOCOL_TCP, PROTOCOL_UDP, UDP};

/// The longest time between two packets, nanoseconds.
const MOST_INTERVAL: u64 = 3_600_000_000_000;
const MOST_TRAIN: u32 = 10_000;
/// The largest power of two of which one packet is recorded.
const MOST_ONE_IN: u32 = 1 << 15;

/// Between whom, and with what headers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Flow<'a> {
    /// The host that sends, or asks.
    pub source: &'a str,
    /// The host that receives, or answers.
    pub destination: &'a str,
    /// The destination's port.
    pub port: u16,
    /// The source's port; 0 for any.
    pub source_port: u16,
    /// ToS byte.
    pub tos: u8,
    /// One of so many of its packets is recorded, a power of two; 0 for none.
    pub one_in: u32,
}

/// When traffic begins and ends, nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Times {
    /// Now unless given.
    pub start: Option<u64>,
    /// Never unless given.
    pub stop: Option<u64>,
}

/// Probes to add.
#[derive(Clone, Copy, Debug)]
pub struct ProbesOptions {
    /// The first one, nanoseconds; now unless given.
    pub start: Option<u64>,
    /// From one to the next, nanoseconds.
    pub interval: u64,
    /// How many.
    pub count: u32,
    /// The length of each frame to the end of its CRC.
    pub frame_length: usize,
}

/// Requests over UDP to add, each of which follows the reply to the one before.
#[derive(Clone, Copy, Debug)]
pub struct RequestResponseOptions {
    /// When the first is made, and from when on there are no more.
    pub times: Times,
    /// The next request does not wait longer for a reply, nanoseconds.
    pub timeout: u64,
    /// The lengths of a request's and of a reply's frame, to the end of the CRC.
    pub frame_lengths: [usize; 2],
}

/// A stream of datagrams to add.
#[derive(Clone, Debug)]
pub struct UdpStreamOptions {
    /// When it begins and ends.
    pub times: Times,
    /// The length of each frame to the end of its CRC.
    pub frame_length: usize,
    /// From datagram to datagram, or from train to train; 0 with `at`.
    pub interval: u64,
    /// Datagrams back to back.
    pub train: u32,
    /// Means of the times with and without traffic; both 0 for traffic all the time.
    pub on_off: (u64, u64),
    /// When to send instead.
    pub at: Option<Vec<u64>>,
}

/// A new application's place, before its traffic is known.
pub(super) struct Draft {
    pub common: Common,
    pub start: u64,
    pub stop: u64,
}

fn payload_of(frame_length: usize) -> Result<usize, WorldError> {
    if !(SHORTEST..=LONGEST).contains(&frame_length) {
        return Err(invalid(format!(
            "a frame has {SHORTEST} to {LONGEST} bytes to the end of its CRC, not {frame_length}"
        )));
    }
    Ok(frame_length - CRC - ETHERNET - IPV4 - UDP)
}

pub(super) fn checked_interval(what: &str, interval: u64) -> Result<u64, WorldError> {
    if interval == 0 || interval > MOST_INTERVAL {
        return Err(invalid(format!(
            "{what} is above 0 and at most an hour, not {interval} ns"
        )));
    }
    Ok(interval)
}

impl World {
    /// Times that are possible from now on.
    fn checked_times(&self, times: Times) -> Result<(u64, u64), WorldError> {
        let now = self.net.now;
        let start = times.start.unwrap_or(now);
        let stop = times.stop.unwrap_or(u64::MAX);
        if start < now {
            return Err(invalid(format!(
                "traffic cannot start at {start} ns: it is {now} ns already"
            )));
        }
        if start > END {
            return Err(invalid(format!(
                "traffic cannot start at {start} ns: a world ends at {END} ns"
            )));
        }
        if stop <= start {
            return Err(invalid(format!(
                "traffic that starts at {start} ns cannot stop at {stop} ns"
            )));
        }
        Ok((start, stop))
    }

    /// What an application between these hosts has; nothing has changed in the world yet
    /// but the source's next free port.
    pub(super) fn draft(
        &mut self,
        protocol: u8,
        flow: &Flow<'_>,
        times: Times,
    ) -> Result<Draft, WorldError> {
        self.check()?;
        let number = self.applications.len();
        if number >= MOST_APPLICATIONS {
            return Err(invalid(format!(
                "a world has at most {MOST_APPLICATIONS} applications"
            )));
        }
        let source = self.host_index(flow.source)?;
        let destination = self.host_index(flow.destination)?;
        if source == destination {
            return Err(invalid(format!(
                "host \"{}\" cannot send to itself",
                flow.source
            )));
        }
        if flow.port == 0 {
            return Err(invalid("port 0 is no destination"));
        }
        let one_in = flow.one_in;
        if one_in != 0 && (!one_in.is_power_of_two() || one_in > MOST_ONE_IN) {
            return Err(invalid(format!(
                "one packet in {one_in} cannot be recorded: give a power of two up to \
                 {MOST_ONE_IN}, or 0 for none"
            )));
        }
        let (start, stop) = self.checked_times(times)?;
        let (to_mac, to) = (self.hosts[destination].mac, self.hosts[destination].address);
        let host = &mut self.hosts[source];
        let source_port = match flow.source_port {
            0 => host.free_port(protocol, to, flow.port).ok_or_else(|| {
                invalid(format!(
                    "host \"{}\" has no port left to port {} of host \"{}\"",
                    flow.source, flow.port, flow.destination
                ))
            })?,
            port => port,
        };
        let key = FlowKey {
            local_port: source_port,
            remote_port: flow.port,
            remote: to,
            protocol,
        };
        if host.flow(&key).is_some() {
            let name = if protocol == PROTOCOL_TCP {
                "TCP"
            } else {
                "UDP"
            };
            return Err(invalid(format!(
                "there is a flow from {name} port {source_port} of host \"{}\" to port {} of host \
                 \"{}\" already: give another port",
                flow.source, flow.port, flow.destination
            )));
        }
        let forward = Addresses {
            source_mac: host.mac,
            destination_mac: to_mac,
            source: host.address,
            destination: to,
            source_port,
            destination_port: flow.port,
            protocol,
            tos: flow.tos,
        };
        let own = host.applications;
        host.applications += 1;
        let (device, port) = (host.device, host.port);
        let lateness = host.lateness;
        let random = Random::stream(self.seed, "application", flow.source, u64::from(own));
        let rank = device_rank(Kind::Application, device, port, own);
        let timer = self.source(rank, Source::Application(number as u32));
        let hosts = [source as u32, destination as u32];
        let common = Common::new(
            number as u32,
            hosts,
            forward,
            timer,
            lateness,
            random,
            one_in as u16,
        );
        Ok(Draft {
            common,
            start,
            stop,
        })
    }

    /// The application becomes part of the world.
    pub(super) fn begin(&mut self, common: Common, kind: Traffic) -> u32 {
        let number = common.number;
        common.open(&mut self.hosts);
        let mut application = Application {
            common,
            kind,
            samples: None,
        };
        application.begin(&mut self.net);
        self.applications.push(application);
        number
    }

    /// Adds UDP probes that the destination returns.
    ///
    /// # Errors
    /// Which value is not possible.
    pub fn add_probes(
        &mut self,
        flow: &Flow<'_>,
        options: &ProbesOptions,
    ) -> Result<u32, WorldError> {
        let interval = checked_interval("a time between probes", options.interval)?;
        let payload = payload_of(options.frame_length)?;
        let times = Times {
            start: options.start,
            stop: None,
        };
        let draft = self.draft(PROTOCOL_UDP, flow, times)?;
        let probes = Probes::new(ProbesConfig {
            start: draft.start,
            interval,
            count: options.count,
            payload,
        });
        Ok(self.begin(draft.common, Traffic::Probes(probes)))
    }

    /// Adds requests over UDP, each of which follows the reply to the one before, or a timeout.
    ///
    /// # Errors
    /// Which value is not possible.
    pub fn add_request_response(
        &mut self,
        flow: &Flow<'_>,
        options: &RequestResponseOptions,
    ) -> Result<u32, WorldError> {
        let timeout = checked_interval("a timeout of requests", options.timeout)?;
        let [request, reply] = options.frame_lengths;
        let payload = [payload_of(request)?, payload_of(reply)?];
        let draft = self.draft(PROTOCOL_UDP, flow, options.times)?;
        let requests = RequestResponse::new(RequestResponseConfig {
            start: draft.start,
            stop: draft.stop,
            timeout,
            payload,
        });
        Ok(self.begin(draft.common, Traffic::RequestResponse(requests)))
    }

    /// Adds datagrams from source to destination.
    ///
    /// # Errors
    /// Which value is not possible.
    pub fn add_udp_stream(
        &mut self,
        flow: &Flow<'_>,
        options: UdpStreamOptions,
    ) -> Result<u32, WorldError> {
        let payload = payload_of(options.frame_length)?;
        let (on, off) = options.on_off;
        if (on == 0) != (off == 0) || on.max(off) > MOST_INTERVAL {
            return Err(invalid(format!(
                "times of {on} ns with and {off} ns without traffic are not possible: give both, \
                 an hour at most, or none"
            )));
        }
        let mut times = options.times;
        let timetable = match options.at {
            None => {
                if options.train == 0 || options.train > MOST_TRAIN {
                    return Err(invalid(format!(
                        "a train has 1 to {MOST_TRAIN} datagrams, not {}",
                        options.train
                    )));
                }
                Timetable::Every {
                    interval: checked_interval("a time between datagrams", options.interval)?,
                    train: options.train,
                    on_off: (on, off),
                }
            }
            Some(at) => {
                if options.interval != 0 || options.train != 1 || on != 0 {
                    return Err(invalid(
                        "datagrams at given times have no interval, train, or times with and \
                         without traffic",
                    ));
                }
                if at.windows(2).any(|pair| pair[1] < pair[0]) {
                    return Err(invalid("times of datagrams are given in order"));
                }
                if let Some(&first) = at.first() {
                    times.start = times.start.or(Some(first));
                    if Some(first) < times.start {
                        return Err(invalid(format!(
                            "the first datagram's time is {first} ns, before the start"
                        )));
                    }
                }
                Timetable::At(at)
            }
        };
        let mut draft = self.draft(PROTOCOL_UDP, flow, times)?;
        let config = UdpStreamConfig {
            timetable,
            start: draft.start,
            stop: draft.stop,
            payload,
        };
        let stream = UdpStream::new(config, &mut draft.common.random);
        Ok(self.begin(draft.common, Traffic::UdpStream(stream)))
    }
}
