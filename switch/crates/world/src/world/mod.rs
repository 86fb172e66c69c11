// SPDX-License-Identifier: Apache-2.0
//! The world, and the parts that it is made of.

mod channels;
mod control;
mod faults;
mod pages_traffic;
mod results;
mod run;
mod tcp_traffic;
mod traffic;
mod video_traffic;

use std::collections::BTreeMap;

use device::{DeviceConfig, TraceId};
use grpc_services::in_process::InProcessStream;
use tokio::runtime::Runtime;
use xxhash_rust::xxh3::xxh3_64;

use crate::application::Application;
use crate::device_node::DeviceNode;
use crate::error::{WorldError, invalid};
use crate::host::Host;
use crate::lateness::{Gate, Lateness};
use crate::link::{End, Link, LinkConfig};
use crate::meter::Meter;
use crate::net::Net;
use crate::random::Random;
use crate::schedule::{Kind, Rank};
use crate::upstream::Upstream;
use crate::wire::Mac;
use run::{Injection, Sampler, Source};

pub use channels::MOST_CHANNELS;
pub use control::StreamId;
pub use pages_traffic::PagesOptions;
pub use tcp_traffic::{
    Acknowledgements, Congestion, MessagesOptions, Profile, RequestsOptions, TcpOptions,
    TransferOptions,
};
pub use traffic::{Flow, ProbesOptions, RequestResponseOptions, Times, UdpStreamOptions};
pub use video_traffic::VideoOptions;

/// Devices of a world.
pub const MOST_DEVICES: usize = 1024;
/// Hosts of a world.
pub const MOST_HOSTS: usize = 16_384;
/// Applications of a world.
pub const MOST_APPLICATIONS: usize = 65_536;
/// Ports that a device can have: v1model's have 9 bits, and the last one means "drop".
const LAST_PORT: u16 = 510;
/// The longest name.
const MOST_NAME: usize = 64;
/// bit/s of a link, and the longest delay or jitter, nanoseconds.
const MOST_RATE: u64 = 10_000_000_000_000;
const MOST_DELAY: u64 = 60_000_000_000;

/// A device to add.
#[derive(Clone, Debug, Default)]
pub struct DeviceOptions<'a> {
    /// Its name here.
    pub name: &'a str,
    /// P4Runtime's device_id, not 0.
    pub device_id: u64,
    /// Port numbers.
    pub ports: Vec<u16>,
    /// The port of packet-in and packet-out.
    pub cpu_port: Option<u16>,
    /// The seed of programs' random draws; drawn from the world's seed unless given.
    pub seed: Option<u64>,
    /// How late its process sends.
    pub lateness: Lateness,
}

/// A host to add.
#[derive(Clone, Debug, Default)]
pub struct HostOptions<'a> {
    /// Its name here.
    pub name: &'a str,
    /// Its MAC address.
    pub mac: Mac,
    /// Its IPv4 address.
    pub address: [u8; 4],
    /// The device that it is at.
    pub device: &'a str,
    /// The port there.
    pub port: u16,
    /// The link to it.
    pub link: LinkConfig,
    /// How late its processes are.
    pub lateness: Lateness,
}

/// Devices, links, hosts and applications on one clock.
#[derive(Debug)]
pub struct World {
    seed: u64,
    net: Net,
    /// What each source of the schedule is.
    sources: Vec<Source>,
    devices: Vec<DeviceNode>,
    hosts: Vec<Host>,
    applications: Vec<Application>,
    samplers: Vec<Sampler>,
    meters: Vec<Meter>,
    injections: Vec<Injection>,
    channels: Vec<Upstream>,
    /// Traces, each of a device.
    traces: Vec<(usize, TraceId)>,
    device_names: BTreeMap<String, u32>,
    host_names: BTreeMap<String, u32>,
    channel_names: BTreeMap<String, u32>,
    streams: Vec<Option<(u64, u32, InProcessStream)>>,
    /// Streams that were opened.
    opened: u64,
    runtime: Runtime,
}

fn device_rank(kind: Kind, device: u64, port: u16, number: u32) -> Rank {
    Rank {
        kind,
        device,
        port,
        number,
    }
}

fn checked_name<'a>(what: &str, name: &'a str) -> Result<&'a str, WorldError> {
    if name.is_empty() || name.len() > MOST_NAME {
        return Err(invalid(format!(
            "a {what}'s name has 1 to {MOST_NAME} bytes, not {}",
            name.len()
        )));
    }
    Ok(name)
}

