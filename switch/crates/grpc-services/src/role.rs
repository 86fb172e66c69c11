// SPDX-License-Identifier: Apache-2.0
//! Decides what a role may do (P4Runtime specification 1.5, section 5.2): everything, or what its
//! configuration says. The configuration is an `Any`, in which clients send Stratum's
//! `stratum.P4RoleConfig` (`public/proto/p4_role_config.proto`).

use std::collections::BTreeSet;
use std::sync::Arc;

use prost::Message;
use prost_types::Any;
use tonic::Code;

use crate::failure::Failure;
use crate::proto::p4::v1 as p4;
use crate::proto::p4::v1::entity::Entity;

/// The longest name of a role, bytes.
const NAME_BYTES: usize = 256;
/// The longest configuration of a role, bytes: a few thousand ids.
const CONFIG_BYTES: usize = 16 << 10;
/// The type that the `Any` must have, behind the host.
const CONFIG_TYPE: &str = "stratum.P4RoleConfig";

/// Stratum's message.
#[derive(Clone, PartialEq, Message)]
struct P4RoleConfig {
    #[prost(uint32, repeated, tag = "1")]
    exclusive_p4_ids: Vec<u32>,
    #[prost(uint32, repeated, tag = "2")]
    shared_p4_ids: Vec<u32>,
    #[prost(message, optional, tag = "3")]
    packet_in_filter: Option<PacketFilter>,
    #[prost(bool, tag = "4")]
    receives_packet_ins: bool,
    #[prost(bool, tag = "5")]
    can_push_pipeline: bool,
}

/// Its inner message.
#[derive(Clone, PartialEq, Message)]
struct PacketFilter {
    #[prost(uint32, tag = "1")]
    metadata_id: u32,
    #[prost(bytes = "vec", tag = "2")]
    value: Vec<u8>,
}

/// What a role with a configuration may do.
#[derive(Debug, PartialEq)]
pub struct Access {
    /// The configuration as the client gave it, which other clients are told.
    given: Any,
    exclusive: BTreeSet<u32>,
    shared: BTreeSet<u32>,
    packet_in_filter: Option<PacketFilter>,
    receives_packet_ins: bool,
    can_push_pipeline: bool,
}

/// Reads the name and the configuration of the role that an arbitration update is for.
///
/// # Errors
/// INVALID_ARGUMENT if the role is given by a number, as in P4Runtime 1.2, if its name or its
/// configuration is too long, or if the configuration has an unknown type.
pub fn named(update: &p4::MasterArbitrationUpdate) -> Result<(&str, Option<Arc<Access>>), Failure> {
    let Some(role) = &update.role else {
        return Ok(("", None));
    };
    #[allow(deprecated)]
    if role.name.is_empty() && role.id != 0 {
        return Err(Failure::invalid(
            "role.id is not supported: name the role in role.name",
        ));
    }
    let length = role.name.len();
    if length > NAME_BYTES {
        return Err(Failure::invalid(format!(
            "role.name has {length} bytes, more than {NAME_BYTES}: choose a shorter one"
        )));
    }
    let access = role.config.as_ref().map(Access::read).transpose()?;
    Ok((&role.name, access.map(Arc::new)))
}

impl Access {
    fn read(config: &Any) -> Result<Self, Failure> {
        let length = config.value.len();
        if length > CONFIG_BYTES {
            return Err(Failure::invalid(format!(
                "role.config has {length} bytes, more than {CONFIG_BYTES}: name fewer objects, \
                 or leave it unset for access to the whole pipeline"
            )));
        }
        let name = config.type_url.rsplit('/').next().unwrap_or_default();
        if name != CONFIG_TYPE || config.type_url.len() > NAME_BYTES {
            return Err(Failure::invalid(format!(
                "role.config is not a {CONFIG_TYPE}, which is the only scheme of role \
                 configurations here: leave it unset for access to the whole pipeline"
            )));
        }
        let read = P4RoleConfig::decode(config.value.as_slice())
            .map_err(|error| Failure::invalid(format!("role.config: {error}")))?;
        Ok(Access {
            given: config.clone(),
            exclusive: read.exclusive_p4_ids.into_iter().collect(),
            shared: read.shared_p4_ids.into_iter().collect(),
            packet_in_filter: read.packet_in_filter,
            receives_packet_ins: read.receives_packet_ins,
            can_push_pipeline: read.can_push_pipeline,
        })
    }

    /// The configuration as it was given.
    pub fn given(&self) -> &Any {
        &self.given
    }

    /// An object that both roles may write although one of them has it for itself alone.
    pub fn conflict(&self, other: &Access) -> Option<u32> {
        let taken = |own: &Access, theirs: &Access| {
            let mut own = own.exclusive.iter();
            let is_theirs = |id: &&u32| theirs.exclusive.contains(id) || theirs.shared.contains(id);
            own.find(is_theirs).copied()
        };
        taken(self, other).or_else(|| taken(other, self))
    }

    /// Checks that the role may write an object, given by its id in P4Info. The packet replication
    /// engine has no id, so no role with a configuration may write it, as in Stratum.
    ///
    /// # Errors
    /// PERMISSION_DENIED if it may not.
    pub fn write(&self, id: Option<u32>) -> Result<(), Failure> {
        match id {
            Some(id) if self.exclusive.contains(&id) || self.shared.contains(&id) => Ok(()),
            Some(id) => Err(Failure::denied(format!(
                "the role's configuration does not have the object with id {id}"
            ))),
            None => Err(Failure::denied(
                "the role's configuration is for objects with an id, and this one has none: write \
                 it as the default role",
            )),
        }
    }

