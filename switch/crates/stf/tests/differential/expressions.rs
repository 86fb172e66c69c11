// SPDX-License-Identifier: Apache-2.0
//! Programs that compute: fields of odd widths come in, the values of random
//! expressions go out in a header in front.

use crate::Case;
use crate::bmv2::MOST_FRAMES;
use crate::random::Random;
use std::fmt::Write;

const RESULTS: usize = 12;
const FRAMES: usize = MOST_FRAMES;
const DEPTH: u32 = 4;

struct Generator<'a> {
    random: &'a mut Random,
    /// Widths of `hdr.given.f0` and so on.
    fields: Vec<u32>,
}

pub fn generate(random: &mut Random) -> Case {
    let mut fields: Vec<u32> = [1, 4, 8, 16, 32, 48, 64].to_vec();
    fields.extend((0..5).map(|_| random.within(1, 100)));
    let widths: Vec<u32> = (0..RESULTS)
        .map(|_| match random.below(8) {
            0 => random.within(65, 128),
            1 => random.within(129, 200),
            _ => random.within(1, 64),
        })
        .collect();
    let mut generator = Generator {
        random,
        fields: fields.clone(),
    };
    let mut body = String::new();
    for (n, width) in widths.iter().enumerate() {
        let value = generator.bits(*width, DEPTH);
        let _ = writeln!(body, "        hdr.made.r{n} = {value};");
    }
    let source = program(
        &header("given_t", 'f', &fields),
        &header("made_t", 'r', &widths),
        &body,
    );
    let bytes = fields.iter().sum::<u32>().div_ceil(8) as usize;
    let mut frames: Vec<Vec<u8>> = vec![vec![0; bytes], vec![0xff; bytes]];
    while frames.len() < FRAMES {
        frames.push(frame(random, &fields, bytes));
    }
    Case { source, frames }
}

/// The fields in order, each with a value of its own.
fn frame(random: &mut Random, fields: &[u32], bytes: usize) -> Vec<u8> {
    let mut frame = vec![0u8; bytes];
    let mut at = 0usize;
    for width in fields {
        let value = random.value(*width);
        for bit in (0..*width).rev() {
            if value >> bit & 1 == 1 {
                frame[at / 8] |= 0x80 >> (at % 8);
            }
            at += 1;
        }
    }
    frame
}

/// A header type, filled up to a byte.
pub fn header(name: &str, letter: char, widths: &[u32]) -> String {
    let mut text = format!("header {name} {{\n");
    for (n, width) in widths.iter().enumerate() {
        let _ = writeln!(text, "    bit<{width}> {letter}{n};");
    }
    let used = widths.iter().sum::<u32>() % 8;
    if used != 0 {
        let _ = writeln!(text, "    bit<{}> filler;", 8 - used);
    }
    text.push_str("}\n");
    text
}

/// A program whose ingress is `body`, sent back to where the packet came from.
pub fn program(given: &str, made: &str, body: &str) -> String {
    format!(
        "#include <core.p4>
#include <v1model.p4>
{given}{made}struct headers_t {{ made_t made; given_t given; }}
struct metadata_t {{ }}
parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {{
    state start {{ packet.extract(hdr.given); transition accept; }}
}}
control V(inout headers_t hdr, inout metadata_t meta) {{ apply {{ }} }}
control C(inout headers_t hdr, inout metadata_t meta) {{ apply {{ }} }}
control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {{
    // begin
    apply {{
        sm.egress_spec = sm.ingress_port;
        hdr.made.setValid();
{body}    }}
}}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {{ apply {{ }} }}
control D(packet_out packet, in headers_t hdr) {{ apply {{ packet.emit(hdr); }} }}
V1Switch(P(), V(), I(), E(), C(), D()) main;
"
    )
}

impl Generator<'_> {
    /// An expression of type `bit<width>`.
    fn bits(&mut self, width: u32, depth: u32) -> String {
        if depth == 0 {
            return self.leaf(width);
        }
        let next = depth - 1;
        match self.random.below(10) {
            0..=2 => {
                let operator = *self
                    .random
                    .pick(&["+", "-", "*", "&", "|", "^", "|+|", "|-|"]);
                let (a, b) = (self.bits(width, next), self.bits(width, next));
                format!("({a} {operator} {b})")
            }
            3 => {
                let operator = *self.random.pick(&["~", "-"]);
                format!("({operator}{})", self.bits(width, next))
            }
            4 => {
                let operator = *self.random.pick(&["<<", ">>"]);
                let amount = if self.random.chance(50) {
                    // Not as a constant: p4c would fold it.
                    format!("(bit<8>){}", self.bits(4, 0))
                } else {
                    self.random.within(0, width + 2).to_string()
                };
                format!("({} {operator} {amount})", self.bits(width, next))
            }
            5 => {
                let condition = self.condition(next);
                let (a, b) = (self.bits(width, next), self.bits(width, next));
                format!("({condition} ? {a} : {b})")
            }
            6 => {
                let low = self.random.within(0, 20);
                let wider = low + width + self.random.within(0, 9);
                let value = self.bits(wider, next);
                format!("({value})[{}:{low}]", low + width - 1)
            }
            7 if width > 1 => {
                let left = self.random.within(1, width - 1);
                let (a, b) = (self.bits(left, next), self.bits(width - left, next));
                format!("({a} ++ {b})")
            }
            8 if width > 1 => {
                let operator = *self
                    .random
                    .pick(&["+", "-", "*", "&", "|", "^", "|+|", "|-|"]);
                let (a, b) = (self.bits(width, next), self.bits(width, next));
                format!("((bit<{width}>)((int<{width}>){a} {operator} (int<{width}>){b}))")
            }
            9 if width > 1 => {
                let amount = self.random.within(0, width - 1);
                let value = self.bits(width, next);
                format!("((bit<{width}>)((int<{width}>){value} >> {amount}))")
            }
            _ => {
                // Extended with its sign, or cut.
                let other = self.random.within(2, 80);
                let value = self.bits(other, next);
                format!("((bit<{width}>)((int<{width}>)((int<{other}>){value})))")
            }
        }
    }

    fn leaf(&mut self, width: u32) -> String {
        if self.random.chance(15) {
            let value = self.random.value(width);
            return format!("{width}w0x{value:x}");
        }
        let at = self.random.below(self.fields.len() as u64) as usize;
        if self.fields[at] == width {
            format!("hdr.given.f{at}")
        } else {
            format!("((bit<{width}>)hdr.given.f{at})")
        }
    }

    fn condition(&mut self, depth: u32) -> String {
        if depth > 0 && self.random.chance(25) {
            let next = depth - 1;
            return match self.random.below(3) {
                0 => format!("(!{})", self.condition(next)),
                1 => format!("({} && {})", self.condition(next), self.condition(next)),
                _ => format!("({} || {})", self.condition(next), self.condition(next)),
            };
        }
        let width = self.random.within(1, 70);
        let next = depth.saturating_sub(1);
        let operator = *self.random.pick(&["==", "!=", "<", "<=", ">", ">="]);
        let (a, b) = (self.bits(width, next), self.bits(width, next));
        if width > 1 && self.random.chance(40) {
            format!("((int<{width}>){a} {operator} (int<{width}>){b})")
        } else {
            format!("({a} {operator} {b})")
        }
    }
}