fn checked_link(link: LinkConfig) -> Result<LinkConfig, WorldError> {
    if link.rate > MOST_RATE {
        return Err(invalid(format!(
            "a link has at most {MOST_RATE} bit/s, not {}; 0 is no limit",
            link.rate
        )));
    }
    if link.delay > MOST_DELAY || link.jitter > MOST_DELAY {
        return Err(invalid(format!(
            "a link's delay and jitter are a minute at most, not {} ns and {} ns",
            link.delay, link.jitter
        )));
    }
    Ok(link)
}

impl World {
    /// An empty world at time 0.
    ///
    /// # Errors
    /// The system has no memory for it.
    pub fn new(seed: u64) -> Result<Self, WorldError> {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let runtime = runtime.map_err(|error| invalid(format!("no runtime: {error}")))?;
        Ok(Self {
            seed,
            net: Net::default(),
            sources: Vec::new(),
            devices: Vec::new(),
            hosts: Vec::new(),
            applications: Vec::new(),
            samplers: Vec::new(),
            meters: Vec::new(),
            injections: Vec::new(),
            channels: Vec::new(),
            traces: Vec::new(),
            device_names: BTreeMap::new(),
            host_names: BTreeMap::new(),
            channel_names: BTreeMap::new(),
            streams: Vec::new(),
            opened: 0,
            runtime,
        })
    }

