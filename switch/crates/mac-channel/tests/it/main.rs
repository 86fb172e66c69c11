// SPDX-License-Identifier: Apache-2.0
//! Channels with queues of lengths alone, against mac.md's vectors and against laws.

mod agreement;
mod bucket;
mod changes;
mod every_map;
mod idle;
mod laws;
mod plant;
mod scenario;
mod services;
mod vectors_a;
mod vectors_b;
mod vectors_c;
mod watching;
