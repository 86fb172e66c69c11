// SPDX-License-Identifier: Apache-2.0
//! The generated protobuf messages and services.

#![allow(missing_docs, clippy::all)]

/// Package `google`.
pub mod google {
    /// Package `google.rpc`.
    pub mod rpc {
        tonic::include_proto!("google.rpc");
    }
}

/// Package `p4`.
pub mod p4 {
    /// Package `p4.config`.
    pub mod config {
        /// Package `p4.config.v1`: P4Info.
        pub mod v1 {
            tonic::include_proto!("p4.config.v1");
        }
    }
    /// Package `p4.v1`: P4Runtime.
    pub mod v1 {
        tonic::include_proto!("p4.v1");
    }
}

/// Package `docsis`.
pub mod docsis {
    /// Package `docsis.mac`.
    pub mod mac {
        /// Package `docsis.mac.v1`: upstream channels with a request/grant MAC.
        pub mod v1 {
            tonic::include_proto!("docsis.mac.v1");
        }
    }
    /// Package `docsis.switch`.
    pub mod switch {
        /// Package `docsis.switch.v1`: the process's service.
        pub mod v1 {
            tonic::include_proto!("docsis.switch.v1");
        }
    }
    /// Package `docsis.tm`.
    pub mod tm {
        /// Package `docsis.tm.v1`: the traffic manager's service.
        pub mod v1 {
            tonic::include_proto!("docsis.tm.v1");
        }
    }
}

/// Serialised descriptors of all messages.
pub(crate) const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));
