// SPDX-License-Identifier: Apache-2.0
//! Recordings as files. What is recorded of devices is tested where that is done, in the switch.

mod damage;
mod records;
