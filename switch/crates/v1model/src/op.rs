// SPDX-License-Identifier: Apache-2.0
//! The instructions that a program is lowered to.
//!
//! A register machine whose registers are the slots of the packet-header
//! vector: constants, header and metadata fields, action parameters and
//! temporaries alike. `d` is the slot written, `a` and `b` are read. `w` is the
//! width, 1 to 64, that the result is cut to. Wide instructions (`...W`) work
//! on pairs of slots, the lower 64 bits first.

/// Index of a 64-bit slot.
pub(crate) type Slot = u16;
/// Index of an instruction.
pub(crate) type Pc = u32;

/// Comparisons that leave 0 or 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cmp {
    Eq,
    Ne,
    /// Less than, unsigned.
    Lt,
    /// Less or equal, unsigned.
    Le,
    /// Less than, two's complement.
    LtS,
    /// Less or equal, two's complement.
    LeS,
}

/// Two-operand operations modulo 2^128.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Alu {
    Add,
    Sub,
    Mul,
    And,
    Or,
    Xor,
    /// Shift left; the amount is a 64-bit slot.
    Shl,
    /// Logical shift right.
    Shr,
    /// Arithmetic shift right.
    Sar,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Mov {
        d: Slot,
        a: Slot,
    },
    Cut {
        d: Slot,
        a: Slot,
        w: u8,
    },
    Add {
        d: Slot,
        a: Slot,
        b: Slot,
        w: u8,
    },
    Sub {
        d: Slot,
        a: Slot,
        b: Slot,
        w: u8,
    },
    Mul {
        d: Slot,
        a: Slot,
        b: Slot,
        w: u8,
    },
    And {
        d: Slot,
        a: Slot,
        b: Slot,
        w: u8,
    },
    Or {
        d: Slot,
        a: Slot,
        b: Slot,
        w: u8,
    },
    Xor {
        d: Slot,
        a: Slot,
        b: Slot,
        w: u8,
    },
    Not {
        d: Slot,
        a: Slot,
        w: u8,
    },
    Shl {
        d: Slot,
        a: Slot,
        b: Slot,
        w: u8,
    },
    Shr {
        d: Slot,
        a: Slot,
        b: Slot,
        w: u8,
    },
    Sar {
        d: Slot,
        a: Slot,
        b: Slot,
        w: u8,
    },
    /// Unsigned division; by 0 it gives 0.
    Div {
        d: Slot,
        a: Slot,
        b: Slot,
        w: u8,
    },
    /// Unsigned remainder; by 0 it gives 0.
    Rem {
        d: Slot,
        a: Slot,
        b: Slot,
        w: u8,
    },
    /// Sign-extends the lower `from` bits to 64.
    Sext {
        d: Slot,
        a: Slot,
        from: u8,
    },
    /// 0 or 1.
    Compare {
        d: Slot,
        a: Slot,
        b: Slot,
        cmp: Cmp,
    },
    /// `d = if c then a else b`.
    Select {
        d: Slot,
        c: Slot,
        a: Slot,
        b: Slot,
    },

    MovW {
        d: Slot,
        a: Slot,
    },
    CutW {
        d: Slot,
        a: Slot,
        w: u8,
    },
    AluW {
        d: Slot,
        a: Slot,
        b: Slot,
        alu: Alu,
    },
    NotW {
        d: Slot,
        a: Slot,
    },
    /// Sign-extends the lower `from` bits, up to 128, to 128.
    SextW {
        d: Slot,
        a: Slot,
        from: u8,
    },
    CompareW {
        d: Slot,
        a: Slot,
        b: Slot,
        cmp: Cmp,
    },
    /// Clamps a two's complement pair to `w` bits, unsigned or signed.
    SaturateW {
        d: Slot,
        a: Slot,
        w: u8,
        signed: bool,
    },

    /// Whether two varbit fields have the same length and bits.
    CompareVar {
        d: Slot,
        a: Slot,
        b: Slot,
    },

    /// Copies `n` slots.
    Copy {
        d: Slot,
        a: Slot,
        n: u16,
    },

    Jump {
        to: Pc,
    },
    JumpIf {
        a: Slot,
        to: Pc,
    },
    JumpIfNot {
        a: Slot,
        to: Pc,
    },
    JumpEq {
        a: Slot,
        b: Slot,
        to: Pc,
    },
    JumpNe {
        a: Slot,
        b: Slot,
        to: Pc,
    },
    JumpLt {
        a: Slot,
        b: Slot,
        to: Pc,
    },
    JumpLe {
        a: Slot,
        b: Slot,
        to: Pc,
    },
    /// When the value set has the key in `words` slots from `key` on.
    JumpInSet {
        words: u8,
        set: u16,
        key: Slot,
        to: Pc,
    },
    /// Looks up a table, runs the action and goes on where the table says.
    Apply {
        table: u16,
    },
    /// The same for a table with a direct meter, idle timeouts or an action
    /// profile.
    ApplyWith {
        table: u16,
    },
    /// Tells the tracer where control is; only in the code that is traced.
    Mark {
        place: u32,
    },
    /// End of an action.
    Return,
    /// End of the parser or pipeline, P4's `exit` included.
    End,

    RegisterRead {
        d: Slot,
        index: Slot,
        register: u16,
        w: u8,
    },
    RegisterWrite {
        a: Slot,
        index: Slot,
        register: u16,
    },
    RegisterReadW {
        d: Slot,
        index: Slot,
        register: u16,
        w: u8,
    },
    RegisterWriteW {
        a: Slot,
        index: Slot,
        register: u16,
    },
    Count {
        counter: u16,
        index: Slot,
    },
    /// Marks the packet with a colour of 0 to 2.
    ExecuteMeter {
        d: Slot,
        index: Slot,
        meter: u16,
        w: u8,
    },
    Random {
        d: Slot,
        low: Slot,
        high: Slot,
        w: u8,
    },
    /// `base + H % max(1, size)`; a size of 0 writes nothing but `base`.
    Hash {
        d: Slot,
        calculation: u16,
        base: Slot,
        size: Slot,
    },
    /// The hash alone.
    Checksum {
        d: Slot,
        calculation: u16,
    },
    /// Evaluates an expression by big integers into `words` slots.
    Wide {
        words: u8,
        d: Slot,
        expr: u16,
    },
    /// Puts the drop port into `spec` and 0 into `group`.
    MarkToDrop {
        spec: Slot,
        group: Slot,
    },
    /// Makes a header valid; its fields become 0 when it was not.
    AddHeader {
        header: u16,
    },
    RemoveHeader {
        header: u16,
    },
    Log {
        message: u16,
    },
    Assert {
        a: Slot,
        message: u16,
    },

    Extract {
        header: u16,
    },
    /// `bits` is the length of the varbit field.
    ExtractVar {
        header: u16,
        bits: Slot,
    },
    /// `width` bits, at most 64, that begin `offset` bits after the cursor.
    Lookahead {
        d: Slot,
        offset: u16,
        width: u8,
    },
    /// The same for any width.
    LookaheadW {
        d: Slot,
        offset: u16,
        width: u16,
    },
    /// Moves the cursor by a number of bits.
    Advance {
        a: Slot,
    },
    /// Stops the parser with this error.
    Fail {
        a: Slot,
    },
    /// Counts a visit of a state that may loop.
    Tick,

    /// Copies `words` slots from element number `index` of a stack, 0 when
    /// there is none. `base` is the place in the first of `size` elements.
    LoadElement {
        words: u8,
        d: Slot,
        index: Slot,
        base: Slot,
        stride: u16,
        size: u16,
    },
    /// Copies `words` slots into element number `index`, if there is one.
    StoreElement {
        words: u8,
        a: Slot,
        index: Slot,
        base: Slot,
        stride: u16,
        size: u16,
    },
    /// Extracts into the next element of a stack, whose count is in `next`.
    /// `member`: of the union that the elements are, else 0.
    ExtractNext {
        member: u8,
        stack: u16,
        next: Slot,
    },
    ExtractNextVar {
        member: u8,
        stack: u16,
        next: Slot,
        bits: Slot,
    },
    /// Moves the elements of a stack `by` places up; the first become invalid.
    /// The stack takes `slots` slots from `next` on.
    Push {
        stack: u16,
        next: Slot,
        slots: u16,
        by: u16,
    },
    /// Moves the elements down; the last become invalid.
    Pop {
        stack: u16,
        next: Slot,
        slots: u16,
        by: u16,
    },

    // Two instructions in one: `lower::fuse` makes them, last of all.
    /// `d = a`, then `e = b`.
    Mov2 {
        d: Slot,
        a: Slot,
        e: Slot,
        b: Slot,
    },
    MovReturn {
        d: Slot,
        a: Slot,
    },
    Mov2Return {
        d: Slot,
        a: Slot,
        e: Slot,
        b: Slot,
    },
    /// `d` from `register`, then `e` from the `other` one, both whole.
    RegisterRead2 {
        d: Slot,
        e: Slot,
        index: Slot,
        register: u16,
        other: u16,
    },
    /// `a` to `register`, then `b` to the `other` one.
    RegisterWrite2 {
        a: Slot,
        b: Slot,
        index: Slot,
        register: u16,
        other: u16,
    },
}

