// SPDX-License-Identifier: Apache-2.0
//! A table's key as 64-bit words, and what entries demand of them.

use super::KeySource;
use super::rules::{Condition, Demands, WideRange};
use crate::error::ControlError;
use crate::op::{Slot, mask_wide};
use crate::schema::{EntryKey, KeySchema, Match, MatchKind, TableSchema};

/// One word of a key: a field of up to 64 bits, or half of a wider one.
#[derive(Clone, Debug)]
pub(crate) struct Word {
    slot: Slot,
    valid: Slot,
    /// The bits that the word can have.
    pub mask: u64,
    /// Index of the key field.
    pub field: usize,
    /// 0 for the lower 64 bits of the field, 64 for the upper.
    shift: u32,
    /// Bits of the field.
    pub width: u16,
}

impl Word {
    /// The packet's value; 0 when the field's header is not valid.
    #[inline(always)]
    pub fn load(&self, phv: &[u64]) -> u64 {
        phv[usize::from(self.slot)] & self.mask & phv[usize::from(self.valid)].wrapping_neg()
    }

    /// Bits of the word.
    pub fn bits(&self) -> u16 {
        (self.width - self.shift as u16).min(64)
    }
}

/// The values of words that have 64 bits in all, as one.
#[inline(always)]
pub(crate) fn joined<'w>(words: impl Iterator<Item = (&'w Word, u64)>) -> u64 {
    // A word of 64 bits is alone, in front of which is nothing to be shifted.
    words.fold(0, |all, (word, value)| {
        all.wrapping_shl(word.bits().into()) | value
    })
}

/// The words of a key, the lower half of a wide field first.
pub(crate) fn words_of_key(sources: &[KeySource]) -> Vec<Word> {
    let mut words = Vec::new();
    for (field, source) in sources.iter().enumerate() {
        let all = source.mask & mask_wide(source.width);
        let word = |half: u32| Word {
            slot: source.slot + half as Slot,
            valid: source.valid,
            mask: (all >> (64 * half)) as u64,
            field,
            shift: 64 * half,
            width: source.width,
        };
        words.push(word(0));
        if source.width > 64 {
            words.push(word(1));
        }
    }
    words
}

fn prefix_mask(width: u16, length: u16) -> u128 {
    mask_wide(width) & !mask_wide(width - length.min(width))
}

/// The words that a packet's key must equal; for exact entries.
pub(crate) fn exact_words(words: &[Word], key: &EntryKey) -> Vec<u64> {
    words.iter().map(|word| exact_word(word, key)).collect()
}

/// The same without the words of one field.
pub(crate) fn other_words(words: &[Word], key: &EntryKey, field: usize) -> Vec<u64> {
    let others = words.iter().filter(|word| word.field != field);
    others.map(|word| exact_word(word, key)).collect()
}

fn exact_word(word: &Word, key: &EntryKey) -> u64 {
    match key.matches[word.field] {
        Match::Exact(value) => (value >> word.shift) as u64 & word.mask,
        _ => 0,
    }
}

/// The one prefix and its length.
pub(crate) fn prefix(key: &EntryKey) -> (u128, u16) {
    let mut matches = key.matches.iter();
    let found = matches.find_map(|m| match m {
        Match::Lpm { value, prefix_len } => Some((*value, *prefix_len)),
        _ => None,
    });
    found.unwrap_or((0, 0))
}

/// What an entry of a table with priorities demands.
pub(crate) fn demands(words: &[Word], schema: &TableSchema, key: &EntryKey) -> Demands {
    let mut demands = Demands::default();
    for (at, word) in words.iter().enumerate() {
        let width = schema.keys[word.field].width;
        let (value, mask) = match key.matches[word.field] {
            Match::Exact(value) | Match::Optional(Some(value)) => (value, mask_wide(width)),
            Match::Optional(None) => (0, 0),
            Match::Ternary { value, mask } => (value, mask),
            Match::Lpm { value, prefix_len } => (value, prefix_mask(width, prefix_len)),
            Match::Range { low, high } => {
                range(&mut demands, words, at, low, high);
                continue;
            }
        };
        let mask = (mask >> word.shift) as u64 & word.mask;
        if mask != 0 {
            let low = (value >> word.shift) as u64 & mask;
            demands.conditions.push(Condition {
                word: at as u16,
                mask,
                low,
                span: 0,
            });
        }
    }
    demands
}

