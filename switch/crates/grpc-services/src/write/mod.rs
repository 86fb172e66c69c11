// SPDX-License-Identifier: Apache-2.0
//! Updates are checked and resolved to dense ids on the RPC's task, as far as that is possible
//! without the device's state.

pub mod arrays;
pub mod digest;
pub mod profile;
pub mod replication;
pub mod table;
pub mod value_set;

use crate::change::Change;
use crate::failure::Failure;
use crate::op::Op;
use crate::proto::p4::v1 as p4;
use crate::proto::p4::v1::entity::Entity;
use crate::proto::p4::v1::update::Type;
use crate::schema::{Objects, Schema};

/// Checks and resolves an update. `ports` are the ports of the device, among which watched ports
/// must be; `None` leaves watched ports unchecked.
///
/// # Errors
/// The update's `p4.v1.Error`; the message names the object and the field.
pub fn resolve(schema: &Schema, ports: Option<&[u16]>, update: &p4::Update) -> Result<Op, Failure> {
    let kind = match update.r#type() {
        Type::Unspecified => return Err(Failure::invalid("the update's type is unset")),
        kind => kind,
    };
    let entity = update
        .entity
        .as_ref()
        .and_then(|entity| entity.entity.as_ref());
    match entity {
        None => Err(Failure::invalid("the update's entity is unset")),
        Some(Entity::RegisterEntry(given)) => arrays::register(schema, kind, given),
        Some(Entity::TableEntry(given)) => table::entry(schema, ports, kind, given),
        Some(Entity::DirectCounterEntry(given)) => table::direct_counter(schema, kind, given),
        Some(Entity::DirectMeterEntry(given)) => table::direct_meter(schema, kind, given),
        Some(Entity::CounterEntry(given)) => arrays::counter(schema, kind, given),
        Some(Entity::MeterEntry(given)) => arrays::meter(schema, kind, given),
        Some(Entity::ActionProfileMember(given)) => profile::member(schema, kind, given),
        Some(Entity::ActionProfileGroup(given)) => profile::group(schema, ports, kind, given),
        Some(Entity::PacketReplicationEngineEntry(given)) => replication::entry(kind, given),
        Some(Entity::ValueSetEntry(given)) => value_set::entry(schema, kind, given),
        Some(Entity::DigestEntry(given)) => digest::entry(schema, kind, given),
        Some(Entity::ExternEntry(_)) => Err(no_externs()),
    }
}

/// How many members, replicas or actions an update lists. It is known before the update is
/// resolved, because resolving many takes long. A value of a value set counts as four, because it
/// may become several rows.
pub fn members(update: &p4::Update) -> usize {
    use p4::packet_replication_engine_entry::Type as Replication;
    let entity = update.entity.as_ref();
    match entity.and_then(|entity| entity.entity.as_ref()) {
        Some(Entity::ActionProfileGroup(group)) => group.members.len(),
        Some(Entity::ValueSetEntry(set)) => 4 * set.members.len(),
        Some(Entity::PacketReplicationEngineEntry(entry)) => match &entry.r#type {
            Some(Replication::MulticastGroupEntry(group)) => group.replicas.len(),
            Some(Replication::CloneSessionEntry(session)) => session.replicas.len(),
            None => 0,
        },
        Some(Entity::TableEntry(entry)) => {
            let action = entry
                .action
                .as_ref()
                .and_then(|action| action.r#type.as_ref());
            match action {
                Some(p4::table_action::Type::ActionProfileActionSet(set)) => {
                    set.action_profile_actions.len()
                }
                _ => 0,
            }
        }
        _ => 0,
    }
}

/// Whether an update names ports to be watched, which must exist.
pub fn watches_ports(update: &p4::Update) -> bool {
    let entity = update.entity.as_ref();
    match entity.and_then(|entity| entity.entity.as_ref()) {
        Some(Entity::ActionProfileGroup(group)) => group
            .members
            .iter()
            .any(|member| member.watch_kind.is_some()),
        Some(Entity::TableEntry(entry)) => {
            let action = entry
                .action
                .as_ref()
                .and_then(|action| action.r#type.as_ref());
            matches!(action, Some(p4::table_action::Type::ActionProfileActionSet(set))
                if set.action_profile_actions.iter().any(|action| action.watch_kind.is_some()))
        }
        _ => false,
    }
}

/// The failure of extern entries, which this target does not have.
pub fn no_externs() -> Failure {
    Failure::unimplemented(
        "extern entries are not supported: v1model has no externs beside those of P4Runtime",
    )
}

/// The change that an update type stands for.
fn change(kind: Type) -> Change {
    match kind {
        Type::Delete => Change::Delete,
        Type::Insert => Change::Insert,
        // Unspecified types were refused before.
        Type::Modify | Type::Unspecified => Change::Modify,
    }
}

/// Refuses an update with INVALID_ARGUMENT unless it modifies.
fn only_modify(what: &str, kind: Type) -> Result<(), Failure> {
    if kind == Type::Modify {
        return Ok(());
    }
    Err(Failure::invalid(format!(
        "a {what} cannot be inserted or deleted, the update's type must be MODIFY"
    )))
}

/// Finds an object by its id in P4Info; `field` is what the id is called.
///
/// # Errors
/// INVALID_ARGUMENT if the id is not set, NOT_FOUND if there is no such object.
pub fn find<'a, T>(
    objects: &'a Objects<T>,
    kind: &str,
    field: &str,
    id: u32,
) -> Result<&'a T, Failure> {
    if id == 0 {
        return Err(Failure::invalid(format!("{field} is unset")));
    }
    let found = objects.get(id);
    found.ok_or_else(|| Failure::not_found(format!("there is no {kind} with id {id}")))
}
