// SPDX-License-Identifier: Apache-2.0
//! Parser value sets: what `select` compares its key with, set by the control
//! plane.

use crate::error::ControlError;
use crate::op::mask_wide;
use crate::schema::{KeySchema, Match, ValueSetSchema};

/// The members of a value set.
#[derive(Clone, Debug)]
pub(crate) struct ValueSet {
    /// As they were written.
    members: Vec<Vec<Match>>,
    /// Words of a key: one for each field of up to 64 bits, two for a wider
    /// one, the lower first.
    words: usize,
    /// Values and masks: `words` pairs for each row.
    rows: Vec<(u64, u64)>,
}

impl ValueSet {
    /// An empty set.
    pub fn new(schema: &ValueSetSchema) -> Self {
        let words = schema.fields.iter().map(|f| words(f.width)).sum();
        ValueSet {
            members: Vec::new(),
            words,
            rows: Vec::new(),
        }
    }

    /// The memory that the members take, bytes; see [`crate::Pipeline::kept_bytes`].
    pub fn kept_bytes(&self) -> usize {
        let fields = self.members.first().map_or(0, Vec::len);
        let member = size_of::<Vec<Match>>() + fields * size_of::<Match>();
        self.members.len() * member + size_of_val(self.rows.as_slice())
    }

    /// Whether the set has the key, given as words (see [`ValueSet::rows`]).
    #[inline]
    pub fn contains(&self, key: impl Fn(usize) -> u64) -> bool {
        self.rows().any(|row| {
            let mut words = row.iter().enumerate();
            words.all(|(at, (value, mask))| key(at) & mask == *value)
        })
    }

    /// A value and a mask for each word of the key; a key is in the set when
    /// it equals some row under its mask. One member may take several rows.
    pub fn rows(&self) -> impl Iterator<Item = &[(u64, u64)]> {
        self.rows.chunks_exact(self.words.max(1))
    }

    /// As they were written.
    pub fn members(&self) -> &[Vec<Match>] {
        &self.members
    }

    /// Replaces the members.
    ///
    /// # Errors
    /// Too many, or one that does not fit the fields.
    pub fn set(
        &mut self,
        schema: &ValueSetSchema,
        members: &[Vec<Match>],
    ) -> Result<(), ControlError> {
        if members.len() > schema.size {
            return Err(ControlError::Full {
                what: format!("value set {}", schema.name),
                size: schema.size,
            });
        }
        // Counted before any is made: two ranges of 32 bits alone may become thousands of rows.
        let mut count = 0usize;
        for member in members {
            count = count.saturating_add(rows_of(schema, member)?);
            if count > MOST_ROWS {
                return Err(ControlError::Full {
                    what: format!(
                        "value set {}, where a range counts as the prefixes that it consists of,",
                        schema.name
                    ),
                    size: MOST_ROWS,
                });
            }
        }
        let mut rows = Vec::with_capacity(count * self.words);
        for member in members {
            add_rows(schema, member, &mut rows)?;
        }
        self.rows = rows;
        self.members = members.to_vec();
        Ok(())
    }
}

fn words(width: u16) -> usize {
    usize::from(width.div_ceil(64).max(1))
}

/// Most rows of a set: a packet is compared with one after the other, and the ranges of a member
/// become as many rows as the product of their prefixes.
const MOST_ROWS: usize = 4096;

/// How many rows a member takes: only ranges take more than one.
///
/// # Errors
/// A range of it does not fit its field.
fn rows_of(schema: &ValueSetSchema, member: &[Match]) -> Result<usize, ControlError> {
    let mut rows = 1usize;
    for (field, given) in schema.fields.iter().zip(member) {
        if matches!(given, Match::Range { .. }) {
            rows = rows.saturating_mul(checked(schema, field, given)?.len());
        }
    }
    Ok(rows)
}

/// The rows of a member. Ranges are split into prefixes, so that a row is
/// values and masks only.
fn add_rows(
    schema: &ValueSetSchema,
    member: &[Match],
    rows: &mut Vec<(u64, u64)>,
) -> Result<(), ControlError> {
    if member.len() != schema.fields.len() {
        let (fields, given) = (schema.fields.len(), member.len());
        return Err(invalid(
            schema,
            format!("it has {fields} fields, not {given}"),
        ));
    }
    // The product of the choices that each field has.
    let mut product: Vec<Vec<(u64, u64)>> = vec![Vec::new()];
    for (field, given) in schema.fields.iter().zip(member) {
        let choices = checked(schema, field, given)?;
        product = product
            .iter()
            .flat_map(|row| {
                choices.iter().map(move |(value, mask)| {
                    let mut row = row.clone();
                    for word in 0..words(field.width) {
                        let shift = 64 * word;
                        row.push(((value >> shift) as u64, (mask >> shift) as u64));
                    }
                    row
                })
            })
            .collect();
    }
    rows.extend(product.into_iter().flatten());
    Ok(())
}

/// The values under masks of which one must hold in a field of a member.
fn checked(
    schema: &ValueSetSchema,
    field: &KeySchema,
    given: &Match,
) -> Result<Choices, ControlError> {
    choices(field, given).map_err(|problem| match problem {
        Problem::Wide => ControlError::ValueTooWide {
            what: format!("field {} of value set {}", field.name, schema.name),
            width: field.width,
        },
        Problem::Shape(reason) => invalid(schema, format!("field {}: {reason}", field.name)),
    })
}

fn invalid(schema: &ValueSetSchema, reason: String) -> ControlError {
    ControlError::InvalidObject {
        what: format!("a member of value set {}", schema.name),
        reason,
    }
}

/// Values and masks.
type Choices = Vec<(u128, u128)>;

