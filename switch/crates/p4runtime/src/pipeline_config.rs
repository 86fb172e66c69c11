// SPDX-License-Identifier: Apache-2.0
//! A forwarding pipeline config that was verified, and its state besides that
//! of the device.

use std::sync::{Arc, Mutex};

use prost::bytes::Bytes;
use v1model::{LoadOptions, Program, TableId};

use crate::carry::Carrier;
use crate::device_config;
use crate::failure::Failure;
use crate::notes::Notes;
use crate::op::Op;
use crate::proto::p4::config::v1::P4Info;
use crate::proto::p4::v1 as p4;
use crate::proto::p4::v1::entity::Entity;
use crate::proto::p4::v1::update::Type;
use crate::read::{self, Answer, Query};
use crate::schema::Schema;

/// A verified pipeline: P4Info and JSON that fit each other.
#[derive(Debug)]
pub struct PipelineConfig {
    pub(crate) program: Arc<Program>,
    pub(crate) schema: Schema,
    /// As the client gave it.
    pub(crate) config: p4::ForwardingPipelineConfig,
    pub(crate) notes: Mutex<Notes>,
}

impl PipelineConfig {
    /// For a device that was started with a pipeline: `program` was loaded
    /// from `json`, and `info` should describe it.
    ///
    /// # Errors
    /// P4Info and program disagree; the sentence names the object.
    pub fn new(info: P4Info, json: Vec<u8>, program: Arc<Program>) -> Result<Self, String> {
        let schema = Schema::bind(&info, &program)?;
        let config = p4::ForwardingPipelineConfig {
            p4info: Some(info),
            p4_device_config: Bytes::from(json),
            cookie: None,
        };
        Ok(PipelineConfig {
            program,
            schema,
            config,
            notes: Mutex::default(),
        })
    }

    /// Verifies what a client sent. Takes a while: not for an async task.
    pub(crate) fn verify(
        config: p4::ForwardingPipelineConfig,
        load: &LoadOptions,
    ) -> Result<Self, Failure> {
        let info = config
            .p4info
            .as_ref()
            .ok_or_else(|| Failure::invalid("config.p4info is unset"))?;
        let json = device_config::json(&config.p4_device_config).map_err(Failure::invalid)?;
        let program = Program::load_with(&json, load)
            .map_err(|error| Failure::invalid(format!("p4_device_config: {error}")))?;
        let schema = Schema::bind(info, &program).map_err(Failure::invalid)?;
        Ok(PipelineConfig {
            program: Arc::new(program),
            schema,
            config,
            notes: Mutex::default(),
        })
    }

    /// Whether both are the same pipeline, whatever their cookies.
    pub(crate) fn is_same_pipeline(&self, other: &PipelineConfig) -> bool {
        self.config.p4info == other.config.p4info
            && self.config.p4_device_config == other.config.p4_device_config
    }

    /// What is to be read of this pipeline to bring its state into another one:
    /// all that a client has written, but for arrays. With each query, what
    /// writes its answers back. `default_written` says which tables' default
    /// entries are not those of P4.
    ///
    /// # Errors
    /// None: all of it exists.
    pub(crate) fn export_queries(
        &self,
        default_written: impl Fn(TableId) -> bool,
    ) -> Result<Vec<(Query, Type)>, Failure> {
        use p4::packet_replication_engine_entry::Type as Replication;
        let replication = |kind| {
            Entity::PacketReplicationEngineEntry(p4::PacketReplicationEngineEntry {
                r#type: Some(kind),
            })
        };
        // Members before groups before the entries that name them.
        let mut wanted = vec![
            (
                Entity::ActionProfileMember(Default::default()),
                Type::Insert,
            ),
            (Entity::ActionProfileGroup(Default::default()), Type::Insert),
            (
                replication(Replication::MulticastGroupEntry(Default::default())),
                Type::Insert,
            ),
            (
                replication(Replication::CloneSessionEntry(Default::default())),
                Type::Insert,
            ),
            (Entity::ValueSetEntry(Default::default()), Type::Modify),
            (Entity::DigestEntry(Default::default()), Type::Insert),
        ];
        for table in self.schema.tables.list() {
            let select = |is_default_action| {
                #[allow(clippy::box_default)]
                Entity::TableEntry(Box::new(p4::TableEntry {
                    table_id: table.id,
                    is_default_action,
                    counter_data: table.direct_counter.then(Default::default),
                    meter_config: table.direct_meter.then(Default::default),
                    ..Default::default()
                }))
            };
            if !table.is_const {
                wanted.push((select(false), Type::Insert));
            }
            if default_written(table.table) {
                wanted.push((select(true), Type::Modify));
            }
        }
        let wanted = wanted.into_iter().map(|(entity, kind)| {
            let entity = p4::Entity {
                entity: Some(entity),
            };
            Ok((read::resolve(&self.schema, &entity)?, kind))
        });
        wanted.collect()
    }

    /// The update that writes what was read into another pipeline.
    ///
    /// # Errors
    /// The other one does not have the table, action or field.
    pub(crate) fn export(
        &self,
        answers: impl Iterator<Item = (Query, Answer, Type)>,
        to: &PipelineConfig,
    ) -> Result<Vec<Op>, Failure> {
        let mut ops = Vec::new();
        let mut carrier = Carrier::new(self, to);
        for (query, answer, kind) in answers {
            let mut result = Ok(());
            query.render(&self.schema, 0, answer, &mut |mut entity| {
                if let Entity::TableEntry(entry) = &mut entity {
                    entry.is_const = false;
                }
                if matches!(&entity, Entity::ValueSetEntry(set) if set.members.is_empty()) {
                    return;
                }
                let update = p4::Update {
                    r#type: kind as i32,
                    entity: Some(p4::Entity {
                        entity: Some(entity),
                    }),
                };
                match carrier.update(update) {
                    Ok(op) => ops.extend(op),
                    Err(failure) if result.is_ok() => result = Err(failure),
                    Err(_) => {}
                }
            });
            result?;
        }
        // First of all, so that there is room for what takes their place.
        let mut all = carrier.deletions()?;
        all.append(&mut ops);
        Ok(all)
    }
}

/// Locks a mutex whose data are valid at any moment, a panic included.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}
