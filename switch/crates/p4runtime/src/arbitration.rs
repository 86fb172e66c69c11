// SPDX-License-Identifier: Apache-2.0
//! Who may write to one device (P4Runtime specification 1.5, section 5): for
//! each role, the client with the highest election id ever seen.

use std::collections::HashMap;

use prost_types::Any;
use tonic::Code;

use crate::failure::Failure;
use crate::proto::google::rpc;
use crate::proto::p4::v1 as p4;

/// Streams that one role may have open at a time.
const MAX_CLIENTS: usize = 64;

/// One stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ClientId(pub u64);

/// What to tell whom.
pub type Notices = Vec<(ClientId, p4::MasterArbitrationUpdate)>;

#[derive(Debug)]
struct Client {
    id: ClientId,
    /// `None`: never primary.
    election_id: Option<u128>,
}

#[derive(Debug, Default)]
struct Role {
    clients: Vec<Client>,
    /// The highest election id of any client so far.
    highest: Option<u128>,
    /// Of the last primary.
    config: Option<Any>,
}

impl Role {
    fn primary(&self) -> Option<ClientId> {
        let highest = self.highest?;
        self.clients
            .iter()
            .find(|client| client.election_id == Some(highest))
            .map(|client| client.id)
    }
}

/// The arbitration of one device.
#[derive(Debug)]
pub struct Arbiter {
    device_id: u64,
    /// By name; "" is the default role.
    roles: HashMap<String, Role>,
}

impl Arbiter {
    pub fn new(device_id: u64) -> Self {
        // The default role exists without anybody asking for it.
        let roles = HashMap::from([(String::new(), Role::default())]);
        Arbiter { device_id, roles }
    }

    /// A client's `MasterArbitrationUpdate`, the first or another one;
    /// `current` is the role of its earlier ones.
    ///
    /// # Errors
    /// The status to end the stream with.
    pub fn update(
        &mut self,
        client: ClientId,
        current: Option<&str>,
        update: &p4::MasterArbitrationUpdate,
    ) -> Result<Notices, Failure> {
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
        let name = role_name(update)?;
        if current.is_some_and(|current| current != name) {
            return Err(Failure::new(
                Code::FailedPrecondition,
                "the role of a stream cannot change: open another stream",
            ));
        }
        let config = update.role.as_ref().and_then(|role| role.config.clone());
        if config.is_some() {
            return Err(Failure::invalid(
                "role.config: no scheme of role configurations is supported, leave it unset \
                 for access to the whole pipeline",
            ));
        }
        let election_id = update.election_id.as_ref().map(to_u128);
        let role = self.roles.entry(name.to_owned()).or_default();
        let others = role.clients.iter().filter(|other| other.id != client);
        if election_id.is_some() && others.clone().any(|other| other.election_id == election_id) {
            return Err(Failure::invalid(format!(
                "election_id {} is in use by another client of role \"{name}\"",
                election_id.unwrap_or_default()
            )));
        }
        if others.count() >= MAX_CLIENTS {
            return Err(Failure::new(
                Code::ResourceExhausted,
                format!("role \"{name}\" has {MAX_CLIENTS} streams open already"),
            ));
        }

        let was_primary = role.primary() == Some(client);
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
            role.config = config;
        }
        Ok(if wins || was_primary {
            self.notify_all(name)
        } else {
            self.notify(name, |id| id == client)
        })
    }

    /// A client's stream has ended.
    pub fn disconnect(&mut self, client: ClientId, role: &str) -> Notices {
        let Some(state) = self.roles.get_mut(role) else {
            return Vec::new();
        };
        let was_primary = state.primary() == Some(client);
        state.clients.retain(|other| other.id != client);
        if was_primary {
            self.notify_all(role)
        } else {
            Vec::new()
        }
    }

    /// Whether an RPC with this role and election id may change the device.
    ///
    /// # Errors
    /// NOT_FOUND: no such role. PERMISSION_DENIED: not the primary.
    pub fn authorize(&self, role: &str, election_id: Option<&p4::Uint128>) -> Result<(), Failure> {
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
        Ok(())
    }

    /// Whether a stream is its role's primary: it may send packet-outs.
    pub fn is_primary(&self, client: ClientId, role: &str) -> bool {
        let role = self.roles.get(role);
        role.is_some_and(|role| role.primary() == Some(client))
    }

    /// The primaries of all roles: they get packet-ins.
    pub fn primaries(&self) -> impl Iterator<Item = ClientId> + '_ {
        self.roles.values().filter_map(Role::primary)
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
                    config: role.config.clone(),
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

