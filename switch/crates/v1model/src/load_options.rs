// SPDX-License-Identifier: Apache-2.0
//! Options for loading a program.

/// How a program is to be understood.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadOptions {
    /// Do as BMv2's simple_switch does where that contradicts P4_16; without
    /// it the specification holds:
    ///
    /// - A `select` without a match stops the parser with `error.NoMatch`
    ///   (P4_16 12.6); BMv2 accepts the packet without an error.
    /// - Two invalid headers are equal (P4_16 8.17), and so are two unions
    ///   without a valid member; to BMv2 they are different.
    /// - Two varbit fields are equal when they have the same length and bits
    ///   (P4_16 8.11); BMv2 compares them as numbers.
    pub bmv2_quirks: bool,
    /// Lists of entries take room as they are filled, and not at once for all entries that their
    /// tables may have: of use where no packet waits while they grow.
    pub grow: bool,
}