    /// The seed.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The time until which everything has happened.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.net.now
    }

    fn source(&mut self, rank: Rank, source: Source) -> u32 {
        self.sources.push(source);
        self.net.schedule.add(rank)
    }

    fn random(&self, purpose: &str, owner: &str, number: u64) -> Random {
        Random::stream(self.seed, purpose, owner, number)
    }

    /// # Errors
    /// There is no such device.
    fn device_index(&self, name: &str) -> Result<usize, WorldError> {
        let found = self.device_names.get(name).copied();
        found.map(|index| index as usize).ok_or_else(|| {
            let known: Vec<&str> = self.device_names.keys().map(String::as_str).collect();
            invalid(match known.len() {
                0 => format!("there is no device \"{name}\"; this world has none yet"),
                1..=8 => format!(
                    "there is no device \"{name}\"; there are {}",
                    known.join(", ")
                ),
                n => format!("there is no device \"{name}\" among the {n} of this world"),
            })
        })
    }

    /// # Errors
    /// There is no such host.
    fn host_index(&self, name: &str) -> Result<usize, WorldError> {
        let found = self.host_names.get(name).copied();
        found
            .map(|index| index as usize)
            .ok_or_else(|| invalid(format!("there is no host \"{name}\" in this world")))
    }

    /// The device and port of a link's end, both free.
    fn free_end(&self, device: &str, port: u16) -> Result<usize, WorldError> {
        let index = self.device_index(device)?;
        let node = &self.devices[index];
        if !node.has_port(port) {
            return Err(invalid(format!(
                "device \"{device}\" has no port {port} for a link"
            )));
        }
        if node.link(port).is_some() {
            return Err(invalid(format!(
                "port {port} of device \"{device}\" has a link already"
            )));
        }
        Ok(index)
    }

    /// Adds a device with the docsis traffic manager and without a pipeline.
    ///
    /// # Errors
    /// Which value is not possible.
    pub fn add_device(&mut self, options: &DeviceOptions<'_>) -> Result<(), WorldError> {
        self.check()?;
        let name = checked_name("device", options.name)?;
        if self.devices.len() >= MOST_DEVICES {
            return Err(invalid(format!(
                "a world has at most {MOST_DEVICES} devices"
            )));
        }
        if self.device_names.contains_key(name) {
            return Err(invalid(format!("there is a device \"{name}\" already")));
        }
        let id = options.device_id;
        if id == 0 {
            return Err(invalid("a device_id of 0 is none: P4Runtime keeps it"));
        }
        if let Some(other) = self
            .devices
            .iter()
            .find(|d| d.device.config().device_id == id)
        {
            return Err(invalid(format!(
                "device \"{}\" has device_id {id} already",
                other.name
            )));
        }
        let mut seen = Vec::new();
        for &port in options.ports.iter().chain(&options.cpu_port) {
            if port == 0 || port > LAST_PORT {
                return Err(invalid(format!(
                    "port {port} of device \"{name}\" is not within 1 to {LAST_PORT}"
                )));
            }
            if seen.contains(&port) {
                return Err(invalid(format!(
                    "device \"{name}\" is given port {port} twice"
                )));
            }
            seen.push(port);
        }
        let seed = options
            .seed
            .unwrap_or_else(|| self.random("device", name, id).bits());
        let config = DeviceConfig {
            device_id: id,
            cpu_port: options.cpu_port,
            seed,
            ..DeviceConfig::default()
        };
        let index = self.devices.len() as u32;
        let source = self.source(device_rank(Kind::Device, id, 0, 0), Source::Device(index));
        let process = self.source(device_rank(Kind::Process, id, 0, 0), Source::Process(index));
        let gate = Gate::new(options.lateness, self.random("process", name, id));
        let hash = xxh3_64(name.as_bytes());
        let sources = [source, process];
        let node = DeviceNode::new(name, hash, config, &options.ports, sources, gate);
        self.devices.push(node);
        self.device_names.insert(name.to_owned(), index);
        Ok(())
    }

    /// A direction of a link. `from` says whose it is, for its rank and what it draws.
    fn add_link(&mut self, config: LinkConfig, from: (u64, u16), to: End, rank: Rank) -> u32 {
        let index = self.net.links.len() as u32;
        let source = self.source(rank, Source::Link(index));
        let owner = format!("{}:{}", from.0, from.1);
        let purpose = match to {
            End::Device(..) => "link to a device",
            End::Host(_) => "link to a host",
        };
        let random = self.random(purpose, &owner, 0);
        self.net.links.push(Link::new(config, random, to, source));
        index
    }

    /// Connects two device ports.
    ///
    /// # Errors
    /// Which value is not possible.
    pub fn connect(
        &mut self,
        one: (&str, u16),
        other: (&str, u16),
        config: LinkConfig,
    ) -> Result<(), WorldError> {
        self.check()?;
        let config = checked_link(config)?;
        let ends = [
            self.free_end(one.0, one.1)?,
            self.free_end(other.0, other.1)?,
        ];
        let ports = [one.1, other.1];
        if ends[0] == ends[1] && ports[0] == ports[1] {
            return Err(invalid(format!(
                "port {} of device \"{}\" cannot be connected with itself",
                one.1, one.0
            )));
        }
        let ids = ends.map(|end| self.devices[end].device.config().device_id);
        for (from, to) in [(0, 1), (1, 0)] {
            let rank = device_rank(Kind::ToDevice, ids[to], ports[to], 0);
            let end = End::Device(ends[to] as u32, ports[to]);
            let link = self.add_link(config, (ids[from], ports[from]), end, rank);
            self.devices[ends[from]].set_link(ports[from], link);
        }
        Ok(())
    }

    /// Adds a host at a device's port.
    ///
    /// # Errors
    /// Which value is not possible.
    pub fn add_host(&mut self, options: &HostOptions<'_>) -> Result<(), WorldError> {
        self.check()?;
        let name = checked_name("host", options.name)?;
        if self.hosts.len() >= MOST_HOSTS {
            return Err(invalid(format!("a world has at most {MOST_HOSTS} hosts")));
        }
        if self.host_names.contains_key(name) {
            return Err(invalid(format!("there is a host \"{name}\" already")));
        }
        let (mac, address) = (options.mac, options.address);
        if mac[0] & 1 != 0 || mac == [0; 6] {
            return Err(invalid(format!(
                "host \"{name}\" cannot have a group's MAC address or none"
            )));
        }
        let same = |host: &&Host| host.mac == mac || host.address == address;
        if let Some(other) = self.hosts.iter().find(same) {
            let what = if other.mac == mac { "MAC" } else { "IPv4" };
            return Err(invalid(format!(
                "host \"{name}\" cannot have the {what} address of host \"{}\"",
                other.name
            )));
        }
        let config = checked_link(options.link)?;
        let port = options.port;
        let device = self.free_end(options.device, port)?;
        let id = self.devices[device].device.config().device_id;
        let index = self.hosts.len() as u32;
        let rank = device_rank(Kind::ToDevice, id, port, 0);
        let up = self.add_link(config, (id, port), End::Device(device as u32, port), rank);
        let rank = device_rank(Kind::ToHost, id, port, 0);
        let down = self.add_link(config, (id, port), End::Host(index), rank);
        self.devices[device].set_link(port, down);
        let source = self.source(device_rank(Kind::Host, id, port, 0), Source::Host(index));
        let gate = Gate::new(options.lateness, self.random("host", name, 0));
        self.hosts.push(Host::new(
            name,
            xxh3_64(name.as_bytes()),
            mac,
            address,
            (id, port),
            up,
            source,
            (options.lateness, gate),
        ));
        self.host_names.insert(name.to_owned(), index);
        Ok(())
    }

    /// # Errors
    /// The world has reached a limit before.
    fn check(&self) -> Result<(), WorldError> {
        self.net.failure.clone().map_or(Ok(()), Err)
    }
}