/// Slots that a value of this width takes.
pub(crate) fn words(width: u16) -> u16 {
    width.div_ceil(64).max(1)
}

/// Slots from the first to the last element's part of a stack.
pub(crate) fn span(words: u8, stride: u16, size: u16) -> u16 {
    stride
        .saturating_mul(size.saturating_sub(1))
        .saturating_add(u16::from(words))
}

/// The lowest `w` bits, 1 to 64.
#[inline(always)]
pub(crate) fn mask(w: u8) -> u64 {
    u64::MAX >> ((64 - w as u32) & 63)
}

/// The lowest `w` bits, 0 to 128.
#[inline(always)]
pub(crate) fn mask_wide(w: u16) -> u128 {
    match w {
        0 => 0,
        1..=127 => (1 << w) - 1,
        _ => u128::MAX,
    }
}

/// How an instruction uses slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    Read,
    Write,
}

impl Op {
    /// Calls `visit` with (first slot, number of slots, use) for every operand.
    /// Headers, messages and hashes are not followed.
    pub fn operands(&self, visit: &mut dyn FnMut(Slot, u16, Use)) {
        use Use::{Read, Write};
        match *self {
            Op::Mov { d, a }
            | Op::MovReturn { d, a }
            | Op::Cut { d, a, .. }
            | Op::Not { d, a, .. }
            | Op::Sext { d, a, .. } => {
                visit(a, 1, Read);
                visit(d, 1, Write);
            }
            Op::Add { d, a, b, .. }
            | Op::Sub { d, a, b, .. }
            | Op::Mul { d, a, b, .. }
            | Op::And { d, a, b, .. }
            | Op::Or { d, a, b, .. }
            | Op::Xor { d, a, b, .. }
            | Op::Shl { d, a, b, .. }
            | Op::Shr { d, a, b, .. }
            | Op::Sar { d, a, b, .. }
            | Op::Div { d, a, b, .. }
            | Op::Rem { d, a, b, .. }
            | Op::Compare { d, a, b, .. }
            | Op::CompareVar { d, a, b }
            | Op::Random {
                d, low: a, high: b, ..
            }
            | Op::Hash {
                d,
                base: a,
                size: b,
                ..
            } => {
                visit(a, 1, Read);
                visit(b, 1, Read);
                visit(d, 1, Write);
            }
            Op::Select { d, c, a, b } => {
                visit(c, 1, Read);
                visit(a, 1, Read);
                visit(b, 1, Read);
                visit(d, 1, Write);
            }
            Op::MovW { d, a }
            | Op::CutW { d, a, .. }
            | Op::NotW { d, a }
            | Op::SaturateW { d, a, .. } => {
                visit(a, 2, Read);
                visit(d, 2, Write);
            }
            Op::SextW { d, a, from } => {
                visit(a, if from > 64 { 2 } else { 1 }, Read);
                visit(d, 2, Write);
            }
            Op::AluW { d, a, b, alu } => {
                let shift = matches!(alu, Alu::Shl | Alu::Shr | Alu::Sar);
                visit(a, 2, Read);
                visit(b, if shift { 1 } else { 2 }, Read);
                visit(d, 2, Write);
            }
            Op::CompareW { d, a, b, .. } => {
                visit(a, 2, Read);
                visit(b, 2, Read);
                visit(d, 1, Write);
            }
            Op::Copy { d, a, n } => {
                visit(a, n, Read);
                visit(d, n, Write);
            }
            Op::MarkToDrop { spec, group } => {
                visit(spec, 1, Write);
                visit(group, 1, Write);
            }
            Op::JumpIf { a, .. }
            | Op::JumpIfNot { a, .. }
            | Op::Assert { a, .. }
            | Op::Advance { a }
            | Op::Fail { a } => visit(a, 1, Read),
            Op::JumpEq { a, b, .. }
            | Op::JumpNe { a, b, .. }
            | Op::JumpLt { a, b, .. }
            | Op::JumpLe { a, b, .. } => {
                visit(a, 1, Read);
                visit(b, 1, Read);
            }
            Op::JumpInSet { words, key, .. } => visit(key, u16::from(words), Read),
            Op::RegisterRead { d, index, .. } => {
                visit(index, 1, Read);
                visit(d, 1, Write);
            }
            Op::RegisterReadW { d, index, w, .. } => {
                visit(index, 1, Read);
                visit(d, if w > 64 { 2 } else { 1 }, Write);
            }
            Op::RegisterWrite { a, index, .. } => {
                visit(index, 1, Read);
                visit(a, 1, Read);
            }
            Op::RegisterWriteW { a, index, .. } => {
                visit(index, 1, Read);
                visit(a, 2, Read);
            }
            Op::Mov2 { d, a, e, b } | Op::Mov2Return { d, a, e, b } => {
                visit(a, 1, Read);
                visit(d, 1, Write);
                visit(b, 1, Read);
                visit(e, 1, Write);
            }
            Op::RegisterRead2 { d, e, index, .. } => {
                visit(index, 1, Read);
                visit(d, 1, Write);
                visit(e, 1, Write);
            }
            Op::RegisterWrite2 { a, b, index, .. } => {
                visit(index, 1, Read);
                visit(a, 1, Read);
                visit(b, 1, Read);
            }
            Op::Count { index, .. } => visit(index, 1, Read),
            Op::ExecuteMeter { d, index, .. } => {
                visit(index, 1, Read);
                visit(d, 1, Write);
            }
            Op::ExtractVar { bits, .. } => visit(bits, 1, Read),
            Op::LoadElement {
                words,
                d,
                index,
                base,
                stride,
                size,
            } => {
                visit(index, 1, Read);
                visit(base, span(words, stride, size), Read);
                visit(d, u16::from(words), Write);
            }
            Op::StoreElement {
                words,
                a,
                index,
                base,
                stride,
                size,
            } => {
                visit(index, 1, Read);
                visit(a, u16::from(words), Read);
                visit(base, span(words, stride, size), Write);
            }
            // Like Extract, these do not tell which fields they write.
            Op::ExtractNext { next, .. } => {
                visit(next, 1, Read);
                visit(next, 1, Write);
            }
            Op::ExtractNextVar { next, bits, .. } => {
                visit(next, 1, Read);
                visit(bits, 1, Read);
                visit(next, 1, Write);
            }
            Op::Push { next, slots, .. } | Op::Pop { next, slots, .. } => {
                visit(next, slots, Read);
                visit(next, slots, Write);
            }
            Op::Lookahead { d, .. } => visit(d, 1, Write),
            Op::LookaheadW { d, width, .. } => visit(d, width.div_ceil(64), Write),
            // What a wide expression or a calculation reads is kept anyway.
            Op::Wide { words, d, .. } => visit(d, u16::from(words), Write),
            Op::Checksum { d, .. } => visit(d, 1, Write),
            Op::Jump { .. }
            | Op::Apply { .. }
            | Op::ApplyWith { .. }
            | Op::Mark { .. }
            | Op::Return
            | Op::End
            | Op::AddHeader { .. }
            | Op::RemoveHeader { .. }
            | Op::Log { .. }
            | Op::Extract { .. }
            | Op::Tick => {}
        }
    }

