// SPDX-License-Identifier: Apache-2.0
//! entities.p4 with everything large, and requests of every kind for it.

use super::*;
use grpc_services::proto::p4::v1::packet_replication_engine_entry::Type as Replication;
use serde_json::Value;

/// Cells of each array of [`config`], and the most entries of each table.
pub const SIZE: usize = 1 << 17;

/// entities.p4 and its P4Info, with [`SIZE`] in place of every size.
pub fn config() -> p4::ForwardingPipelineConfig {
    let mut config = super::config("entities");
    let mut json: Value = serde_json::from_slice(&config.p4_device_config).unwrap();
    enlarge(&mut json);
    config.p4_device_config = serde_json::to_vec(&json).unwrap().into();
    let info = config.p4info.as_mut().unwrap();
    let size = SIZE as i64;
    info.tables.iter_mut().for_each(|x| x.size = size);
    info.registers.iter_mut().for_each(|x| x.size = size as i32);
    info.counters.iter_mut().for_each(|x| x.size = size);
    info.meters.iter_mut().for_each(|x| x.size = size);
    info.action_profiles.iter_mut().for_each(|x| {
        x.size = size;
        x.max_group_size = 0;
    });
    info.value_sets
        .iter_mut()
        .for_each(|x| x.size = size as i32);
    config
}

/// A device to run [`config`], its requests measured by a probe, and the
/// primary client's stream.
pub async fn start(device_id: u64, options: &ServerOptions, probe: Probe) -> (Fixture, Stream) {
    let mut fixture = Fixture::start_probed(&[device_id], options, probe).await;
    fixture.info = p4info("entities");
    let mut stream = fixture.open_stream().await;
    stream.arbitrate(Some(1)).await;
    stream.arbitration().await;
    (fixture, stream)
}

fn enlarge(json: &mut Value) {
    match json {
        Value::Array(list) => list.iter_mut().for_each(enlarge),
        Value::Object(fields) => {
            for name in ["max_size", "size"] {
                if let Some(size) = fields.get_mut(name).filter(|size| size.is_u64()) {
                    *size = SIZE.into();
                }
            }
            fields.values_mut().for_each(enlarge);
        }
        _ => {}
    }
}

/// Makes entities of [`config`].
pub struct Large<'a>(pub &'a Fixture);

fn bytes(n: usize) -> [u8; 4] {
    (n as u32).to_be_bytes()
}

