// SPDX-License-Identifier: Apache-2.0
//! Hashes and checksums over fields, constants and the payload.

use crate::bits;
use crate::hash::{Algorithm, Sum};
use crate::op::Slot;

/// A hash over fields.
#[derive(Debug)]
pub(crate) struct Calculation {
    pub algorithm: Algorithm,
    pub inputs: Vec<Input>,
    /// The bytes that no header was extracted from come last.
    pub payload: bool,
}

/// One input of a hash.
#[derive(Clone, Debug)]
pub(crate) enum Input {
    /// A field, skipped when its header is not valid.
    Field { slot: Slot, width: u16, valid: Slot },
    /// A varbit field.
    Var { slot: Slot, valid: Slot },
    /// The lowest bits first.
    Constant { value: Box<[u64]>, width: u16 },
}

impl Input {
    /// The memory that it takes, bytes.
    pub fn bytes(&self) -> usize {
        let constant = match self {
            Input::Constant { value, .. } => size_of_val(&**value),
            Input::Field { .. } | Input::Var { .. } => 0,
        };
        size_of::<Input>() + constant
    }

    /// The slots that are read, with their number.
    pub fn slots(&self) -> Option<(Slot, u16)> {
        match self {
            Input::Field { slot, width, .. } => Some((*slot, words(*width) as u16)),
            Input::Var { slot, .. } => Some((*slot, 1)),
            Input::Constant { .. } => None,
        }
    }
}

fn words(width: u16) -> usize {
    usize::from(width.div_ceil(64).max(1))
}

/// What a calculation reads.
pub(crate) struct Source<'a> {
    pub phv: &'a [u64],
    pub frame: &'a [u8],
    /// Where the payload is in the frame.
    pub payload: std::ops::Range<usize>,
}

impl Calculation {
    /// The hash of the inputs one after the other, padded at the end to whole
    /// bytes before the payload; fields of invalid headers are left out.
    /// `data` is scratch space.
    // In the machine's loop it would take the registers that the loop needs.
    #[inline(never)]
    pub fn compute(&self, source: &Source<'_>, data: &mut Vec<u8>) -> u64 {
        if self.algorithm == Algorithm::Csum16 {
            return self.sum(source);
        }
        data.clear();
        let mut at = 0;
        self.visit(source, &mut |value, width| {
            let end = at + usize::from(width);
            data.resize(end.div_ceil(8), 0);
            bits::store(data, at, width, value);
            at = end;
        });
        if self.payload {
            data.extend_from_slice(&source.frame[source.payload.clone()]);
        }
        self.algorithm.compute(data)
    }

    fn sum(&self, source: &Source<'_>) -> u64 {
        let mut sum = Sum::default();
        self.visit(source, &mut |value, width| sum.add(value, width));
        if self.payload {
            sum.pad();
            sum.add_bytes(&source.frame[source.payload.clone()]);
        }
        sum.checksum()
    }

    /// Gives the inputs in pieces of 1 to 64 bits.
    #[inline]
    fn visit(&self, source: &Source<'_>, take: &mut impl FnMut(u64, u16)) {
        let phv = source.phv;
        for input in &self.inputs {
            match input {
                Input::Field { slot, width, valid } => {
                    if phv[usize::from(*valid)] != 0 {
                        let slot = usize::from(*slot);
                        pieces(&phv[slot..slot + words(*width)], *width, take);
                    }
                }
                Input::Var { slot, valid } => {
                    if phv[usize::from(*valid)] != 0 {
                        let value = phv[usize::from(*slot)];
                        let (mut at, left) = ((value >> 32) as usize, value & 0xffff_ffff);
                        let end = at + left as usize;
                        while at < end {
                            let width = (end - at).min(64) as u16;
                            take(bits::load(source.frame, at, width), width);
                            at += usize::from(width);
                        }
                    }
                }
                Input::Constant { value, width } => pieces(value, *width, take),
            }
        }
    }
}

/// The words of a number, the highest first.
#[inline]
fn pieces(value: &[u64], width: u16, take: &mut impl FnMut(u64, u16)) {
    for (word, value) in value.iter().enumerate().rev() {
        let width = (width - 64 * word as u16).min(64);
        if width > 0 {
            take(*value, width);
        }
    }
}
