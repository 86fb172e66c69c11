// SPDX-License-Identifier: Apache-2.0
//! Keys and actions of table entries, from P4Runtime and back (specification
//! 1.5, sections 9.1.1 and 9.1.2).

use std::borrow::Cow;

use v1model::{EntryAction, EntryKey, Match, MatchKind};

use crate::action_call::{call, render_call};
use crate::bytestring::{self, max_value};
use crate::failure::Failure;
use crate::notes::EntryNote;
use crate::proto::p4::v1 as p4;
use crate::proto::p4::v1::field_match::{self, FieldMatchType};
use crate::schema::{Field, Schema, Scope, Table};
use crate::write::profile;

/// Reads the match and the priority of an entry.
///
/// # Errors
/// INVALID_ARGUMENT or OUT_OF_RANGE, naming table and field.
pub fn key(table: &Table, entry: &p4::TableEntry) -> Result<EntryKey, Failure> {
    let name = &table.name;
    if table.needs_priority && entry.priority <= 0 {
        return Err(Failure::invalid(format!(
            "table {name}: priority is {}, and must be above 0 because a match field is ternary, \
             range or optional",
            entry.priority
        )));
    }
    if !table.needs_priority && entry.priority != 0 {
        return Err(Failure::invalid(format!(
            "table {name}: priority is {}, and must be 0 because no match field is ternary, range \
             or optional",
            entry.priority
        )));
    }
    Ok(EntryKey {
        matches: matches(table, &entry.r#match)?,
        priority: entry.priority,
    })
}

/// Reads one match for each field of the table's key.
///
/// # Errors
/// As for [`key`].
pub fn matches(table: &Table, given: &[p4::FieldMatch]) -> Result<Vec<Match>, Failure> {
    read_matches(&table.fields, &|| format!("table {}", table.name), given)
}

/// Reads one match for each field of a table or of a value set, which `of` names.
///
/// # Errors
/// As for [`key`].
pub fn read_matches(
    fields: &[Field],
    of: &dyn Fn() -> String,
    given: &[p4::FieldMatch],
) -> Result<Vec<Match>, Failure> {
    for (n, field_match) in given.iter().enumerate() {
        let id = field_match.field_id;
        if !fields.iter().any(|field| field.id == id) {
            return Err(Failure::invalid(format!(
                "{} has no match field with id {id}",
                of()
            )));
        }
        if given[..n].iter().any(|earlier| earlier.field_id == id) {
            return Err(Failure::invalid(format!(
                "{}: the match field with id {id} is given twice",
                of()
            )));
        }
    }
    let fields = fields.iter().map(|field| {
        let place = || format!("{}, match field {} (id {})", of(), field.name, field.id);
        match given.iter().find(|given| given.field_id == field.id) {
            Some(given) => read_match(field, given, &place),
            None => dont_care(field)
                .ok_or_else(|| Failure::invalid(format!("{} is exact and must be given", place()))),
        }
    });
    fields.collect()
}

fn dont_care(field: &Field) -> Option<Match> {
    Some(match field.kind {
        MatchKind::Exact => return None,
        MatchKind::Lpm => Match::Lpm {
            value: 0,
            prefix_len: 0,
        },
        MatchKind::Ternary => Match::Ternary { value: 0, mask: 0 },
        MatchKind::Range => Match::Range {
            low: 0,
            high: max_value(field.width),
        },
        MatchKind::Optional => Match::Optional(None),
    })
}

fn read_match(
    field: &Field,
    given: &p4::FieldMatch,
    place: &dyn Fn() -> String,
) -> Result<Match, Failure> {
    let read = |what: &str, bytes: &[u8]| {
        bytestring::decode(bytes, field.limit)
            .map_err(|error| Failure::out_of_range(format!("{}: the {what} {error}", place())))
    };
    let invalid = |words: &str| Err(Failure::invalid(format!("{}: {words}", place())));
    let omit = "don't care is expressed by leaving the field out";
    let found = match (field.kind, given.field_match_type.as_ref()) {
        (_, None) => return invalid("field_match_type is unset"),
        (MatchKind::Exact, Some(FieldMatchType::Exact(exact))) => {
            Match::Exact(read("value", &exact.value)?)
        }
        (MatchKind::Lpm, Some(FieldMatchType::Lpm(lpm))) => {
            let value = read("value", &lpm.value)?;
            let prefix_len = match u16::try_from(lpm.prefix_len) {
                Ok(0) => return invalid(omit),
                Ok(length) if length <= field.width => length,
                _ => {
                    return invalid(&format!(
                        "prefix_len is {}, not within 1 to {}",
                        lpm.prefix_len, field.width
                    ));
                }
            };
            if value & max_value(field.width - prefix_len) != 0 {
                return invalid("the value has bits set past prefix_len");
            }
            Match::Lpm { value, prefix_len }
        }
        (MatchKind::Ternary, Some(FieldMatchType::Ternary(ternary))) => {
            let value = read("value", &ternary.value)?;
            let mask = read("mask", &ternary.mask)?;
            if mask == 0 {
                return invalid(omit);
            }
            if value & !mask != 0 {
                return invalid("the value has bits set where the mask has none");
            }
            Match::Ternary { value, mask }
        }
        (MatchKind::Range, Some(FieldMatchType::Range(range))) => {
            let low = read("low bound", &range.low)?;
            let high = read("high bound", &range.high)?;
            if low > high {
                return invalid("the low bound is above the high bound");
            }
            if low == 0 && high == max_value(field.width) {
                return invalid(omit);
            }
            Match::Range { low, high }
        }
        (MatchKind::Optional, Some(FieldMatchType::Optional(optional))) => {
            Match::Optional(Some(read("value", &optional.value)?))
        }
        (kind, Some(_)) => {
            let kind = format!("{kind:?}").to_lowercase();
            return invalid(&format!("field_match_type must be {kind}"));
        }
    };
    Ok(found)
}

/// The matches as P4Info has their kinds: p4c writes the optional ones of entries
/// that P4 gives as ternary ones.
pub fn as_declared<'m>(fields: &[Field], matches: &'m [Match]) -> Cow<'m, [Match]> {
    let differs = |(field, found): (&Field, &Match)| {
        field.kind == MatchKind::Optional && matches!(found, Match::Ternary { .. })
    };
    if !fields.iter().zip(matches).any(differs) {
        return Cow::Borrowed(matches);
    }
    let declared = fields.iter().zip(matches).map(|pair| match *pair.1 {
        Match::Ternary { value, mask } if differs(pair) => {
            Match::Optional((mask != 0).then_some(value))
        }
        other => other,
    });
    Cow::Owned(declared.collect())
}

