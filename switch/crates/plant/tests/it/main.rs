// SPDX-License-Identifier: Apache-2.0
//! The tests of a plant: one program, which is linked once.

mod common;

mod captures;
mod changes;
mod delays;
mod hostile;
mod time;