    /// # Errors
    /// PERMISSION_DENIED: the role may not set forwarding pipeline configs.
    pub fn push_pipeline(&self) -> Result<(), Failure> {
        if self.can_push_pipeline {
            return Ok(());
        }
        Err(Failure::new(
            Code::PermissionDenied,
            "the role's configuration does not have can_push_pipeline",
        ))
    }

    /// Whether the role gets this packet-in.
    pub fn receives(&self, packet: &p4::PacketIn) -> bool {
        let passes = |filter: &PacketFilter| {
            let mut metadata = packet.metadata.iter();
            metadata.any(|m| m.metadata_id == filter.metadata_id && m.value == filter.value)
        };
        self.receives_packet_ins && self.packet_in_filter.as_ref().is_none_or(passes)
    }
}

/// The id in P4Info of the object that an update is for; `None` for kinds of objects without ids.
pub fn object(update: &p4::Update) -> Option<u32> {
    let table = |entry: &Option<p4::TableEntry>| entry.as_ref().map(|entry| entry.table_id);
    match update.entity.as_ref()?.entity.as_ref()? {
        Entity::TableEntry(entry) => Some(entry.table_id),
        Entity::DirectCounterEntry(entry) => table(&entry.table_entry),
        Entity::DirectMeterEntry(entry) => table(&entry.table_entry),
        Entity::CounterEntry(entry) => Some(entry.counter_id),
        Entity::MeterEntry(entry) => Some(entry.meter_id),
        Entity::RegisterEntry(entry) => Some(entry.register_id),
        Entity::ActionProfileMember(member) => Some(member.action_profile_id),
        Entity::ActionProfileGroup(group) => Some(group.action_profile_id),
        Entity::ValueSetEntry(set) => Some(set.value_set_id),
        Entity::DigestEntry(digest) => Some(digest.digest_id),
        Entity::ExternEntry(entry) => Some(entry.extern_id),
        Entity::PacketReplicationEngineEntry(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An update for a role as finsy sends it.
    fn update(name: &str, config: Option<P4RoleConfig>) -> p4::MasterArbitrationUpdate {
        let config = config.map(|config| Any {
            type_url: format!("type.googleapis.com/{CONFIG_TYPE}"),
            value: config.encode_to_vec(),
        });
        p4::MasterArbitrationUpdate {
            role: Some(p4::Role {
                name: name.into(),
                config,
                ..Default::default()
            }),
            ..Default::default()
        }
    }

    fn access(config: P4RoleConfig) -> Arc<Access> {
        named(&update("x", Some(config))).unwrap().1.unwrap()
    }

    #[test]
    fn a_configuration_says_what_a_role_may_do() {
        let reader = access(P4RoleConfig {
            receives_packet_ins: true,
            ..Default::default()
        });
        assert_eq!(
            reader.write(Some(7)).unwrap_err().code,
            Code::PermissionDenied
        );
        assert!(reader.write(None).is_err() && reader.push_pipeline().is_err());
        assert!(reader.receives(&p4::PacketIn::default()));
        let writer = access(P4RoleConfig {
            exclusive_p4_ids: vec![7],
            shared_p4_ids: vec![8],
            can_push_pipeline: true,
            ..Default::default()
        });
        assert!(writer.write(Some(7)).is_ok() && writer.write(Some(8)).is_ok());
        assert!(writer.write(Some(9)).is_err() && writer.push_pipeline().is_ok());
        assert!(!writer.receives(&p4::PacketIn::default()));
        let other = |exclusive: &[u32], shared: &[u32]| {
            let config = P4RoleConfig {
                exclusive_p4_ids: exclusive.to_vec(),
                shared_p4_ids: shared.to_vec(),
                ..Default::default()
            };
            access(config).conflict(&writer)
        };
        assert_eq!(other(&[7], &[]), Some(7));
        assert_eq!(other(&[8], &[]), Some(8));
        assert_eq!(other(&[], &[7]), Some(7));
        assert_eq!(other(&[9], &[8]), None);
    }

    #[test]
    fn packet_ins_are_filtered() {
        let filtered = access(P4RoleConfig {
            receives_packet_ins: true,
            packet_in_filter: Some(PacketFilter {
                metadata_id: 2,
                value: vec![5],
            }),
            ..Default::default()
        });
        let packet = |metadata_id, value: &[u8]| p4::PacketIn {
            metadata: vec![p4::PacketMetadata {
                metadata_id,
                value: value.to_vec(),
            }],
            ..Default::default()
        };
        assert!(filtered.receives(&packet(2, &[5])));
        assert!(!filtered.receives(&packet(2, &[6])) && !filtered.receives(&packet(1, &[5])));
    }

    #[test]
    fn what_is_no_role_is_refused_in_words() {
        let words = |update: &p4::MasterArbitrationUpdate| {
            let failure = named(update).unwrap_err();
            assert_eq!(failure.code, Code::InvalidArgument);
            failure.message
        };
        assert!(words(&update(&"n".repeat(257), None)).contains("257 bytes"));
        let long = P4RoleConfig {
            shared_p4_ids: (0..100_000).collect(),
            ..Default::default()
        };
        assert!(words(&update("x", Some(long))).contains("role.config has"));
        let mut other = update("x", Some(P4RoleConfig::default()));
        let role = other.role.as_mut().unwrap();
        role.config = Some(Any::default());
        assert!(words(&other).contains("stratum.P4RoleConfig"));
        let mut bad = update("x", Some(P4RoleConfig::default()));
        let config = bad.role.as_mut().unwrap().config.as_mut().unwrap();
        config.value = vec![0xff];
        assert!(words(&bad).contains("role.config: "));
    }
}
