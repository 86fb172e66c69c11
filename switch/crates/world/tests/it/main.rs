// SPDX-License-Identifier: Apache-2.0
//! Tests of whole worlds: one program, which is linked once.

mod acks;
mod collected;
mod common;
mod plant;

mod balance;
mod bits;
mod channel_states;
mod channel_views;
mod channels;
mod digests;
mod downstream;
mod entrance;
mod faults;
mod hosts;
mod pages;
mod refusals;
mod request_response;
mod shared_rates;
mod stages;
mod transfers;
mod videos;
