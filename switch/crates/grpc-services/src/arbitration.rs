// SPDX-License-Identifier: Apache-2.0
//! Who may write to one device (P4Runtime specification 1.5, section 5): for
//! each role, the client with the highest election id ever seen. A role is there
//! from its first client's arbitration on, and ends with its last client. Its highest election id is
//! remembered for its next client.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use tokio::sync::RwLock;
use tonic::Code;

use crate::failure::Failure;
use crate::proto::google::rpc;
use crate::proto::p4::v1 as p4;
use crate::role::{self, Access};

/// How many streams one role may have open at a time.
const MAX_CLIENTS: usize = 64;
/// How many roles there may be at a time, including the default one.
const MAX_ROLES: usize = 64;
/// Of how many roles that are over the highest election id is remembered. Clients choose the names, so
/// they cannot all be remembered.
const MAX_PAST_ROLES: usize = 1024;

/// One stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ClientId(pub u64);

/// The messages that are to be sent, each with the client that gets it.
pub type Notices = Vec<(ClientId, p4::MasterArbitrationUpdate)>;

/// The outcome of an arbitration update.
#[derive(Debug)]
pub enum Heard {
    /// The primary stays the same.
    Tell(Notices),
    /// Another client becomes primary once the running writes have ended. Until then no client of
    /// the role may begin a write. All others are told at once, and the new primary when it may begin.
    Change(Notices, Change),
}

/// A change of a role's primary. [`Arbiter::settle`] completes it.
#[derive(Debug)]
pub struct Change {
    role: String,
    number: u64,
    running: Running,
}

impl Change {
    /// Ready when every write that began before the change has ended.
    pub async fn finished(&self) {
        drop(self.running.write().await);
    }
}

/// A lock that running writes hold for reading, so that holding it for writing waits for them.
type Running = Arc<RwLock<()>>;

/// What a primary's request may do.
#[derive(Clone, Debug)]
pub struct Permit {
    /// `None` if the request may do everything.
    pub access: Option<Arc<Access>>,
    /// The request holds this lock for reading as long as it runs.
    pub running: Running,
}

#[derive(Debug)]
struct Client {
    id: ClientId,
    /// `None` for a client that never becomes primary.
    election_id: Option<u128>,
}

#[derive(Debug, Default)]
struct Role {
    clients: Vec<Client>,
    /// The highest election id of any client so far.
    highest: Option<u128>,
    /// What the last primary may do; `None` if that is everything.
    access: Option<Arc<Access>>,
    running: Running,
    /// How often another client became primary.
    changes: u64,
    /// Whether the last of these changes is not settled.
    is_changing: bool,
    /// The last client that was told that it is primary, unless it has stepped down or left. Packet-ins
    /// go to it until the next one is told.
    told: Option<ClientId>,
}

impl Role {
    fn primary(&self) -> Option<ClientId> {
        let highest = self.highest?;
        self.clients
            .iter()
            .find(|client| client.election_id == Some(highest))
            .map(|client| client.id)
    }

    /// Whether the role has neither clients nor running writes, so that it can be forgotten.
    fn is_over(&self) -> bool {
        self.clients.is_empty() && self.running.try_write().is_ok()
    }
}

/// The arbitration of one device.
#[derive(Debug)]
pub struct Arbiter {
    device_id: u64,
    /// The roles by name. The default role has the empty name.
    roles: BTreeMap<String, Role>,
    /// The roles that are over, each with its highest election id. The last one that ended is last.
    past: VecDeque<(String, u128)>,
}

impl Arbiter {
    pub fn new(device_id: u64) -> Self {
        // The default role exists even if no client has asked for it.
        let roles = BTreeMap::from([(String::new(), Role::default())]);
        Arbiter {
            device_id,
            roles,
            past: VecDeque::new(),
        }
    }

