// SPDX-License-Identifier: Apache-2.0
//! The platform that the switch runs on: packet sockets, ppoll and the monotonic clock.

use crate::clock::Clock;
use crate::packet_socket::PacketSocket;
use crate::port::Platform;
use crate::wait::PollSet;

/// Linux.
#[derive(Debug)]
pub enum Linux {}

impl Platform for Linux {
    type Clock = Clock;
    type Port = PacketSocket;
    type Poll = PollSet;
}
