// SPDX-License-Identifier: Apache-2.0
//! p4c's simple test format (STF): what goes into which port, what the control
//! plane sets, and what is expected to come out.
//!
//! [`parse`] reads a test, [`run`] plays it on a [`device::Device`] in virtual
//! time, [`Outcome`] says what differed, in words ([`Outcome::text`]) or as
//! JSON ([`Outcome::json`]). The language is what p4c's driver for BMv2
//! accepts, and a little more; see [`script`].

mod compare;
mod control;
mod error;
mod literal;
mod lookup;
mod names;
mod outcome;
mod parse;
mod run;
pub mod script;
mod token;
mod values;

pub use error::Error;
pub use literal::Literal;
pub use outcome::{Difference, Failure, Note, Outcome};
pub use parse::parse;
pub use run::{Options, run, run_traced};