    /// Replaces the slots that are read as single words.
    pub fn map_reads(&mut self, map: &mut dyn FnMut(Slot) -> Slot) {
        match self {
            Op::Mov { a, .. }
            | Op::Cut { a, .. }
            | Op::Not { a, .. }
            | Op::Sext { a, .. }
            | Op::JumpIf { a, .. }
            | Op::JumpIfNot { a, .. }
            | Op::Assert { a, .. }
            | Op::Advance { a }
            | Op::Fail { a } => *a = map(*a),
            Op::Add { a, b, .. }
            | Op::Sub { a, b, .. }
            | Op::Mul { a, b, .. }
            | Op::And { a, b, .. }
            | Op::Or { a, b, .. }
            | Op::Xor { a, b, .. }
            | Op::Shl { a, b, .. }
            | Op::Shr { a, b, .. }
            | Op::Sar { a, b, .. }
            | Op::Div { a, b, .. }
            | Op::Rem { a, b, .. }
            | Op::Compare { a, b, .. }
            | Op::CompareVar { a, b, .. }
            | Op::Random {
                low: a, high: b, ..
            }
            | Op::Hash {
                base: a, size: b, ..
            }
            | Op::RegisterWrite { a, index: b, .. }
            | Op::JumpEq { a, b, .. }
            | Op::JumpNe { a, b, .. }
            | Op::JumpLt { a, b, .. }
            | Op::JumpLe { a, b, .. } => {
                *a = map(*a);
                *b = map(*b);
            }
            Op::Select { c, a, b, .. } => {
                *c = map(*c);
                *a = map(*a);
                *b = map(*b);
            }
            Op::RegisterRead { index, .. }
            | Op::RegisterReadW { index, .. }
            | Op::RegisterWriteW { index, .. }
            | Op::LoadElement { index, .. }
            | Op::StoreElement { index, .. }
            | Op::ExecuteMeter { index, .. }
            | Op::Count { index, .. } => *index = map(*index),
            Op::ExtractVar { bits, .. } | Op::ExtractNextVar { bits, .. } => *bits = map(*bits),
            Op::AluW {
                b,
                alu: Alu::Shl | Alu::Shr | Alu::Sar,
                ..
            } => *b = map(*b),
            _ => {}
        }
    }

