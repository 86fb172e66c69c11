// SPDX-License-Identifier: Apache-2.0
//! The tests of the services: one program, which is linked once. `holds.rs` has an allocator of
//! its own and stays a program of its own.

#[path = "../common/mod.rs"]
mod common;

mod atomicity;
mod disagreements;
mod entities;
mod events;
mod in_flight;
mod initial_entries;
mod kept_entries;
mod kept_updates;
mod limits;
mod meters;
mod pipeline_config;
mod random;
mod roles;
mod selectors;
mod small_messages;
mod streams;
mod tls;
mod unread;
mod upstream_channels;
