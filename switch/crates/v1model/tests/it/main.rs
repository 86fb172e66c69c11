// SPDX-License-Identifier: Apache-2.0
//! The tests of programs and packets: one program, which is linked once. `allocation.rs` has an
//! allocator of its own and stays a program of its own.

#[path = "../common/mod.rs"]
mod common;
#[path = "../generate/mod.rs"]
mod generate;

mod any_expression;
mod checksums;
mod cm;
mod cycles;
mod expressions;
mod features;
mod grants;
mod limits;
mod meters;
mod profiles;
mod random_expressions;
mod random_programs;
mod refusals;
mod scale;
mod sizes;
mod stacks;
mod tables;
mod trace;
mod value_sets;
mod wide;
