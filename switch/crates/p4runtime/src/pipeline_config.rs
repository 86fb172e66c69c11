// SPDX-License-Identifier: Apache-2.0
//! A forwarding pipeline config that was verified, and its state besides that
//! of the device.

use std::sync::{Arc, Mutex};

use prost::bytes::Bytes;
use v1model::{CounterId, LoadOptions, MeterId, Pipeline, Program, RegisterId};

use crate::device_config;
use crate::failure::Failure;
use crate::notes::Notes;
use crate::op::Op;
use crate::proto::p4::config::v1::P4Info;
use crate::proto::p4::v1 as p4;
use crate::read::Source;
use crate::schema::Schema;
use crate::write;

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

    /// The updates that bring this pipeline's state into another one: all that
    /// a client has written, and the cells of registers, counters and meters
    /// that the other one has, too.
    ///
    /// # Errors
    /// The other one does not have the table, action or field.
    pub(crate) fn export(
        &self,
        pipeline: &Pipeline,
        now_ns: u64,
        to: &PipelineConfig,
    ) -> Result<Vec<Op>, Failure> {
        use p4::entity::Entity;
        use p4::packet_replication_engine_entry::Type as Replication;
        use p4::update::Type;
        let notes = lock(&self.notes);
        let source = Source {
            now_ns,
            schema: &self.schema,
            pipeline,
            notes: &notes,
        };
        let replication = |kind| {
            Entity::PacketReplicationEngineEntry(p4::PacketReplicationEngineEntry {
                r#type: Some(kind),
            })
        };
        let mut updates = Vec::new();
        // Members before groups before the entries that name them.
        for (entity, kind) in [
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
        ] {
            read_back(entity, source, kind, &mut updates)?;
        }
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
                read_back(select(false), source, Type::Insert, &mut updates)?;
            }
            let (_, is_initial) = pipeline.default_entry(table.table)?;
            if !is_initial {
                read_back(select(true), source, Type::Modify, &mut updates)?;
            }
        }
        let mut ops = Vec::with_capacity(updates.len());
        for update in &updates {
            ops.push(write::resolve(&to.schema, None, update)?);
        }
        self.export_cells(pipeline, to, &mut ops)?;
        Ok(ops)
    }

    /// Arrays that have the same name, size and width in both.
    fn export_cells(
        &self,
        pipeline: &Pipeline,
        to: &PipelineConfig,
        ops: &mut Vec<Op>,
    ) -> Result<(), Failure> {
        let (old, new) = (&self.program, &to.program);
        for (n, schema) in old.registers().iter().enumerate() {
            let from = RegisterId(n as u32);
            let found = new.register(&schema.name);
            if let Some(id) = found
                && let Some(there) = new.registers().get(id.0 as usize)
                && (there.size, there.width) == (schema.size, schema.width)
            {
                let cells = pipeline.register_cells(from, 0..schema.size)?;
                ops.push(Op::RegisterCells(Box::new((id, cells.iter().collect()))));
            }
        }
        for (n, schema) in old.counters().iter().enumerate() {
            let found = new.counter(&schema.name);
            if let Some(id) = found
                && new.counters().get(id.0 as usize).map(|there| there.size) == Some(schema.size)
            {
                let cells =
                    (0..schema.size).map(|index| pipeline.counter(CounterId(n as u32), index));
                let cells = cells.collect::<Result<_, _>>()?;
                ops.push(Op::CounterCells(Box::new((id, cells))));
            }
        }
        for (n, schema) in old.meters().iter().enumerate() {
            let found = new.meter(&schema.name);
            if let Some(id) = found
                && let Some(there) = new.meters().get(id.0 as usize)
                && (there.size, there.unit) == (schema.size, schema.unit)
            {
                let cells = (0..schema.size).map(|index| pipeline.meter(MeterId(n as u32), index));
                let cells = cells.collect::<Result<_, _>>()?;
                ops.push(Op::MeterCells(Box::new((id, cells))));
            }
        }
        Ok(())
    }
}

fn read_back(
    entity: p4::entity::Entity,
    source: Source<'_>,
    kind: p4::update::Type,
    updates: &mut Vec<p4::Update>,
) -> Result<(), Failure> {
    use p4::entity::Entity;
    let entity = p4::Entity {
        entity: Some(entity),
    };
    let query = crate::read::resolve(source.schema, &entity)?;
    let answer = query.fetch(source, &mut Default::default(), &|| true)?;
    // There was time for all of it.
    let answer = answer.unwrap_or(crate::read::Answer::Nothing);
    query.render(source.schema, source.now_ns, answer, &mut |mut entity| {
        if let Entity::TableEntry(entry) = &mut entity {
            entry.is_const = false;
        }
        if matches!(&entity, Entity::ValueSetEntry(set) if set.members.is_empty()) {
            return;
        }
        updates.push(p4::Update {
            r#type: kind as i32,
            entity: Some(p4::Entity {
                entity: Some(entity),
            }),
        });
    });
    Ok(())
}

/// Locks a mutex whose data are valid at any moment, a panic included.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}