enum Problem {
    Wide,
    Shape(&'static str),
}

/// A match as values under masks, of which one must hold.
fn choices(field: &KeySchema, given: &Match) -> Result<Choices, Problem> {
    let all = mask_wide(field.width);
    let fits = |value: u128| {
        if value & !all == 0 {
            Ok(())
        } else {
            Err(Problem::Wide)
        }
    };
    let single = |value: u128, mask: u128| {
        if value & !mask != 0 {
            return Err(Problem::Shape("bits outside the mask or prefix are set"));
        }
        Ok(vec![(value, mask)])
    };
    match *given {
        Match::Exact(value) | Match::Optional(Some(value)) => {
            fits(value)?;
            single(value, all)
        }
        Match::Optional(None) => single(0, 0),
        Match::Ternary { value, mask } => {
            fits(value)?;
            fits(mask)?;
            single(value, mask)
        }
        Match::Lpm { value, prefix_len } => {
            fits(value)?;
            if prefix_len > field.width {
                return Err(Problem::Shape("the prefix is longer than the field"));
            }
            single(value, all & !mask_wide(field.width - prefix_len))
        }
        Match::Range { low, high } => {
            fits(low)?;
            fits(high)?;
            if low > high {
                return Err(Problem::Shape(
                    "the range's low bound is above its high bound",
                ));
            }
            Ok(prefixes(low, high, all))
        }
    }
}

/// The fewest prefixes that make up a range.
fn prefixes(mut low: u128, high: u128, all: u128) -> Choices {
    let mut found = Vec::new();
    loop {
        // The largest block that begins at `low` and ends within the range.
        let mut free = 0;
        while free != all {
            let more = (free << 1) | 1;
            if more & !all != 0 || low & more != 0 || low | more > high {
                break;
            }
            free = more;
        }
        found.push((low, all & !free));
        match (low | free).checked_add(1) {
            Some(next) if next <= high => low = next,
            _ => return found,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::MatchKind;
    use proptest::prelude::*;

    fn field(width: u16) -> KeySchema {
        KeySchema {
            name: "f".to_owned(),
            kind: MatchKind::Exact,
            width,
        }
    }

    fn schema(widths: &[u16]) -> ValueSetSchema {
        ValueSetSchema {
            name: "set".to_owned(),
            size: 3,
            fields: widths.iter().map(|w| field(*w)).collect(),
        }
    }

    #[test]
    fn a_key_of_several_words_is_found() {
        let schema = schema(&[16, 128]);
        let mut set = ValueSet::new(&schema);
        let members = vec![
            vec![Match::Exact(7), Match::Optional(None)],
            vec![Match::Exact(8), Match::Exact(1 << 100 | 5)],
        ];
        set.set(&schema, &members).unwrap();
        assert_eq!(set.members(), members);
        let has = |key: [u64; 3]| set.contains(|at| key[at]);
        assert!(has([7, 1, 2]));
        assert!(has([8, 5, 1 << 36]));
        assert!(!has([8, 5, 1 << 35]));
        assert!(!has([9, 5, 1 << 36]));
    }

    #[test]
    fn members_that_do_not_fit_change_nothing() {
        let schema = schema(&[8]);
        let mut set = ValueSet::new(&schema);
        let one = vec![Match::Exact(1)];
        set.set(&schema, std::slice::from_ref(&one)).unwrap();
        let bad = [
            vec![one.clone(), vec![Match::Exact(256)]],
            vec![vec![]],
            vec![one.clone(); 4],
            vec![vec![Match::Range { low: 2, high: 1 }]],
            vec![vec![Match::Ternary { value: 3, mask: 1 }]],
        ];
        for members in bad {
            assert!(set.set(&schema, &members).is_err());
            assert_eq!(set.members(), std::slice::from_ref(&one));
        }
    }

    /// Of two fields of 32 bits with the longest ranges 1,024 members would take gigabytes.
    #[test]
    fn a_set_has_no_more_rows_than_a_packet_may_be_compared_with() {
        let mut schema = schema(&[32, 32]);
        schema.size = 5000;
        let mut set = ValueSet::new(&schema);
        let last = u128::from(u32::MAX);
        let longest = Match::Range {
            low: 1,
            high: last - 1,
        };
        let one = vec![longest, longest];
        set.set(&schema, std::slice::from_ref(&one)).unwrap();
        assert_eq!(set.rows().count(), 62 * 62);
        let refused = set.set(&schema, &vec![one.clone(); 1024]).unwrap_err();
        assert_eq!(refused.code(), crate::error::Code::ResourceExhausted);
        assert!(
            refused.to_string().ends_with("is full: its size is 4096"),
            "{refused}"
        );
        assert_eq!(set.members(), [one], "nothing was changed");
        let single = vec![Match::Exact(1), Match::Optional(None)];
        set.set(&schema, &vec![single.clone(); MOST_ROWS]).unwrap();
        set.set(&schema, &vec![single; MOST_ROWS + 1]).unwrap_err();
    }

    proptest! {
        #[test]
        fn the_prefixes_of_a_range_are_the_range(low: u8, high: u8) {
            let (low, high) = (low.min(high), low.max(high));
            let parts = prefixes(u128::from(low), u128::from(high), 0xff);
            for value in 0..=255u8 {
                let hits = parts.iter().filter(|(v, m)| u128::from(value) & m == *v).count();
                prop_assert_eq!(hits, usize::from((low..=high).contains(&value)));
            }
        }
    }

    #[test]
    fn the_widest_range_is_one_prefix() {
        assert_eq!(prefixes(0, u128::MAX, u128::MAX), [(0, 0)]);
        assert_eq!(prefixes(5, 5, u128::MAX), [(5, u128::MAX)]);
    }
}