/// The role that an arbitration update is for.
///
/// # Errors
/// It is given by the number that P4Runtime 1.2 used.
pub fn role_name(update: &p4::MasterArbitrationUpdate) -> Result<&str, Failure> {
    match &update.role {
        None => Ok(""),
        #[allow(deprecated)]
        Some(role) if role.name.is_empty() && role.id != 0 => Err(Failure::invalid(
            "role.id is not supported: name the role in role.name",
        )),
        Some(role) => Ok(&role.name),
    }
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
mod tests {
    use super::*;

    const A: ClientId = ClientId(1);
    const B: ClientId = ClientId(2);
    const C: ClientId = ClientId(3);

    fn update(election_id: Option<u128>) -> p4::MasterArbitrationUpdate {
        p4::MasterArbitrationUpdate {
            device_id: 7,
            election_id: election_id.map(from_u128),
            ..Default::default()
        }
    }

    fn codes(notices: Notices) -> Vec<(ClientId, Code, Option<u128>)> {
        let codes = notices.into_iter().map(|(id, notice)| {
            let election_id = notice.election_id.as_ref().map(to_u128);
            (id, Code::from(notice.status.unwrap().code), election_id)
        });
        codes.collect()
    }

    #[test]
    fn the_highest_election_id_ever_seen_is_primary() {
        let mut arbiter = Arbiter::new(7);
        let mut step = |client, id| codes(arbiter.update(client, None, &update(id)).unwrap());
        assert_eq!(step(A, Some(1)), [(A, Code::Ok, Some(1))]);
        assert_eq!(
            step(B, Some(2)),
            [(A, Code::AlreadyExists, Some(2)), (B, Code::Ok, Some(2))]
        );
        assert_eq!(step(C, Some(0)), [(C, Code::AlreadyExists, Some(2))]);

        // Nobody is promoted when the primary leaves.
        assert_eq!(
            codes(arbiter.disconnect(B, "")),
            [(A, Code::NotFound, Some(2)), (C, Code::NotFound, Some(2))]
        );
        let denied = arbiter.authorize("", Some(&from_u128(1))).unwrap_err();
        assert_eq!(denied.code, Code::PermissionDenied);
        // The same id again is enough.
        let notices = arbiter.update(A, Some(""), &update(Some(2))).unwrap();
        assert!(codes(notices).contains(&(A, Code::Ok, Some(2))));
        assert!(arbiter.is_primary(A, ""));
        assert_eq!(arbiter.authorize("", Some(&from_u128(2))), Ok(()));
    }

    #[test]
    fn a_primary_can_step_down_and_a_repeated_update_is_answered() {
        let mut arbiter = Arbiter::new(7);
        arbiter.update(A, None, &update(Some(5))).unwrap();
        arbiter.update(B, None, &update(None)).unwrap();
        let again = arbiter.update(A, Some(""), &update(Some(5))).unwrap();
        assert_eq!(
            codes(again),
            [(A, Code::Ok, Some(5)), (B, Code::AlreadyExists, Some(5))]
        );
        let down = arbiter.update(A, Some(""), &update(Some(4))).unwrap();
        assert_eq!(
            codes(down),
            [(A, Code::NotFound, Some(5)), (B, Code::NotFound, Some(5))]
        );
        assert_eq!(arbiter.primaries().count(), 0);
    }

    #[test]
    fn an_unset_election_id_is_never_primary_and_not_zero() {
        let mut arbiter = Arbiter::new(7);
        let notices = arbiter.update(A, None, &update(None)).unwrap();
        assert_eq!(codes(notices), [(A, Code::NotFound, None)]);
        assert!(arbiter.authorize("", None).is_err());
        let notices = arbiter.update(B, None, &update(Some(0))).unwrap();
        assert!(codes(notices).contains(&(B, Code::Ok, Some(0))));
        // Two clients may both leave it unset.
        arbiter.update(C, None, &update(None)).unwrap();
        assert_eq!(arbiter.authorize("", Some(&from_u128(0))), Ok(()));
    }

    #[test]
    fn bad_updates_end_the_stream() {
        let mut arbiter = Arbiter::new(7);
        arbiter.update(A, None, &update(Some(1))).unwrap();
        let code = |result: Result<Notices, Failure>| result.unwrap_err().code;
        let taken = arbiter.update(B, None, &update(Some(1)));
        assert_eq!(code(taken), Code::InvalidArgument);
        let other = p4::MasterArbitrationUpdate {
            device_id: 8,
            ..update(Some(1))
        };
        assert_eq!(
            code(arbiter.update(A, Some(""), &other)),
            Code::FailedPrecondition
        );
        let role = |name: &str, config| p4::MasterArbitrationUpdate {
            role: Some(p4::Role {
                name: name.into(),
                config,
                ..Default::default()
            }),
            ..update(Some(1))
        };
        assert_eq!(
            code(arbiter.update(A, Some(""), &role("x", None))),
            Code::FailedPrecondition
        );
        assert_eq!(
            code(arbiter.update(B, None, &role("x", Some(Any::default())))),
            Code::InvalidArgument
        );
        // A role has its own election.
        arbiter.update(B, None, &role("x", None)).unwrap();
        assert_eq!(arbiter.authorize("x", Some(&from_u128(1))), Ok(()));
        assert_eq!(
            arbiter.authorize("y", None).unwrap_err().code,
            Code::NotFound
        );
        for n in 10..10 + MAX_CLIENTS as u64 - 1 {
            arbiter.update(ClientId(n), None, &update(None)).unwrap();
        }
        let full = arbiter.update(C, None, &update(None));
        assert_eq!(code(full), Code::ResourceExhausted);
    }
}
