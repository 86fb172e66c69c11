// SPDX-License-Identifier: Apache-2.0
//! A cable plant: modems' devices and a CMTS's, the RF link between two of their ports in memory, and
//! upstream channels with a request/grant MAC on it. Sans-IO: time is an argument.
//!
//! A [`Plant`] runs devices and channels in due order. What devices do at a time, and frames that
//! reach them then, come before channels act at that time: a frame that comes when a minislot begins
//! can be asked for in it. Downstream a frame reaches the modem's port when it leaves the CMTS's;
//! upstream too, until the port is granted: then grants let its frames go, and a frame reaches the
//! CMTS when its last byte does.
//!
//! Whoever has the devices is a list of [`Node`]s, in an order that stays. A device that belongs to a
//! plant is run by that alone: [`Plant::run`] in the place of [`device::Device::poll`].
//!
//! [`DeviceQueue`] and [`Members`] are what any plant has of a channel's ends, be it this one or a
//! world in virtual time.

mod channel;
mod channel_capture;
mod configuration;
mod configure;
mod handle;
mod map_traffic;
mod members;
mod node;
mod plan;
mod rf;
mod run;
mod taps;

pub use channel_capture::{CaptureFile, CaptureOutput, Captured, ChannelCapture, Tap};
pub use configuration::{ChannelConfig, Configuration, FlowPlace, GrantedPort, Refused};
pub use handle::{MOST_FLOWS, PlantGone, PlantHandle, PlantRequests};
pub use mac_channel;
pub use mac_wire;
pub use map_traffic::{MapTraffic, MapsMade};
pub use members::{Carrier, DeviceQueue, Member, Members, trace_burst};
pub use node::{End, Node};
pub use run::{Look, Plant};
