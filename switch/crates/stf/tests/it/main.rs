// SPDX-License-Identifier: Apache-2.0
//! The tests of the format: one program, which is linked once.

mod programs;
mod reports;
