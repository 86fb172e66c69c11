// SPDX-License-Identifier: Apache-2.0
//! The devices' thread without root and in virtual time: ports whose frames a test makes, the
//! clock of a world that goes on when the thread sleeps, and faults on top of any port.

mod far_end;
mod faulty;
pub mod kept;
mod laws;
mod loop_tests;
mod soak;
mod stand;
mod world;