/// The match fields of an entry, don't cares left out.
pub fn render_matches(fields: &[Field], matches: &[Match]) -> Vec<p4::FieldMatch> {
    let encode = bytestring::encode;
    let fields = fields.iter().zip(matches);
    let rendered = fields.filter_map(|(field, found)| {
        let kind = match *found {
            Match::Exact(value) => FieldMatchType::Exact(field_match::Exact {
                value: encode(value),
            }),
            Match::Lpm { prefix_len: 0, .. }
            | Match::Ternary { mask: 0, .. }
            | Match::Optional(None) => return None,
            Match::Lpm { value, prefix_len } => FieldMatchType::Lpm(field_match::Lpm {
                value: encode(value),
                prefix_len: i32::from(prefix_len),
            }),
            Match::Ternary { value, mask } => FieldMatchType::Ternary(field_match::Ternary {
                value: encode(value),
                mask: encode(mask),
            }),
            Match::Range { low, high } if low == 0 && high == max_value(field.width) => {
                return None;
            }
            Match::Range { low, high } => FieldMatchType::Range(field_match::Range {
                low: encode(low),
                high: encode(high),
            }),
            Match::Optional(Some(value)) => FieldMatchType::Optional(field_match::Optional {
                value: encode(value),
            }),
        };
        Some(p4::FieldMatch {
            field_id: field.id,
            field_match_type: Some(kind),
        })
    });
    rendered.collect()
}

/// Reads the action of an entry, or of the default entry. Whether the ports of
/// a one-shot are numbers goes into `note`.
///
/// # Errors
/// INVALID_ARGUMENT, PERMISSION_DENIED (scope) or OUT_OF_RANGE, naming table,
/// action and parameter.
pub fn action(
    schema: &Schema,
    ports: Option<&[u16]>,
    table: &Table,
    given: &p4::TableAction,
    is_default: bool,
    note: &mut EntryNote,
) -> Result<EntryAction, Failure> {
    use p4::table_action::Type;
    let name = &table.name;
    let invalid = |words: &str| Err(Failure::invalid(format!("table {name}{words}")));
    let profile = schema.profiles.get(table.profile);
    match (&given.r#type, profile) {
        (None, _) => invalid(": action.type is unset"),
        (Some(Type::Action(action)), None) => {
            let call = call(
                &table.actions,
                &|| format!("table {name}"),
                action,
                |scope| match scope {
                    Scope::TableOnly => is_default.then_some("not as its default action"),
                    Scope::DefaultOnly => (!is_default).then_some("only as its default action"),
                    Scope::Both => None,
                },
            )?;
            Ok(EntryAction::Call(call))
        }
        (Some(_), None) => invalid(" has no action profile: its entries need action.action"),
        (Some(Type::Action(_)), Some(_)) => invalid(
            " has an action profile: its entries need action.action_profile_member_id, \
             action_profile_group_id or action_profile_action_set",
        ),
        (Some(Type::ActionProfileMemberId(0)), Some(_)) => {
            invalid(": action_profile_member_id is 0")
        }
        (Some(Type::ActionProfileMemberId(id)), Some(_)) => Ok(EntryAction::Member(*id)),
        (Some(_), Some(profile)) if !profile.selector => invalid(
            " has an action profile without a selector: its entries need \
             action.action_profile_member_id",
        ),
        (Some(Type::ActionProfileGroupId(0)), Some(_)) => invalid(": action_profile_group_id is 0"),
        (Some(Type::ActionProfileGroupId(id)), Some(_)) => Ok(EntryAction::Group(*id)),
        (Some(Type::ActionProfileActionSet(set)), Some(profile)) => {
            let (calls, numeric_ports) = profile::one_shot(profile, ports, name, set)?;
            note.numeric_ports = numeric_ports;
            Ok(EntryAction::OneShot(calls))
        }
    }
}

/// The action of an entry; `None` for one that P4Info does not have.
pub fn render_action(
    schema: &Schema,
    table: &Table,
    action: &EntryAction,
    note: &EntryNote,
) -> Option<p4::TableAction> {
    use p4::table_action::Type;
    let kind = match action {
        EntryAction::Call(call) => Type::Action(render_call(&table.actions, call)?),
        EntryAction::Member(id) => Type::ActionProfileMemberId(*id),
        EntryAction::Group(id) => Type::ActionProfileGroupId(*id),
        EntryAction::OneShot(calls) => {
            let profile = schema.profiles.get(table.profile)?;
            Type::ActionProfileActionSet(profile::render_one_shot(profile, calls, note))
        }
    };
    Some(p4::TableAction { r#type: Some(kind) })
}
