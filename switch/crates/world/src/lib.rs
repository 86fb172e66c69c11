// SPDX-License-Identifier: Apache-2.0
//! Devices, links, hosts and their traffic in virtual time.
//!
//! A [`World`] has one clock, which only [`World::run_until`] moves, and one order of
//! events. Devices are those of the crate `device`, with their pipeline, traffic
//! manager and P4Runtime server; hosts, links and applications are simulated. Nothing
//! here takes time, a thread or randomness from anywhere but its arguments, so from the
//! same seed and the same calls follow the same packets, to the nanosecond. (The runtime
//! for the P4Runtime server's futures loads programs in a thread, and waits for that.)
//!
//! All times are nanoseconds since the world began.

mod application;
mod collected;
mod departures;
mod device_node;
mod digest;
mod error;
mod frame;
mod host;
mod lateness;
mod link;
mod meter;
mod net;
mod pareto;
mod random;
mod rate_limit;
mod records;
mod samples;
mod schedule;
mod upstream;
mod wire;
mod world;

pub use application::{Content, Counts, Named, Timed, TransferInfo, VideoColumns};
pub use departures::Departure;
pub use device::{Books, QueueId};
pub use error::WorldError;
pub use frame::{CRC, LONGEST, SHORTEST, frame_length};
pub use host::HostCounters;
pub use lateness::Lateness;
pub use link::{LinkConfig, LinkState};
pub use mac_channel::Statistics as ChannelStatistics;
pub use mac_wire;
pub use net::{MOST_BYTES_ON_LINKS, MOST_VALUES, Totals};
pub use pareto::Pareto;
pub use plant::{CaptureOutput, Captured, MapTraffic};
pub use rate_limit::RateLimitId;
pub use samples::SenderReading;
pub use wire::Mac;
pub use world::{
    Acknowledgements, Congestion, DeviceOptions, Flow, HostOptions, MOST_APPLICATIONS,
    MOST_CHANNELS, MOST_DEVICES, MOST_HOSTS, MessagesOptions, PagesOptions, ProbesOptions, Profile,
    RequestResponseOptions, RequestsOptions, StreamId, TcpOptions, Times, TransferOptions,
    UdpStreamOptions, VideoOptions, World,
};
