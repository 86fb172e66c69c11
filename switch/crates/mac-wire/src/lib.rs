// SPDX-License-Identifier: Apache-2.0
//! What crosses an upstream channel, and what both ends have to agree on: the minislot
//! clock, MAPs, requests, headers, how many minislots a burst takes, and profiles.
//!
//! The scheduler (`mac-cmts`) and the modems (`mac-modem`) depend on this crate and not on
//! each other: only encoded MAPs and decoded requests cross.
//!
//! Nothing here trusts what it reads: bytes and configurations are refused in one sentence, and no
//! input makes it panic. All of it is in integers: minislots, nanoseconds, bytes.
//!
//! ```
//! use mac_wire::{Minislot, Profile};
//!
//! let channel = Profile::docsis_1_1_004(2_000_000).unwrap();
//! channel.check().unwrap();
//! // A packet of 1500 bytes: Ethernet's 18 more, and the MAC header.
//! assert_eq!(channel.phy.minislots(1518 + u64::from(channel.header)), 96);
//! assert_eq!(channel.clock.start(Minislot(80)), channel.map_length());
//! ```

mod burst;
mod clock;
mod crc;
mod error;
mod extended;
mod extended_bytes;
mod flow;
mod flow_check;
mod flow_settings;
mod mac_header;
mod map;
mod map_body;
mod map_message;
mod phy;
mod policy;
mod profile;
mod profile_check;
mod profile_numbers;
mod profile_settings;
mod profiles;
mod reader;
mod request;
mod segment;
mod settings;

pub use burst::{CRC_LENGTH, FRAGMENT_OVERHEAD, Fragment, concatenate, frames, mac_frame};
pub use clock::{Clock, Minislot};
pub use crc::header_check_sequence;
pub use error::{Refused, WireError};
pub use extended::{Extended, FragmentControl, Key, UnsolicitedSync};
pub use flow::{FlowConfig, Periodic, Service, Sid};
pub use flow_settings::FlowSettings;
pub use mac_header::MacHeader;
pub use map::{Backoff, Element, Map, Usage};
pub use phy::{LEAST_CODEWORD_DATA, Phy};
pub use policy::Policy;
pub use profile::{Asking, Capacity, ContentionPlace, GrantPlace, Packing, Profile, Timing};
pub use request::{Amount, Request};
pub use segment::SegmentHeader;
pub use settings::{Setting, Settings};

/// The link type of a capture of these frames (`LINKTYPE_DOCSIS`).
///
/// One record is what [`Map::message`], [`Request::encode`], [`mac_frame`] or [`concatenate`] give.
/// Wireshark's dissector reads no segment headers: of a continuous burst a capture shows the MAC
/// frames that end in it. The dissector also looks for a fragment's CRC behind the fragment, by the
/// length of the extended header, so a capture shows a cut frame whole too, where it ends.
pub const LINK_TYPE: u16 = 143;