    /// A client's `MasterArbitrationUpdate`, the first or another one;
    /// `current` is the role of its earlier ones. One that is refused leaves nothing behind.
    ///
    /// # Errors
    /// The status to end the stream with.
    pub fn update(
        &mut self,
        client: ClientId,
        current: Option<&str>,
        update: &p4::MasterArbitrationUpdate,
    ) -> Result<Heard, Failure> {
        let device_id = self.device_id;
        if update.device_id != device_id {
            return Err(Failure::new(
                Code::FailedPrecondition,
                format!(
                    "this stream is for device {device_id}, not {}: open another stream",
                    update.device_id
                ),
            ));
        }
        let (name, access) = role::named(update)?;
        if current.is_some_and(|current| current != name) {
            return Err(Failure::new(
                Code::FailedPrecondition,
                "the role of a stream cannot change: open another stream",
            ));
        }
        let election_id = update.election_id.as_ref().map(to_u128);
        self.check(client, name, election_id, access.as_deref())?;

        let past = &mut self.past;
        let role = self.roles.entry(name.to_owned()).or_insert_with(|| {
            let found = past.iter().position(|(past, _)| past == name);
            let remembered = found.and_then(|at| past.remove(at));
            Role {
                highest: remembered.map(|(_, highest)| highest),
                ..Role::default()
            }
        });
        let before = role.primary();
        match role.clients.iter_mut().find(|other| other.id == client) {
            Some(known) => known.election_id = election_id,
            None => role.clients.push(Client {
                id: client,
                election_id,
            }),
        }
        let wins = election_id.is_some() && election_id >= role.highest;
        if wins {
            role.highest = election_id;
            role.access = access;
        }
        let was_primary = before == Some(client);
        if wins && !was_primary {
            role.changes += 1;
            role.is_changing = true;
            let change = Change {
                role: name.to_owned(),
                number: role.changes,
                running: Arc::clone(&role.running),
            };
            return Ok(Heard::Change(self.notify(name, |id| id != client), change));
        }
        if was_primary && !wins {
            role.told = None;
        }
        Ok(Heard::Tell(if wins || was_primary {
            self.notify_all(name)
        } else {
            self.notify(name, |id| id == client)
        }))
    }

    /// Whether an update may be recorded.
    fn check(
        &mut self,
        client: ClientId,
        name: &str,
        election_id: Option<u128>,
        access: Option<&Access>,
    ) -> Result<(), Failure> {
        let exhausted = |words| Err(Failure::new(Code::ResourceExhausted, words));
        let others = self.roles.iter().filter(|(other, _)| *other != name);
        for (other, role) in others {
            let accesses = access.zip(role.access.as_deref());
            if let Some(id) = accesses.and_then(|(own, theirs)| own.conflict(theirs)) {
                return Err(Failure::invalid(format!(
                    "role.config: the object with id {id} is one of role \"{other}\", too, and one \
                     of them is to have it for itself alone"
                )));
            }
        }
        let Some(role) = self.roles.get(name) else {
            self.sweep();
            if self.roles.len() >= MAX_ROLES {
                return exhausted(format!(
                    "device {} has {MAX_ROLES} roles already: a role ends with its last stream",
                    self.device_id
                ));
            }
            return Ok(());
        };
        let others = role.clients.iter().filter(|other| other.id != client);
        if election_id.is_some() && others.clone().any(|other| other.election_id == election_id) {
            return Err(Failure::invalid(format!(
                "election_id {} is in use by another client of role \"{name}\"",
                election_id.unwrap_or_default()
            )));
        }
        if others.count() >= MAX_CLIENTS {
            return exhausted(format!(
                "role \"{name}\" has {MAX_CLIENTS} streams open already"
            ));
        }
        Ok(())
    }

    /// Completes a change whose earlier writes have ended, so that the new primary may begin, which
    /// is told so. If another change has come since, there is nobody to be told of this one.
    pub fn settle(&mut self, change: &Change) -> Notices {
        match self.roles.get_mut(&change.role) {
            Some(role) if role.changes == change.number => {
                role.is_changing = false;
                role.told = role.primary();
                let told = role.told;
                self.notify(&change.role, |id| Some(id) == told)
            }
            _ => Vec::new(),
        }
    }

    /// Removes a client whose stream has ended.
    pub fn disconnect(&mut self, client: ClientId, role: &str) -> Notices {
        let Some(state) = self.roles.get_mut(role) else {
            return Vec::new();
        };
        let was_primary = state.primary() == Some(client);
        state.clients.retain(|other| other.id != client);
        if state.told == Some(client) {
            state.told = None;
        }
        self.sweep();
        if was_primary {
            self.notify_all(role)
        } else {
            Vec::new()
        }
    }

