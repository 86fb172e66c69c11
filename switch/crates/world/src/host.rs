// SPDX-License-Identifier: Apache-2.0
//! A host: an address at a device's port, and which application gets what arrives.

use std::collections::BTreeMap;

use crate::digest::Happened;
use crate::frame::Frame;
use crate::lateness::{Gate, Lateness};
use crate::net::Net;
use crate::wire::{FlowKey, Mac};

/// First of the ports that a host chooses by itself, and behind the last.
const EPHEMERAL: std::ops::Range<u16> = 32_768..60_999;

/// The end of an application's flow that a host has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The source's.
    Client,
    /// The destination's.
    Server,
}

/// An application's end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The application, by its index.
    pub application: u32,
    /// Which end.
    pub role: Role,
}

/// Frames of a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostCounters {
    /// Sent, those that the link had no room for included.
    pub sent: u64,
    /// Received.
    pub received: u64,
    /// Received, and for no application here.
    pub unwanted: u64,
    /// Received with a wrong checksum, or cut off.
    pub malformed: u64,
    /// The link had no room for them.
    pub dropped: u64,
}

/// A host.
#[derive(Debug)]
pub struct Host {
    /// For messages.
    pub name: String,
    /// The hash of its name, for the digest.
    pub hash: u64,
    /// Its MAC address.
    pub mac: Mac,
    /// Its IPv4 address.
    pub address: [u8; 4],
    /// The device_id of the device that it is at.
    pub device: u64,
    /// The port there.
    pub port: u16,
    /// The link to the device.
    pub link: u32,
    /// How late its processes are.
    pub lateness: Lateness,
    /// The source of its processes, where these may be late.
    pub source: u32,
    /// What arrives waits here for them.
    pub gate: Gate<(Frame, Option<Endpoint>)>,
    /// Frames.
    pub counters: HostCounters,
    /// Applications that send from here.
    pub applications: u32,
    flows: BTreeMap<FlowKey, Endpoint>,
    next_port: u16,
}

impl Host {
    /// A host without applications.
    #[must_use]
    #[allow(clippy::too_many_arguments)]
    pub fn new(
        name: &str,
        hash: u64,
        mac: Mac,
        address: [u8; 4],
        (device, port): (u64, u16),
        link: u32,
        source: u32,
        (lateness, gate): (Lateness, Gate<(Frame, Option<Endpoint>)>),
    ) -> Self {
        Self {
            name: name.to_owned(),
            hash,
            mac,
            address,
            device,
            port,
            link,
            lateness,
            source,
            gate,
            counters: HostCounters::default(),
            applications: 0,
            flows: BTreeMap::new(),
            next_port: EPHEMERAL.start,
        }
    }

    /// A frame leaves now.
    pub fn send(&mut self, net: &mut Net, frame: Frame) {
        self.counters.sent += 1;
        net.totals.sent += 1;
        net.note(Happened::HostSent, self.hash, 0, frame.hash);
        if !net.send(self.link, frame, self.hash, 0) {
            self.counters.dropped += 1;
        }
    }

    /// A port that none of its flows to another port has, if there is one.
    pub fn free_port(&mut self, protocol: u8, remote: [u8; 4], remote_port: u16) -> Option<u16> {
        for _ in EPHEMERAL {
            let local_port = self.next_port;
            self.next_port += 1;
            if self.next_port == EPHEMERAL.end {
                self.next_port = EPHEMERAL.start;
            }
            let key = FlowKey {
                local_port,
                remote_port,
                remote,
                protocol,
            };
            if !self.flows.contains_key(&key) {
                return Some(local_port);
            }
        }
        None
    }

    /// Whose a flow is.
    #[must_use]
    pub fn flow(&self, key: &FlowKey) -> Option<Endpoint> {
        self.flows.get(key).copied()
    }

    /// A flow is an application's from now on.
    pub fn open(&mut self, key: FlowKey, endpoint: Endpoint) {
        self.flows.insert(key, endpoint);
    }

    /// A flow is nobody's any more.
    pub fn close(&mut self, key: &FlowKey) {
        self.flows.remove(key);
    }
}
