// SPDX-License-Identifier: Apache-2.0
//! A forwarding pipeline config that was verified, and its state besides that
//! of the device.

use std::sync::{Arc, Mutex};

use prost::bytes::Bytes;
use v1model::{LoadOptions, Pipeline, Program};

use crate::device_config;
use crate::failure::Failure;
use crate::notes::Notes;
use crate::proto::p4::config::v1::P4Info;
use crate::proto::p4::v1 as p4;
use crate::schema::Schema;
use crate::write::{self, Op};

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

    /// The updates that bring this pipeline's entries, default entries and
    /// multicast groups into another one. Registers and counters are left out:
    /// they count frames that a new pipeline flushes.
    ///
    /// # Errors
    /// The other one does not have the table, action or field.
    pub(crate) fn export(&self, pipeline: &Pipeline, to: &Schema) -> Result<Vec<Op>, Failure> {
        use p4::update::Type;
        let notes = lock(&self.notes);
        let mut updates = Vec::new();
        for table in self.schema.tables.list() {
            let mut select = |is_default_action, kind| -> Result<(), Failure> {
                let entity = p4::entity::Entity::TableEntry(Box::new(p4::TableEntry {
                    table_id: table.id,
                    is_default_action,
                    ..Default::default()
                }));
                self.read_back(entity, pipeline, &notes, kind, &mut updates)
            };
            if !table.is_const {
                select(false, Type::Insert)?;
            }
            let (_, is_initial) = pipeline.default_entry(table.table)?;
            if !is_initial {
                select(true, Type::Modify)?;
            }
        }
        let groups = p4::PacketReplicationEngineEntry {
            r#type: Some(
                p4::packet_replication_engine_entry::Type::MulticastGroupEntry(
                    p4::MulticastGroupEntry::default(),
                ),
            ),
        };
        let groups = p4::entity::Entity::PacketReplicationEngineEntry(groups);
        self.read_back(groups, pipeline, &notes, Type::Insert, &mut updates)?;
        let ops = updates.iter().map(|update| write::resolve(to, update));
        ops.collect()
    }

    fn read_back(
        &self,
        entity: p4::entity::Entity,
        pipeline: &Pipeline,
        notes: &Notes,
        kind: p4::update::Type,
        updates: &mut Vec<p4::Update>,
    ) -> Result<(), Failure> {
        let entity = p4::Entity {
            entity: Some(entity),
        };
        let query = crate::read::resolve(&self.schema, &entity)?;
        let answer = query.fetch(&self.schema, pipeline, notes)?;
        let mut entities = Vec::new();
        query.render(&self.schema, answer, &mut entities);
        updates.extend(entities.into_iter().map(|mut entity| {
            if let Some(p4::entity::Entity::TableEntry(entry)) = &mut entity.entity {
                entry.is_const = false;
            }
            p4::Update {
                r#type: kind as i32,
                entity: Some(entity),
            }
        }));
        Ok(())
    }
}

/// Locks a mutex whose data are valid at any moment, a panic included.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}
