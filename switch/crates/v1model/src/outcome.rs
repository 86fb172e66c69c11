// SPDX-License-Identifier: Apache-2.0
//! The forms in which a packet enters a pipeline, and its possible outcomes at the end.

use crate::grants::Grants;
use crate::schema::DigestId;

/// `standard_metadata.instance_type`: how a packet came to be. The numbers are
/// BMv2's, but for the last, which BMv2 does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum InstanceType {
    /// As received, or a packet-out.
    #[default]
    Normal = 0,
    /// Cloned at the end of ingress.
    IngressClone = 1,
    /// Cloned at the end of egress.
    EgressClone = 2,
    /// Back from egress to ingress.
    Recirculated = 4,
    /// A multicast copy.
    Replication = 5,
    /// Once more through ingress.
    Resubmitted = 6,
    /// In egress: the traffic manager has taken it out of the middle of its queue. Egress may
    /// account for it; it goes nowhere.
    Suppressed = 7,
}

/// What becomes of a packet after ingress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// `egress_spec` was the drop port, or an assertion failed.
    Drop,
    /// To one port, the CPU port included.
    Unicast {
        /// The egress port.
        port: u16,
    },
    /// To the replicas of a group, of which there may be none; see
    /// [`Pipeline::multicast`](crate::Pipeline::multicast).
    Multicast {
        /// `mcast_grp`, not 0.
        group: u16,
    },
    /// Through ingress again, as received: see
    /// [`Pipeline::ingress_again`](crate::Pipeline::ingress_again).
    Resubmit,
}

/// The end of ingress. Its parts are independent; BMv2 clones first, then sends
/// the digest, then deals with the packet itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IngressOutcome {
    /// What becomes of the packet itself.
    pub fate: Fate,
    /// Clone it for this session; see
    /// [`Pipeline::clone_ingress`](crate::Pipeline::clone_ingress).
    pub clone: Option<u16>,
    /// Send this digest of it; see
    /// [`Pipeline::digest_fields`](crate::Pipeline::digest_fields).
    pub digest: Option<DigestId>,
}

impl IngressOutcome {
    /// A fate, without clone or digest.
    pub(crate) fn only(fate: Fate) -> Self {
        IngressOutcome {
            fate,
            clone: None,
            digest: None,
        }
    }
}

/// What becomes of a packet after egress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EgressFate {
    /// The frame is in the output buffer.
    Send,
    /// Dropped; the output buffer is empty.
    Drop,
    /// The frame in the output buffer goes through ingress again: give it to
    /// [`Packet::recirculate`](crate::Packet::recirculate), later the packet to
    /// [`Pipeline::ingress_again`](crate::Pipeline::ingress_again).
    Recirculate,
}

/// The end of egress. BMv2 clones first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EgressOutcome {
    /// What becomes of the packet itself.
    pub fate: EgressFate,
    /// Clone it for this session; see
    /// [`Pipeline::clone_egress`](crate::Pipeline::clone_egress).
    pub clone: Option<u16>,
    /// The frame in the output buffer is the one that went into this pass of the pipeline,
    /// byte for byte.
    pub as_received: bool,
}

/// What the traffic manager knows about a packet that leaves it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EgressMetadata {
    /// `egress_port`.
    pub port: u16,
    /// `egress_rid`, the replica's instance; 0 for unicast.
    pub rid: u16,
    /// `instance_type`.
    pub instance_type: InstanceType,
    /// `deq_qdepth`: packets in the queue after this one was taken out.
    pub deq_qdepth: u32,
    /// `qid` of BMv2's `queueing_metadata`: the priority of the queue, which
    /// few programs have.
    pub queue: u8,
    /// What grants it had, where grants let it go.
    pub grants: Option<Grants>,
}
