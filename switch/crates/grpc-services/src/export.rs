// SPDX-License-Identifier: Apache-2.0
//! A pipeline's state as updates that write it into another pipeline.

use v1model::TableId;

use crate::carry::Carrier;
use crate::failure::Failure;
use crate::op::Op;
use crate::pipeline_config::PipelineConfig;
use crate::proto::p4::v1 as p4;
use crate::proto::p4::v1::entity::Entity;
use crate::proto::p4::v1::update::Type;
use crate::read::{self, Answer, Query};

impl PipelineConfig {
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