/// What a range demands of one word of its field.
fn range(demands: &mut Demands, words: &[Word], at: usize, low: u128, high: u128) {
    let word = &words[at];
    let mut within = |low: u64, high: u64| {
        let span = high.wrapping_sub(low);
        if span < word.mask {
            demands.conditions.push(Condition {
                word: at as u16,
                mask: word.mask,
                low,
                span,
            });
        }
    };
    if word.width <= 64 {
        within(low as u64, high as u64);
    } else if word.shift == 64 {
        within((low >> 64) as u64, (high >> 64) as u64);
    } else if low >> 64 == high >> 64 {
        within(low as u64, high as u64);
    } else if high - low < mask_wide(word.width) {
        // The upper word's bounds are a necessary condition only.
        demands.wide_ranges.push(WideRange {
            word: at as u16,
            low,
            high,
        });
    }
}

/// Refuses a match that does not fit the key.
pub(crate) fn check(schema: &TableSchema, key: &EntryKey) -> Result<(), ControlError> {
    let invalid = |reason: String| ControlError::InvalidMatch {
        table: schema.name.clone(),
        reason,
    };
    if schema.keys.is_empty() {
        return Err(invalid(
            "the table has no key, so it has no entries".to_owned(),
        ));
    }
    if key.matches.len() != schema.keys.len() {
        return Err(invalid(format!(
            "the key has {} fields, not {}",
            schema.keys.len(),
            key.matches.len()
        )));
    }
    match (schema.needs_priority(), key.priority) {
        (true, ..=0) => {
            return Err(invalid(
                "a priority above 0 is needed, because a key field is ternary, range or optional"
                    .to_owned(),
            ));
        }
        (false, p) if p != 0 => {
            return Err(invalid(
                "the priority must be 0, because no key field is ternary, range or optional"
                    .to_owned(),
            ));
        }
        _ => {}
    }
    for (field, given) in schema.keys.iter().zip(&key.matches) {
        check_field(field, given).map_err(|e| match e {
            Problem::Wide => ControlError::ValueTooWide {
                what: format!("key field {} of table {}", field.name, schema.name),
                width: field.width,
            },
            Problem::Shape(reason) => invalid(format!("key field {}: {reason}", field.name)),
        })?;
    }
    Ok(())
}

enum Problem {
    Wide,
    Shape(String),
}

fn check_field(field: &KeySchema, given: &Match) -> Result<(), Problem> {
    let all = mask_wide(field.width);
    let fits = |value: u128| {
        if value & !all == 0 {
            Ok(())
        } else {
            Err(Problem::Wide)
        }
    };
    let shape = |reason: &str| Err(Problem::Shape(reason.to_owned()));
    match (field.kind, *given) {
        (MatchKind::Exact, Match::Exact(value)) => fits(value),
        // p4c writes optional fields as ternary ones into the JSON.
        (MatchKind::Optional | MatchKind::Ternary, Match::Optional(value)) => {
            fits(value.unwrap_or(0))
        }
        (MatchKind::Lpm, Match::Lpm { value, prefix_len }) => {
            fits(value)?;
            if prefix_len > field.width {
                return shape("the prefix is longer than the field");
            }
            if value & !prefix_mask(field.width, prefix_len) != 0 {
                return shape("bits behind the prefix are set");
            }
            Ok(())
        }
        (MatchKind::Ternary, Match::Ternary { value, mask }) => {
            fits(value)?;
            fits(mask)?;
            if value & !mask != 0 {
                return shape("bits outside the mask are set");
            }
            Ok(())
        }
        (MatchKind::Range, Match::Range { low, high }) => {
            fits(low)?;
            fits(high)?;
            if low > high {
                return shape("the range's low bound is above its high bound");
            }
            Ok(())
        }
        (kind, _) => shape(&format!(
            "the field is matched {kind:?}, and the entry gives another kind"
        )),
    }
}

/// Refuses a value that does not fit.
pub(crate) fn check_width(
    value: u128,
    width: u16,
    what: impl FnOnce() -> String,
) -> Result<(), ControlError> {
    if value & !mask_wide(width) == 0 {
        Ok(())
    } else {
        Err(ControlError::ValueTooWide {
            what: what(),
            width,
        })
    }
}