impl Large<'_> {
    fn entry(&self, table: &str, key: Vec<p4::FieldMatch>, action: &str) -> p4::TableEntry {
        p4::TableEntry {
            table_id: self.0.table(table),
            r#match: key,
            action: super::action(self.0.action(action), &[]),
            ..Default::default()
        }
    }

    /// An entry of the table with an exact key, with an idle timeout of a day.
    pub fn station(&self, n: usize) -> Entity {
        table_entry(p4::TableEntry {
            idle_timeout_ns: 86_400_000_000_000,
            counter_data: Some(p4::CounterData::default()),
            ..self.entry("stations", vec![exact(1, &bytes(n))], "known")
        })
    }

    /// An entry of the table with priorities: a rule of a filter.
    pub fn filter(&self, n: usize) -> Entity {
        let low = bytes(n % 60_000);
        let key = vec![
            ternary(1, &bytes(n), &[0xff; 4]),
            range(2, &low, &bytes(n % 60_000 + n % 7)),
        ];
        table_entry(p4::TableEntry {
            priority: 1 + n as i32,
            ..self.entry("filters", key, "drop")
        })
    }

    /// An entry of the table with an action selector, to a group.
    pub fn route(&self, n: usize, group: usize) -> Entity {
        table_entry(p4::TableEntry {
            action: table_action(p4::table_action::Type::ActionProfileGroupId(group as u32)),
            ..self.entry(
                "balanced",
                vec![lpm(1, &[&bytes(n)[..], &[0; 2]].concat(), 32)],
                "drop",
            )
        })
    }

    pub fn member(&self, n: usize) -> Entity {
        Entity::ActionProfileMember(p4::ActionProfileMember {
            action_profile_id: self.0.id("balancer"),
            member_id: n as u32,
            action: Some(bare_action(self.0.action("forward"), &[&[1]])),
        })
    }

    /// A group of these members.
    pub fn group(&self, n: usize, members: std::ops::Range<usize>) -> Entity {
        let members = members.map(|member| p4::action_profile_group::Member {
            member_id: member as u32,
            weight: 1,
            ..Default::default()
        });
        Entity::ActionProfileGroup(p4::ActionProfileGroup {
            action_profile_id: self.0.id("balancer"),
            group_id: n as u32,
            members: members.collect(),
            ..Default::default()
        })
    }

    pub fn multicast(&self, n: usize) -> Entity {
        replication(Replication::MulticastGroupEntry(p4::MulticastGroupEntry {
            multicast_group_id: n as u32,
            replicas: replicas(2),
            ..Default::default()
        }))
    }

    pub fn session(&self, n: usize) -> Entity {
        replication(Replication::CloneSessionEntry(p4::CloneSessionEntry {
            session_id: n as u32,
            replicas: replicas(2),
            ..Default::default()
        }))
    }

    pub fn counter(&self, index: Option<i64>) -> Entity {
        Entity::CounterEntry(p4::CounterEntry {
            counter_id: self.0.id("seen"),
            index: index.map(|index| p4::Index { index }),
            data: Some(p4::CounterData {
                byte_count: 1,
                packet_count: 1,
            }),
        })
    }

    pub fn meter(&self, index: Option<i64>) -> Entity {
        Entity::MeterEntry(Box::new(p4::MeterEntry {
            meter_id: self.0.id("rates"),
            index: index.map(|index| p4::Index { index }),
            config: Some(p4::MeterConfig {
                cir: 1,
                cburst: 1,
                pir: 1,
                pburst: 1,
                eburst: 0,
            }),
            counter_data: None,
        }))
    }

    pub fn register(&self, alias: &str, index: Option<i64>) -> Entity {
        register_entry(self.0.register(alias), index, Some(&[1]))
    }

    pub fn values(&self, count: usize) -> Entity {
        let members = (0..count).map(|n| p4::ValueSetMember {
            r#match: vec![exact(1, &bytes(n))],
        });
        Entity::ValueSetEntry(p4::ValueSetEntry {
            value_set_id: self.0.id("trusted_types"),
            members: members.collect(),
        })
    }
}

fn replication(kind: Replication) -> Entity {
    Entity::PacketReplicationEngineEntry(p4::PacketReplicationEngineEntry { r#type: Some(kind) })
}

fn replicas(count: u32) -> Vec<p4::Replica> {
    let replica = |instance| p4::Replica {
        instance,
        port_kind: Some(p4::replica::PortKind::Port(vec![1])),
        ..Default::default()
    };
    (0..count).map(replica).collect()
}

/// How many entities [`every_request`] makes of each kind.
#[derive(Clone, Copy)]
pub struct Sizes {
    pub stations: usize,
    pub filters: usize,
    pub routes: usize,
    pub groups: usize,
    /// Members of one large group; a value set has a tenth of them.
    pub members: usize,
}

/// Updates in one request.
const BATCH: usize = 20_000;
/// Updates of a batch that fails: all their errors go into the metadata of its status.
const UNDONE: usize = 100;

/// A client that reports what its requests cost the device's thread.
struct Reporter<'a, F> {
    fixture: &'a mut Fixture,
    report: F,
}

impl<F: FnMut(&str, u64, u64)> Reporter<'_, F> {
    async fn done(&mut self, what: &str) {
        // The last closure has answered before it was noted.
        let last = self.fixture.handle.call(|_, _| ());
        last.await.unwrap();
        let (requests, longest) = self.fixture.holds.take();
        (self.report)(what, requests, longest);
    }

    async fn write(&mut self, what: &str, atomicity: Atomicity, updates: Vec<p4::Update>) {
        self.fixture.holds.take();
        for batch in updates.chunks(BATCH) {
            let written = self.fixture.write_as(atomicity, batch.to_vec()).await;
            if let Err(status) = written {
                panic!("{what}: {status:?}");
            }
        }
        self.done(what).await;
    }

    /// A batch that the last update spoils.
    async fn undo(&mut self, what: &str, mut updates: Vec<p4::Update>) {
        updates.truncate(UNDONE);
        let multicast = Large(self.fixture).multicast(65_000);
        updates.push(delete(multicast));
        self.fixture.holds.take();
        let status = self.fixture.write_as(Atomicity::RollbackOnError, updates);
        assert!(status.await.is_err(), "{what}");
        self.done(what).await;
    }

    async fn read(&mut self, what: &str, entity: Entity, count: usize) {
        self.fixture.holds.take();
        let found = self.fixture.read(vec![entity]).await.unwrap();
        assert_eq!(found.len(), count, "{what}");
        self.done(what).await;
    }

    async fn set(&mut self, what: &str, action: Action, config: p4::ForwardingPipelineConfig) {
        self.fixture.holds.take();
        let config = (action != Action::Commit).then_some(config);
        self.fixture.set_pipeline(action, config).await.unwrap();
        self.done(what).await;
    }
}

