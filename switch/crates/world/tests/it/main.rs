// SPDX-License-Identifier: Apache-2.0
//! Tests of whole worlds: one program, which is linked once.

mod common;
mod plant;

mod balance;
mod bits;
mod channel_states;
mod channels;
mod digests;
mod entrance;
mod hosts;
mod refusals;
mod transfers;
