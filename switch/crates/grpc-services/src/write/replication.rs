// SPDX-License-Identifier: Apache-2.0
//! Multicast groups and clone sessions.

use v1model::{CloneSession, Replica};

use super::change;
use crate::bytestring;
use crate::change::Change;
use crate::failure::Failure;
use crate::notes::GroupNote;
use crate::op::Op;
use crate::proto::p4::v1 as p4;
use crate::proto::p4::v1::packet_replication_engine_entry::Type as Entry;
use crate::proto::p4::v1::replica::PortKind;
use crate::proto::p4::v1::update::Type;

/// v1model's `egress_spec` has 9 bits.
pub const PORT_WIDTH: u16 = 9;

pub fn entry(kind: Type, given: &p4::PacketReplicationEngineEntry) -> Result<Op, Failure> {
    let change = change(kind);
    match &given.r#type {
        Some(Entry::MulticastGroupEntry(given)) => multicast(change, given),
        Some(Entry::CloneSessionEntry(given)) => clone_session(change, given),
        None => Err(Failure::invalid(
            "packet_replication_engine_entry.type is unset",
        )),
    }
}

fn multicast(change: Change, given: &p4::MulticastGroupEntry) -> Result<Op, Failure> {
    let group = given.multicast_group_id;
    if group == 0 {
        return Err(Failure::invalid(
            "multicast_group_id is 0, which stands for no multicast",
        ));
    }
    if change == Change::Delete {
        let nothing = (group, Vec::new(), GroupNote::default());
        return Ok(Op::Multicast(change, Box::new(nothing)));
    }
    let of = || format!("multicast group {group}");
    let (replicas, numeric_ports) = replicas(&given.replicas, &of)?;
    let note = GroupNote {
        metadata: given.metadata.clone(),
        numeric_ports,
    };
    Ok(Op::Multicast(change, Box::new((group, replicas, note))))
}

fn clone_session(change: Change, given: &p4::CloneSessionEntry) -> Result<Op, Failure> {
    let id = given.session_id;
    if id == 0 {
        return Err(Failure::invalid(
            "session_id is 0, which stands for all clone sessions in a read",
        ));
    }
    let mut session = CloneSession::default();
    let mut note = GroupNote::default();
    if change != Change::Delete {
        let of = || format!("clone session {id}");
        (session.replicas, note.numeric_ports) = replicas(&given.replicas, &of)?;
        session.class_of_service = given.class_of_service;
        session.packet_length_bytes = u32::try_from(given.packet_length_bytes).map_err(|_| {
            Failure::invalid(format!(
                "{}: packet_length_bytes is {}, below 0",
                of(),
                given.packet_length_bytes
            ))
        })?;
    }
    Ok(Op::CloneSession(change, Box::new((id, session, note))))
}

fn replicas(
    given: &[p4::Replica],
    of: &dyn Fn() -> String,
) -> Result<(Vec<Replica>, bool), Failure> {
    let replicas = given.iter().map(|given| replica(given, of));
    let replicas = replicas.collect::<Result<_, _>>()?;
    #[allow(deprecated)]
    let is_numeric = |replica: &p4::Replica| match replica.port_kind {
        None => None,
        Some(PortKind::EgressPort(_)) => Some(true),
        Some(PortKind::Port(_)) => Some(false),
    };
    let numeric_ports = are_numeric(given.iter().filter_map(is_numeric), of)?;
    Ok((replicas, numeric_ports))
}

/// Whether the ports of an entity were given as numbers, in a deprecated field. The entity keeps that
/// once for all of its ports, so that it is read back as it was written.
///
/// # Errors
/// UNIMPLEMENTED: some were and some were not.
pub fn are_numeric(
    mut forms: impl Iterator<Item = bool>,
    of: &dyn Fn() -> String,
) -> Result<bool, Failure> {
    let Some(first) = forms.next() else {
        return Ok(false);
    };
    if forms.any(|form| form != first) {
        return Err(Failure::unimplemented(format!(
            "{}: some ports are in the deprecated field and some in the one that replaces it, which is \
             not supported: give all in the latter",
            of()
        )));
    }
    Ok(first)
}

fn replica(given: &p4::Replica, of: &dyn Fn() -> String) -> Result<Replica, Failure> {
    if !given.backup_replicas.is_empty() {
        return Err(Failure::unimplemented(format!(
            "{}: backup_replicas are not supported",
            of()
        )));
    }
    #[allow(deprecated)]
    let port = match &given.port_kind {
        None => {
            return Err(Failure::invalid(format!(
                "{}: a replica's port is unset",
                of()
            )));
        }
        Some(PortKind::EgressPort(port)) => bytestring::decode(&port.to_be_bytes(), PORT_WIDTH),
        Some(PortKind::Port(port)) => bytestring::decode(port, PORT_WIDTH),
    };
    let port =
        port.map_err(|error| Failure::out_of_range(format!("{}: a replica's port {error}", of())))?;
    let instance = u16::try_from(given.instance).map_err(|_| {
        Failure::invalid(format!(
            "{}: instance {} does not fit into 16 bits",
            of(),
            given.instance
        ))
    })?;
    Ok(Replica {
        instance,
        port: port as u16,
    })
}

fn render_replicas(replicas: &[Replica], note: &GroupNote) -> Vec<p4::Replica> {
    let replicas = replicas.iter().map(|replica| {
        #[allow(deprecated)]
        let port = if note.numeric_ports {
            PortKind::EgressPort(u32::from(replica.port))
        } else {
            PortKind::Port(bytestring::encode(u128::from(replica.port)))
        };
        p4::Replica {
            instance: u32::from(replica.instance),
            backup_replicas: Vec::new(),
            port_kind: Some(port),
        }
    });
    replicas.collect()
}

/// Renders a multicast group as the client wrote it.
pub fn render_multicast(
    group: u32,
    replicas: &[Replica],
    note: GroupNote,
) -> p4::PacketReplicationEngineEntry {
    p4::PacketReplicationEngineEntry {
        r#type: Some(Entry::MulticastGroupEntry(p4::MulticastGroupEntry {
            multicast_group_id: group,
            replicas: render_replicas(replicas, &note),
            metadata: note.metadata,
        })),
    }
}

/// Renders a clone session as the client wrote it.
pub fn render_clone_session(
    id: u32,
    session: &CloneSession,
    note: &GroupNote,
) -> p4::PacketReplicationEngineEntry {
    p4::PacketReplicationEngineEntry {
        r#type: Some(Entry::CloneSessionEntry(p4::CloneSessionEntry {
            session_id: id,
            replicas: render_replicas(&session.replicas, note),
            class_of_service: session.class_of_service,
            packet_length_bytes: session.packet_length_bytes as i32,
        })),
    }
}