    /// Forgets the roles that are over, but for their highest election ids.
    fn sweep(&mut self) {
        let past = &mut self.past;
        self.roles.retain(|name, role| {
            if name.is_empty() || !role.is_over() {
                return true;
            }
            if let Some(highest) = role.highest {
                if past.len() >= MAX_PAST_ROLES {
                    past.pop_front();
                }
                past.push_back((name.clone(), highest));
            }
            false
        });
    }

    /// Whether an RPC with this role and election id may change the device.
    ///
    /// # Errors
    /// NOT_FOUND: no such role. PERMISSION_DENIED: not the primary.
    pub fn authorize(
        &self,
        role: &str,
        election_id: Option<&p4::Uint128>,
    ) -> Result<Permit, Failure> {
        let device_id = self.device_id;
        let Some(state) = self.roles.get(role) else {
            return Err(Failure::not_found(format!(
                "device {device_id} has no role \"{role}\""
            )));
        };
        let Some(election_id) = election_id else {
            return Err(Failure::denied(
                "election_id is unset: only the primary client may change the device",
            ));
        };
        if state.primary().is_none() {
            return Err(Failure::denied(format!(
                "device {device_id} has no primary client: open a StreamChannel and send a \
                 MasterArbitrationUpdate first"
            )));
        }
        if state.highest != Some(to_u128(election_id)) {
            return Err(Failure::denied(format!(
                "election_id {} is not that of the primary client, {}",
                to_u128(election_id),
                state.highest.unwrap_or_default()
            )));
        }
        if state.is_changing {
            return Err(is_changing());
        }
        Ok(Permit {
            access: state.access.clone(),
            running: Arc::clone(&state.running),
        })
    }

    /// Whether a stream is the primary of its role, so that it may send packet-outs.
    pub fn is_primary(&self, client: ClientId, role: &str) -> bool {
        let role = self.roles.get(role);
        role.is_some_and(|role| role.primary() == Some(client) && role.told == Some(client))
    }

    /// The clients that have been told that they are primaries, each with what it may do. They
    /// receive packet-ins.
    pub fn primaries(&self) -> impl Iterator<Item = (ClientId, Option<&Access>)> + '_ {
        let roles = self.roles.values();
        roles.filter_map(|role| Some((role.told?, role.access.as_deref())))
    }

    fn notify_all(&self, role: &str) -> Notices {
        self.notify(role, |_| true)
    }

    fn notify(&self, name: &str, whom: impl Fn(ClientId) -> bool) -> Notices {
        let Some(role) = self.roles.get(name) else {
            return Vec::new();
        };
        let primary = role.primary();
        let clients = role.clients.iter().filter(|client| whom(client.id));
        let notices = clients.map(|client| {
            let (code, message) = match primary {
                Some(id) if id == client.id => (Code::Ok, "you are the primary client"),
                Some(_) => (Code::AlreadyExists, "another client is the primary"),
                None => (Code::NotFound, "there is no primary client"),
            };
            let update = p4::MasterArbitrationUpdate {
                device_id: self.device_id,
                role: (!name.is_empty()).then(|| p4::Role {
                    name: name.to_owned(),
                    config: role.access.as_ref().map(|access| access.given().clone()),
                    ..Default::default()
                }),
                election_id: role.highest.map(from_u128),
                status: Some(rpc::Status {
                    code: code as i32,
                    message: message.into(),
                    details: Vec::new(),
                }),
            };
            (client.id, update)
        });
        notices.collect()
    }
}

/// The refusal of a write while another client becomes primary.
pub fn is_changing() -> Failure {
    Failure::denied(
        "another client is becoming primary, and writes of the one before it still run: wait for \
         the answer to the MasterArbitrationUpdate",
    )
}

fn to_u128(id: &p4::Uint128) -> u128 {
    u128::from(id.high) << 64 | u128::from(id.low)
}

fn from_u128(id: u128) -> p4::Uint128 {
    p4::Uint128 {
        high: (id >> 64) as u64,
        low: id as u64,
    }
}

#[cfg(test)]
mod tests;
