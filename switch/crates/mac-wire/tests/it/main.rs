// SPDX-License-Identifier: Apache-2.0
//! What both ends of a channel rely on: MAPs through bytes, profiles, and mac.md's vectors that follow
//! from a profile's numbers alone.

mod checks;
mod flows;
mod maps;
mod maps_refused;
mod vectors;
