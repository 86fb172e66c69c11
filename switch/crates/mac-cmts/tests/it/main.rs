// SPDX-License-Identifier: Apache-2.0
//! The scheduler as its channel sees it: what is heard goes in, MAPs come out.

mod calls;
mod capacity;
mod drive;
mod hostile;
mod laws;
mod marks;
mod proactive;
mod reserved;
mod services;
mod sharing;
mod timing;
mod windows;
mod world;
