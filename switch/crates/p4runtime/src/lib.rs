// SPDX-License-Identifier: Apache-2.0
//! P4Runtime and traffic manager services over gRPC for devices.

pub mod proto;
