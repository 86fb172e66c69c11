// SPDX-License-Identifier: Apache-2.0
//! Two ends over a link with a rate, a delay and a queue, in virtual time.

mod closing;
mod congestion;
mod handshake;
mod hostile;
mod losses;
mod properties;
mod receiving;
mod world;