    /// Whether the instruction does nothing but write its result, always.
    pub fn only_computes(&self) -> bool {
        matches!(
            self,
            Op::Mov { .. }
                | Op::Cut { .. }
                | Op::Add { .. }
                | Op::Sub { .. }
                | Op::Mul { .. }
                | Op::And { .. }
                | Op::Or { .. }
                | Op::Xor { .. }
                | Op::Not { .. }
                | Op::Shl { .. }
                | Op::Shr { .. }
                | Op::Sar { .. }
                | Op::Div { .. }
                | Op::Rem { .. }
                | Op::Sext { .. }
                | Op::Compare { .. }
                | Op::Select { .. }
                | Op::MovW { .. }
                | Op::CutW { .. }
                | Op::AluW { .. }
                | Op::NotW { .. }
                | Op::SextW { .. }
                | Op::CompareW { .. }
                | Op::SaturateW { .. }
                | Op::Copy { .. }
                | Op::MarkToDrop { .. }
                | Op::LoadElement { .. }
        )
    }

    /// Where the instruction may jump to.
    pub fn target(&self) -> Option<Pc> {
        let mut op = *self;
        op.target_mut().copied()
    }

    /// The same, to be changed.
    pub fn target_mut(&mut self) -> Option<&mut Pc> {
        match self {
            Op::Jump { to }
            | Op::JumpIf { to, .. }
            | Op::JumpIfNot { to, .. }
            | Op::JumpEq { to, .. }
            | Op::JumpNe { to, .. }
            | Op::JumpLt { to, .. }
            | Op::JumpLe { to, .. }
            | Op::JumpInSet { to, .. } => Some(to),
            _ => None,
        }
    }

    /// Whether control never goes on to the next instruction.
    pub fn leaves(&self) -> bool {
        matches!(
            self,
            Op::Jump { .. }
                | Op::Return
                | Op::MovReturn { .. }
                | Op::Mov2Return { .. }
                | Op::End
                | Op::Fail { .. }
        )
    }

    /// The jump that is made when this one is not.
    pub fn turned_round(&self, to: Pc) -> Option<Op> {
        Some(match *self {
            Op::JumpIf { a, .. } => Op::JumpIfNot { a, to },
            Op::JumpIfNot { a, .. } => Op::JumpIf { a, to },
            Op::JumpEq { a, b, .. } => Op::JumpNe { a, b, to },
            Op::JumpNe { a, b, .. } => Op::JumpEq { a, b, to },
            Op::JumpLt { a, b, .. } => Op::JumpLe { a: b, b: a, to },
            Op::JumpLe { a, b, .. } => Op::JumpLt { a: b, b: a, to },
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Op;

    #[test]
    fn instructions_are_small() {
        // Five to a cache line; the speed of the machine depends on it.
        assert!(size_of::<Op>() <= 12);
    }
}
