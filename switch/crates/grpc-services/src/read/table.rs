// SPDX-License-Identifier: Apache-2.0
//! Table entries, default entries and their direct resources.

use v1model::{ActionId, ControlError, EntryKey, Match, TableEntry};

use super::arrays::{render_counter, render_meter};
use super::{Entities, Entry, Part, Progress, Query, Source};
use crate::action_call;
use crate::entry;
use crate::failure::Failure;
use crate::heap;
use crate::notes::EntryNote;
use crate::proto::p4::v1 as p4;
use crate::proto::p4::v1::entity::Entity;
use crate::schema::{Schema, Table};
use crate::write::arrays::no_meter_counters;
use crate::write::table::{
    check_default_key, find_table, no_direct_counter, no_direct_meter, note,
};

/// The form in which entries are returned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum As {
    #[default]
    Entries,
    Counters,
    Meters,
}

/// Which entries of a table a query selects, and which of their fields it returns.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    form: As,
    is_default: bool,
    matches: Option<Vec<Match>>,
    /// 0 for any priority.
    priority: i32,
    action: Option<ActionId>,
    note: EntryNote,
    counter: bool,
    meter: bool,
    last_hit: bool,
    /// Whether the query fails with NOT_FOUND if it finds nothing.
    must_exist: bool,
}

impl Filter {
    /// Whether the query selects default entries only.
    pub fn is_default(&self) -> bool {
        self.is_default
    }

    /// The memory that the filter takes, bytes.
    pub fn bytes(&self) -> usize {
        let matches = self.matches.as_deref().map_or(0, heap::list);
        size_of::<Filter>() + matches + heap::list(&self.note.metadata)
    }
}

/// The entries of tables, sorted by table and then by the order of insertion.
#[derive(Debug)]
pub struct Sorted {
    filter: Box<Filter>,
    entries: std::vec::IntoIter<(u64, Entry)>,
}

/// How many entries are rendered in one go.
const AT_A_TIME: usize = 256;

impl Sorted {
    pub fn new(filter: Box<Filter>, parts: Vec<Part>) -> Self {
        let parts = parts.into_iter().filter_map(|part| match part {
            Part::Entries(entries) => Some(entries),
            _ => None,
        });
        let mut entries: Vec<(u64, Entry)> = parts.flatten().collect();
        entries.sort_by_key(|(age, entry)| (entry.place, *age));
        Sorted {
            filter,
            entries: entries.into_iter(),
        }
    }

    /// Renders the next entries, and returns whether there are more.
    pub fn render(&mut self, schema: &Schema, now_ns: u64, out: &mut impl Entities) -> bool {
        for (_, entry) in self.entries.by_ref().take(AT_A_TIME) {
            out.entity(self.filter.render_entry(schema, now_ns, entry));
        }
        self.entries.len() > 0
    }
}

pub fn entries(schema: &Schema, given: &p4::TableEntry) -> Result<Query, Failure> {
    tables(schema, given, As::Entries)
}

pub fn direct_counters(schema: &Schema, given: &p4::DirectCounterEntry) -> Result<Query, Failure> {
    let all = p4::TableEntry::default();
    let entry = given.table_entry.as_ref().unwrap_or(&all);
    tables(schema, entry, As::Counters)
}

pub fn direct_meters(schema: &Schema, given: &p4::DirectMeterEntry) -> Result<Query, Failure> {
    let all = p4::TableEntry::default();
    no_meter_counters(&|| "direct_meter_entry".into(), given.counter_data.as_ref())?;
    let entry = given.table_entry.as_ref().unwrap_or(&all);
    tables(schema, entry, As::Meters)
}

