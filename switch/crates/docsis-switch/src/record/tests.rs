// SPDX-License-Identifier: Apache-2.0
//! Devices that are recorded, and what is replayed of them.
