// SPDX-License-Identifier: Apache-2.0
//! The tests of a plant: one program, which is linked once.

mod common;

mod changes;
mod delays;
mod hostile;
mod time;
