// SPDX-License-Identifier: Apache-2.0
//! Stations, told of MAPs by hand.

mod asking;
mod bench;
mod contending;
mod hostile;
mod sending;
