// SPDX-License-Identifier: Apache-2.0
//! The tests of the switch as a process: one program, which is linked once.

mod common;

mod answered;
mod configuration;
mod files;
mod hostile;
mod life;
mod memory;
mod privileges;
mod process;
mod record;
mod taps;
mod time;
mod tls;
mod trace;
mod unix;
