// SPDX-License-Identifier: Apache-2.0
//! Programs that match: random keys, kinds and const entries; each table writes
//! the number of the entry that it found.

use crate::Case;
use crate::bmv2::MOST_FRAMES;
use crate::expressions::{header, program};
use crate::random::Random;
use std::collections::BTreeSet;
use std::fmt::Write;

const TABLES: usize = 12;
const FRAMES: usize = MOST_FRAMES;
const MISS: u32 = 0xffff;

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Exact,
    Lpm,
    Ternary,
    Range,
    Optional,
}

/// Few values each, so that packets find entries.
struct Field {
    width: u32,
    pool: Vec<u128>,
}

pub fn generate(random: &mut Random) -> Case {
    let mut fields = Vec::new();
    for width in [1, 3, 8, 9, 16, 32, 48, 64, 128] {
        let count = if width < 3 { 2 } else { 5 };
        let pool = (0..count).map(|_| random.value(width)).collect();
        fields.push(Field { width, pool });
    }
    let mut declarations = String::new();
    let mut body = String::new();
    for n in 0..TABLES {
        declarations.push_str(&table(random, n, &fields));
        let _ = writeln!(body, "        t{n}.apply();");
    }
    let widths: Vec<u32> = fields.iter().map(|field| field.width).collect();
    let source = program(
        &header("given_t", 'f', &widths),
        &header("made_t", 'r', &[16; TABLES]),
        &body,
    )
    .replace("    // begin\n", &declarations);
    let frames = (0..FRAMES).map(|_| frame(random, &fields)).collect();
    Case { source, frames }
}

fn table(random: &mut Random, n: usize, fields: &[Field]) -> String {
    let keys = keys(random, fields);
    let mut text = format!("    action set{n}(bit<16> v) {{ hdr.made.r{n} = v; }}\n");
    let _ = writeln!(text, "    table t{n} {{\n        key = {{");
    for (at, kind) in &keys {
        let kind = match kind {
            Kind::Exact => "exact",
            Kind::Lpm => "lpm",
            Kind::Ternary => "ternary",
            Kind::Range => "range",
            Kind::Optional => "optional",
        };
        let _ = writeln!(text, "            hdr.given.f{at}: {kind};");
    }
    let _ = writeln!(
        text,
        "        }}\n        actions = {{ set{n}; }}\n        const default_action = set{n}({MISS});\n        const entries = {{"
    );
    let mut seen = BTreeSet::new();
    for entry in 0..random.within(1, 24) {
        let matches: Vec<String> = keys
            .iter()
            .map(|(at, kind)| key_match(random, &fields[*at], *kind))
            .collect();
        let matches = matches.join(", ");
        if seen.insert(matches.clone()) {
            let _ = writeln!(text, "            ({matches}): set{n}({entry});");
        }
    }
    text.push_str("        }\n    }\n");
    text
}

/// Which fields, and how they are matched.
fn keys(random: &mut Random, fields: &[Field]) -> Vec<(usize, Kind)> {
    let allowed: &[Kind] = match random.below(4) {
        0 => &[Kind::Exact],
        1 => &[Kind::Exact, Kind::Lpm],
        2 => &[Kind::Exact, Kind::Ternary, Kind::Optional],
        _ => &[Kind::Exact, Kind::Ternary, Kind::Range, Kind::Optional],
    };
    let mut free: Vec<usize> = (0..fields.len()).collect();
    let mut keys = Vec::new();
    for _ in 0..random.within(1, 3) {
        let at = free.remove(random.below(free.len() as u64) as usize);
        let mut kind = *random.pick(allowed);
        let width = fields[at].width;
        let wide = width > 64 && matches!(kind, Kind::Lpm | Kind::Range);
        // One prefix at most. p4c takes no longer ones than a word, and BMv2
        // counts a prefix from the first bit of the first byte, which is not
        // the field's where the field is not of whole bytes.
        let prefixed = keys.iter().any(|(_, kind)| *kind == Kind::Lpm);
        if wide || kind == Kind::Lpm && (prefixed || width % 8 != 0) {
            kind = Kind::Exact;
        }
        keys.push((at, kind));
    }
    keys
}

fn key_match(random: &mut Random, field: &Field, kind: Kind) -> String {
    let value = *random.pick(&field.pool);
    let all = u128::MAX >> (128 - field.width);
    match kind {
        Kind::Exact => format!("0x{value:x}"),
        Kind::Lpm => {
            let length = random.within(0, field.width);
            let mask = all & !(all.checked_shr(length).unwrap_or(0));
            format!("0x{:x} &&& 0x{mask:x}", value & mask)
        }
        Kind::Ternary if random.chance(20) => "_".into(),
        Kind::Ternary => {
            let mask = random.value(field.width);
            format!("0x{:x} &&& 0x{mask:x}", value & mask)
        }
        Kind::Range if random.chance(20) => "_".into(),
        Kind::Range => {
            let other = *random.pick(&field.pool);
            format!("0x{:x} .. 0x{:x}", value.min(other), value.max(other))
        }
        Kind::Optional if random.chance(30) => "_".into(),
        Kind::Optional => format!("0x{value:x}"),
    }
}

fn frame(random: &mut Random, fields: &[Field]) -> Vec<u8> {
    let bits: u32 = fields.iter().map(|field| field.width).sum();
    let mut frame = vec![0u8; bits.div_ceil(8) as usize];
    let mut at = 0usize;
    for field in fields {
        let mut value = *random.pick(&field.pool);
        if random.chance(20) {
            value = random.value(field.width);
        } else if random.chance(20) {
            // Nearly: one bit differs.
            value ^= 1 << random.below(u64::from(field.width));
        }
        for bit in (0..field.width).rev() {
            if value >> bit & 1 == 1 {
                frame[at / 8] |= 0x80 >> (at % 8);
            }
            at += 1;
        }
    }
    frame
}