/// Requests of every kind, each with so many entities; `report` gets the name
/// of each, how many closures it was and what the dearest of them cost.
pub async fn every_request(
    fixture: &mut Fixture,
    sizes: Sizes,
    report: impl FnMut(&str, u64, u64),
) {
    let mut to = Reporter { fixture, report };
    to.set("pipeline, commit", Action::VerifyAndCommit, config())
        .await;
    let make = Large(to.fixture);
    let list = |count: usize, make: &dyn Fn(usize) -> Entity| -> Vec<Entity> {
        (1..=count).map(make).collect()
    };
    let stations = list(sizes.stations, &|n| make.station(n));
    let filters = list(sizes.filters, &|n| make.filter(n));
    let members = list(sizes.groups, &|n| make.member(n));
    let groups = list(sizes.groups, &|n| make.group(n, n..n + 1));
    let routes = list(sizes.routes, &|n| make.route(n, 1 + n % sizes.groups));
    let multicast = list(sizes.groups.min(60_000), &|n| make.multicast(n));
    let sessions = list(sizes.groups.min(30_000), &|n| make.session(n));
    let large = make.group(sizes.groups + 1, 1..sizes.members + 1);
    let values = make.values(sizes.members / 10);
    let arrays: [(&str, Entity); 4] = [
        ("register", make.register("marks", None)),
        ("wide register", make.register("wide", None)),
        ("counter", make.counter(None)),
        ("meter", make.meter(None)),
    ];
    let all_of = |list: &[Entity], change: fn(Entity) -> p4::Update| -> Vec<p4::Update> {
        list.iter().cloned().map(change).collect()
    };
    let lists = [
        ("entries, exact", &stations),
        ("entries, priority", &filters),
        ("members", &members),
        ("groups", &groups),
        ("entries, lpm", &routes),
        ("multicast groups", &multicast),
        ("clone sessions", &sessions),
    ];
    use Atomicity::{ContinueOnError, RollbackOnError};
    for (name, list) in lists {
        let (kept, rest) = list.split_at(list.len() / 2);
        let name = |what: &str| format!("{what} {name}");
        to.write(&name("insert"), ContinueOnError, all_of(kept, insert))
            .await;
        to.undo(&name("insert and undo"), all_of(rest, insert))
            .await;
        to.write(
            &name("insert or undo"),
            RollbackOnError,
            all_of(rest, insert),
        )
        .await;
        to.write(
            &name("modify or undo"),
            RollbackOnError,
            all_of(list, modify),
        )
        .await;
    }
    to.write(
        "insert one large group",
        RollbackOnError,
        vec![insert(large.clone())],
    )
    .await;
    to.write(
        "modify one large group",
        RollbackOnError,
        vec![modify(large.clone())],
    )
    .await;
    to.write(
        "write one value set",
        RollbackOnError,
        vec![modify(values.clone())],
    )
    .await;
    for (name, entity) in &arrays {
        let update = vec![modify(entity.clone())];
        to.write(
            &format!("write all of a {name}"),
            ContinueOnError,
            update.clone(),
        )
        .await;
        to.undo(&format!("write all of a {name} and undo"), update)
            .await;
        to.read(&format!("read all of a {name}"), entity.clone(), SIZE)
            .await;
    }
    let make = Large(to.fixture);
    let stations_id = make.0.table("stations");
    let any = |table_id| p4::TableEntry {
        table_id,
        ..Default::default()
    };
    let Entity::TableEntry(filter) = make.filter(7) else {
        unreachable!()
    };
    let without_priority = table_entry(p4::TableEntry {
        priority: 0,
        action: None,
        ..*filter
    });
    let with_action = table_entry(p4::TableEntry {
        action: super::action(make.0.action("drop"), &[]),
        ..any(stations_id)
    });
    let counters = Entity::DirectCounterEntry(Box::new(p4::DirectCounterEntry {
        table_entry: Some(any(stations_id)),
        data: None,
    }));
    let filters_id = make.0.table("filters");
    let no_member = Entity::ActionProfileMember(Default::default());
    let no_group = Entity::ActionProfileGroup(Default::default());
    let session = replication(Replication::CloneSessionEntry(Default::default()));
    let group = replication(Replication::MulticastGroupEntry(Default::default()));
    let one_of = [
        ("one member", make.member(7), 1),
        ("one group", make.group(7, 0..0), 1),
        ("one multicast group", make.multicast(7), 1),
        ("one clone session", make.session(7), 1),
        (
            "one value set",
            Entity::ValueSetEntry(Default::default()),
            1,
        ),
    ];
    to.read(
        "read all entries, exact",
        table_entry(any(stations_id)),
        sizes.stations,
    )
    .await;
    to.read(
        "read all entries, priority",
        table_entry(any(filters_id)),
        sizes.filters,
    )
    .await;
    to.read("read by match without priority", without_priority, 1)
        .await;
    to.read("read by action that none has", with_action, 0)
        .await;
    to.read("read all direct counters", counters, sizes.stations)
        .await;
    to.read("read all members", no_member, members.len()).await;
    to.read("read all groups", no_group, groups.len() + 1).await;
    to.read("read all multicast groups", group, multicast.len())
        .await;
    to.read("read all clone sessions", session, sessions.len())
        .await;
    for (name, entity, count) in one_of {
        to.read(&format!("read {name}"), entity, count).await;
    }
    to.set(
        "pipeline, the same again",
        Action::ReconcileAndCommit,
        config(),
    )
    .await;
    let mut other = config();
    // The same program in another file.
    other.p4_device_config = [&other.p4_device_config[..], b"\n"].concat().into();
    to.set("pipeline, reconcile", Action::ReconcileAndCommit, other)
        .await;
    to.write(
        "delete one large group",
        RollbackOnError,
        vec![delete(large)],
    )
    .await;
    let empty = vec![modify(Large(to.fixture).values(0))];
    to.write("empty one value set", RollbackOnError, empty)
        .await;
    let order = [1, 6, 5, 4, 3, 2, 0];
    for (name, list) in order.map(|at| lists[at]) {
        let updates = all_of(list, delete);
        if name == "clone sessions" {
            to.undo(&format!("delete {name} and undo"), updates.clone())
                .await;
        }
        to.write(&format!("delete {name}"), ContinueOnError, updates)
            .await;
    }
    to.set("pipeline, save", Action::VerifyAndSave, config())
        .await;
    to.write(
        "insert entries, saved",
        ContinueOnError,
        all_of(&stations, insert),
    )
    .await;
    to.set("pipeline, commit saved", Action::Commit, config())
        .await;
    to.read(
        "read all entries, saved",
        table_entry(any(stations_id)),
        stations.len(),
    )
    .await;
    to.set("pipeline, replace", Action::VerifyAndCommit, config())
        .await;
}