fn tables(schema: &Schema, given: &p4::TableEntry, form: As) -> Result<Query, Failure> {
    let list = schema.tables.list();
    let mut filter = Filter {
        form,
        is_default: given.is_default_action,
        counter: form == As::Counters || given.counter_data.is_some(),
        meter: form == As::Meters || given.meter_config.is_some(),
        last_hit: given.time_since_last_hit.is_some(),
        priority: given.priority,
        note: note(given),
        ..Filter::default()
    };
    no_meter_counters(&|| "table_entry".into(), given.meter_counter_data.as_ref())?;
    if given.table_id == 0 {
        if !given.r#match.is_empty()
            || given.action.is_some()
            || given.priority != 0
            || filter.note != EntryNote::default()
        {
            return Err(Failure::invalid(
                "table_id is unset, which selects all tables: match, action, priority and \
                 metadata must be unset, too",
            ));
        }
        let has = |table: &Table| match form {
            As::Entries => true,
            As::Counters => table.direct_counter,
            As::Meters => table.direct_meter,
        };
        let places = (0..list.len()).filter(|&place| has(&list[place]));
        return Ok(Query::Tables {
            places: places.collect(),
            filter: Box::new(filter),
        });
    }
    let table = find_table(schema, given.table_id)?;
    if filter.counter && !table.direct_counter {
        return Err(no_direct_counter(table));
    }
    if filter.meter && !table.direct_meter {
        return Err(no_direct_meter(table));
    }
    if filter.last_hit && (!table.idle_timeout || given.is_default_action) {
        return Err(Failure::invalid(format!(
            "table {}: {} no idle timeout: leave time_since_last_hit unset",
            table.name,
            if table.idle_timeout {
                "the default entry has"
            } else {
                "there is"
            }
        )));
    }
    if given.is_default_action {
        check_default_key(table, given)?;
    }
    if !given.r#match.is_empty() {
        filter.matches = Some(entry::matches(table, &given.r#match)?);
    }
    filter.must_exist = form != As::Entries && filter.matches.is_some();
    filter.action = action_filter(table, given.action.as_ref())?;
    Ok(Query::Tables {
        places: schema.tables.position(given.table_id).into_iter().collect(),
        filter: Box::new(filter),
    })
}

fn action_filter(
    table: &Table,
    given: Option<&p4::TableAction>,
) -> Result<Option<ActionId>, Failure> {
    use p4::table_action::Type;
    match given.and_then(|action| action.r#type.as_ref()) {
        None => Ok(None),
        Some(Type::Action(action)) if table.profile == 0 => {
            let of = || format!("table {}", table.name);
            let action = action_call::find_action(&table.actions, &of, action.action_id)?;
            Ok(Some(action.action))
        }
        Some(_) => Err(Failure::invalid(format!(
            "table {}: entries can be filtered by action.action only, and only those of a table \
             without action profile",
            table.name
        ))),
    }
}

/// How many places of a table are looked at for one piece.
const PLACES: usize = 64;

impl Filter {
    /// Fetches the next entries of these tables; `None` if there are no more.
    ///
    /// # Errors
    /// NOT_FOUND if there must be an entry, and there is none.
    pub fn fetch_part(
        &self,
        source: Source<'_>,
        places: &[usize],
        progress: &mut Progress,
    ) -> Result<Option<()>, Failure> {
        let Some(&place) = places.get(progress.objects) else {
            if self.must_exist && progress.len() == 0 {
                return Err(Failure::not_found(
                    "the table has no entry with this match and priority",
                ));
            }
            return Ok(None);
        };
        let table = &source.schema.tables.list()[place];
        let entries = if self.is_default {
            progress.object_done();
            vec![(0, self.default_entry(source, place)?)]
        } else if let Some(key) = self.whole_key(table) {
            progress.object_done();
            match source.pipeline.entry(table.table, &key) {
                Ok(entry) => vec![(0, self.found(place, entry))],
                Err(ControlError::EntryNotFound { .. }) => Vec::new(),
                Err(error) => return Err(error.into()),
            }
        } else {
            let places = progress.next..progress.next + PLACES;
            progress.next += PLACES;
            let wanted = |key: &EntryKey| self.fits(table, key);
            let part = source.pipeline.entries_part(table.table, places, &wanted)?;
            if part.is_none() {
                progress.object_done();
            }
            let part = part.into_iter().flatten();
            part.map(|(age, entry)| (age, self.found(place, entry)))
                .collect()
        };
        let wanted = entries
            .into_iter()
            .filter(|(_, found)| self.is_wanted(found));
        let wanted: Vec<_> = wanted.collect();
        if !wanted.is_empty() {
            progress.parts.push(Part::Entries(wanted));
        }
        Ok(Some(()))
    }

    /// The key of the only entry that can match, if all of it is given.
    fn whole_key(&self, table: &Table) -> Option<EntryKey> {
        let matches = self.matches.as_ref()?;
        ((self.priority != 0) == table.needs_priority).then(|| EntryKey {
            matches: matches.clone(),
            priority: self.priority,
        })
    }

    fn fits(&self, table: &Table, key: &EntryKey) -> bool {
        let same = |wanted: &Vec<Match>| {
            wanted
                .iter()
                .eq(entry::as_declared(&table.fields, &key.matches).iter())
        };
        (self.priority == 0 || self.priority == key.priority)
            && self.matches.as_ref().is_none_or(same)
    }

    fn found(&self, place: usize, entry: TableEntry) -> Entry {
        Entry {
            place,
            key: Some(entry.key),
            action: entry.action,
            counter: entry.counter.filter(|_| self.counter),
            meter: entry.meter.flatten().filter(|_| self.meter),
            note: EntryNote::unpack(&entry.options.metadata),
            idle_timeout_ns: entry.options.idle_timeout_ns,
            last_hit_ns: entry.last_hit_ns,
        }
    }

    fn is_wanted(&self, found: &Entry) -> bool {
        let action = found.action.as_call().map(|call| call.action);
        self.action.is_none_or(|wanted| Some(wanted) == action) && self.note_fits(&found.note)
    }

    fn default_entry(&self, source: Source<'_>, place: usize) -> Result<Entry, Failure> {
        let table = &source.schema.tables.list()[place];
        let pipeline = source.pipeline;
        let (action, _) = pipeline.default_entry(table.table)?;
        let counter = (self.counter && table.direct_counter)
            .then(|| pipeline.direct_counter(table.table, None));
        let meter =
            (self.meter && table.direct_meter).then(|| pipeline.direct_meter(table.table, None));
        Ok(Entry {
            place,
            key: None,
            action,
            counter: counter.transpose()?,
            meter: meter.transpose()?.flatten(),
            note: source.notes.default_entry(table.table),
            idle_timeout_ns: 0,
            last_hit_ns: 0,
        })
    }

    fn note_fits(&self, note: &EntryNote) -> bool {
        let wanted = &self.note;
        (wanted.metadata.is_empty() || wanted.metadata == note.metadata)
            && (wanted.controller_metadata == 0
                || wanted.controller_metadata == note.controller_metadata)
    }

    fn render_entry(&self, schema: &Schema, now_ns: u64, found: Entry) -> Entity {
        let table = &schema.tables.list()[found.place];
        let key = key_fields(table, found.key.as_ref());
        match self.form {
            As::Counters => Entity::DirectCounterEntry(Box::new(p4::DirectCounterEntry {
                table_entry: Some(key),
                data: found.counter.map(render_counter),
            })),
            As::Meters => Entity::DirectMeterEntry(Box::new(p4::DirectMeterEntry {
                table_entry: Some(key),
                config: found.meter.map(render_meter),
                counter_data: None,
            })),
            As::Entries => {
                let is_default = found.key.is_none();
                let elapsed = now_ns.saturating_sub(found.last_hit_ns);
                #[allow(deprecated)]
                let entry = p4::TableEntry {
                    action: entry::render_action(schema, table, &found.action, &found.note),
                    counter_data: found.counter.map(render_counter),
                    meter_config: found.meter.map(render_meter),
                    metadata: found.note.metadata,
                    controller_metadata: found.note.controller_metadata,
                    idle_timeout_ns: found.idle_timeout_ns as i64,
                    time_since_last_hit: (self.last_hit && table.idle_timeout && !is_default)
                        .then_some(p4::table_entry::IdleTimeout {
                            elapsed_ns: elapsed as i64,
                        }),
                    is_const: if is_default {
                        table.const_default
                    } else {
                        table.is_const
                    },
                    ..key
                };
                Entity::TableEntry(Box::new(entry))
            }
        }
    }
}

/// Renders what identifies an entry; `None` is the default entry.
pub fn key_fields(table: &Table, key: Option<&EntryKey>) -> p4::TableEntry {
    p4::TableEntry {
        table_id: table.id,
        r#match: key.map_or_else(Vec::new, |key| {
            entry::render_matches(
                &table.fields,
                &entry::as_declared(&table.fields, &key.matches),
            )
        }),
        priority: key.map_or(0, |key| key.priority),
        is_default_action: key.is_none(),
        ..Default::default()
    }
}

/// Renders an entry whose idle timeout has passed, for the notification.
pub fn render_expired(table: &Table, found: &TableEntry) -> p4::TableEntry {
    let note = EntryNote::unpack(&found.options.metadata);
    #[allow(deprecated)]
    p4::TableEntry {
        metadata: note.metadata,
        controller_metadata: note.controller_metadata,
        idle_timeout_ns: found.options.idle_timeout_ns as i64,
        ..key_fields(table, Some(&found.key))
    }
}
