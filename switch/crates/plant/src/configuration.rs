// SPDX-License-Identifier: Apache-2.0
//! The configuration of a plant's upstream channels.

use std::fmt;

use mac_wire::{Capacity, FlowConfig, Profile, Sid};

use crate::map_traffic::MapTraffic;
use crate::node::End;

/// An upstream channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelConfig {
    /// Its name.
    pub name: String,
    /// Its number in MAPs, 1 to 255.
    pub number: u8,
    /// Its numbers.
    pub profile: Profile,
    /// What its MAPs take of the downstream, before the frames of the CMTS's ports at which what it
    /// carries arrives; `None`: nothing. At most [`MOST_MAP_BYTES`] each.
    pub map_traffic: Option<MapTraffic>,
}

/// Bytes of a MAP's message, and of an information element.
pub const MOST_MAP_BYTES: u32 = 65_535;

/// MAPs that all channels make in a second, at their usual length. One thread makes them and runs the
/// devices besides. 255 channels with MAPs of 2 ms make 127,500.
pub const MOST_MAPS_A_SECOND: u64 = 150_000;

/// A port whose service flows send what grants let go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GrantedPort {
    /// The port, which has an RF link.
    pub end: End,
    /// The queue of the service flow that sends what the pipeline puts into queue 0.
    pub primary: u32,
}

/// A service flow of a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowPlace {
    /// The channel's name.
    pub channel: String,
    /// The granted port at which its frames wait.
    pub end: End,
    /// Their queue there.
    pub queue_id: u32,
    /// What scheduler and modem are told of it. Its rates are what the CMTS enforces on grants; the
    /// modem shapes its requests by those of the queue in its traffic manager.
    pub flow: FlowConfig,
}

/// A change of a plant's upstream channels, all of which is made, or nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Configuration {
    /// Channels that there are to be; one that is there as it is here goes on.
    pub channels: Vec<ChannelConfig>,
    /// Ports that are to be granted; one that is already goes on.
    pub granted: Vec<GrantedPort>,
    /// Service flows that there are to be, new or changed; one that is as it is here goes on.
    pub flows: Vec<FlowPlace>,
    /// Service flows that are to go, by the channel's name and SID.
    pub removed: Vec<(String, Sid)>,
    /// What other users leave of channels from their next MAPs on, by the channel's name; `None`: all
    /// of it. A channel begins with what its profile has.
    pub capacities: Vec<(String, Option<Capacity>)>,
    /// What is not here is to go, too: channels that are not here, or are here with other numbers,
    /// and service flows.
    pub complete: bool,
}

/// Why nothing was changed, in one sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    /// A value is not possible.
    Invalid(String),
    /// It is not possible as things are: what a scheduler does not admit, above all.
    Precondition(String),
    /// There is no such thing.
    NotFound(String),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Invalid(words) | Self::Precondition(words) | Self::NotFound(words)) = self;
        f.write_str(words)
    }
}

impl std::error::Error for Refused {}
