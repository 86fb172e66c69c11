// SPDX-License-Identifier: Apache-2.0
//! Runs instructions for a packet.

use crate::bits;
use crate::calculation::Source;
use crate::code::{Code, HeaderCode};
use crate::op::{Alu, Cmp, Op, Pc, Slot, mask, mask_wide};
use crate::packet::Packet;
use crate::program::Program;
use crate::schema::MeterUnit;
use crate::stack_ops::next_header;
use crate::state::State;
use crate::table::{Frame, lookup_with};
use crate::trace::Tracer;
use crate::wire::extract;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// At the end, or at `exit`.
    Done,
    /// An assertion failed; the packet must be dropped.
    Failed,
}

/// Visits of parser states that a packet may cause where states can repeat.
const MOST_VISITS: u32 = 4096;

/// The slots that a packet runs in, read and written without checks.
///
/// Sound because every operand of every instruction was compared with the
/// number of slots when the program was loaded (`lower::verify`), and
/// [`Slots::new`] compares the vector with that number.
struct Slots<'p>(&'p mut [u64]);

impl<'p> Slots<'p> {
    fn new(code: &Code, phv: &'p mut [u64]) -> Self {
        assert_eq!(
            phv.len(),
            code.template.len(),
            "the slots are of another program"
        );
        Slots(phv)
    }

    #[inline(always)]
    fn get(&self, slot: Slot) -> u64 {
        debug_assert!(usize::from(slot) < self.0.len());
        // SAFETY: see the type.
        unsafe { *self.0.get_unchecked(usize::from(slot)) }
    }

    #[inline(always)]
    fn set(&mut self, slot: Slot, value: u64) {
        debug_assert!(usize::from(slot) < self.0.len());
        // SAFETY: see the type.
        unsafe { *self.0.get_unchecked_mut(usize::from(slot)) = value }
    }
}

fn pair(phv: &[u64], slot: Slot) -> u128 {
    let at = usize::from(slot);
    u128::from(phv[at]) | u128::from(phv[at + 1]) << 64
}

fn set_pair(phv: &mut [u64], slot: Slot, value: u128) {
    let at = usize::from(slot);
    phv[at] = value as u64;
    phv[at + 1] = (value >> 64) as u64;
}

/// Runs from `start` until the parser or pipeline ends, for a packet in `phv`. `bytes`: the frame's
/// length as received, which counters add. `start` is in [`Program::code_for`]
/// the tracer.
pub(crate) fn run<T: Tracer>(
    program: &Program,
    state: &mut State,
    start: Pc,
    phv: &mut [u64],
    packet: &mut Packet,
    bytes: u64,
    tracer: &mut T,
) -> Outcome {
    let code: &Code = program.code_for::<T>();
    let ops = code.ops.as_slice();
    let mut slots = Slots::new(code, phv);
    assert!((start as usize) < ops.len());
    let first: *const Op = ops.as_ptr();
    // SAFETY: `start` is within the code.
    let mut next = unsafe { first.add(start as usize) };
    let mut return_to = 0usize;
    let mut visits = 0;
    macro_rules! at {
        ($slot:expr) => {
            slots.get($slot)
        };
    }
    macro_rules! jump {
        ($to:expr) => {{
            let to = $to as usize;
            debug_assert!(to < ops.len());
            // SAFETY: all targets are within the code (`lower::verify`).
            next = unsafe { first.add(to) };
            continue;
        }};
    }
    // Goes on with the action that a table's lookup found.
    macro_rules! run_action {
        ($table:expr, $found:expr, $entry:expr) => {{
            let (table, found) = ($table, $found);
            if T::ENABLED {
                tracer.applied(table, $entry.as_ref(), found.action, found.args, slots.0);
            }
            let action = usize::from(found.action);
            let lowered = &code.tables[table];
            let (hit, miss) = lowered.next[action];
            return_to = if found.hit { hit } else { miss } as usize;
            let params = &mut slots.0[code.params..][..found.args.len()];
            // Few words: a loop beats a call of memcpy.
            for (param, arg) in params.iter_mut().zip(found.args) {
                *param = *arg;
            }
            jump!(lowered.actions[action]);
        }};
    }
    // Stops the parser with an error of core.p4 or of the program.
    macro_rules! fail {
        ($error:expr) => {{
            let error = $error;
            if T::ENABLED {
                tracer.parser_error(error);
            }
            slots.set(code.standard.parser_error, error);
            jump!(code.parser_end);
        }};
    }
    macro_rules! calculate {
        ($calculation:expr) => {{
            let source = Source {
                phv: &*slots.0,
                frame: &packet.frame,
                payload: packet.payload..packet.len,
            };
            code.calculations[usize::from($calculation)].compute(&source, &mut state.hash_input)
        }};
    }
    macro_rules! extract_fixed {
        ($header:expr) => {{
            let header: &HeaderCode = $header;
            let at = packet.payload;
            if packet.len - at < header.bytes as usize {
                fail!(code.errors.packet_too_short);
            }
            extract(header, packet, 0, slots.0);
        }};
    }
    macro_rules! extract_var {
        ($header:expr, $bits:expr) => {{
            let header: &HeaderCode = $header;
            let (at, bits) = (packet.payload, at!($bits));
            if bits % 8 != 0 {
                fail!(code.errors.parser_invalid_argument);
            }
            let total = u64::from(header.bytes).saturating_add(bits / 8);
            if ((packet.len - at) as u64) < total {
                fail!(code.errors.packet_too_short);
            }
            if header.max_bytes != 0 && total > u64::from(header.max_bytes) {
                fail!(code.errors.header_too_short);
            }
            extract(header, packet, bits as usize, slots.0);
        }};
    }
    loop {
        // SAFETY: `lower::verify` made sure that jumps stay within the
        // code and that it does not end with an instruction that goes on.
        let op: &Op = unsafe { &*next };
        next = unsafe { next.add(1) };
        match *op {
            Op::Mov { d, a } => slots.set(d, at!(a)),
            Op::Mov2 { d, a, e, b } => {
                slots.set(d, at!(a));
                slots.set(e, at!(b));
            }
            Op::MovReturn { d, a } => {
                slots.set(d, at!(a));
                jump!(return_to);
            }
            Op::Mov2Return { d, a, e, b } => {
                slots.set(d, at!(a));
                slots.set(e, at!(b));
                jump!(return_to);
            }
            Op::Cut { d, a, w } => slots.set(d, at!(a) & mask(w)),
            Op::Add { d, a, b, w } => slots.set(d, at!(a).wrapping_add(at!(b)) & mask(w)),
            Op::Sub { d, a, b, w } => slots.set(d, at!(a).wrapping_sub(at!(b)) & mask(w)),
            Op::Mul { d, a, b, w } => slots.set(d, at!(a).wrapping_mul(at!(b)) & mask(w)),
            Op::And { d, a, b, w } => slots.set(d, at!(a) & at!(b) & mask(w)),
            Op::Or { d, a, b, w } => slots.set(d, (at!(a) | at!(b)) & mask(w)),
            Op::Xor { d, a, b, w } => slots.set(d, (at!(a) ^ at!(b)) & mask(w)),
            Op::Not { d, a, w } => slots.set(d, !at!(a) & mask(w)),
            Op::Shl { d, a, b, w } => {
                let by = at!(b);
                slots.set(d, if by < 64 { at!(a) << by & mask(w) } else { 0 });
            }
            Op::Shr { d, a, b, w } => {
                let by = at!(b);
                slots.set(d, if by < 64 { at!(a) >> by & mask(w) } else { 0 });
            }
            Op::Sar { d, a, b, w } => {
                let by = at!(b).min(63);
                slots.set(d, ((at!(a) as i64 >> by) as u64) & mask(w));
            }
            Op::Div { d, a, b, w } => {
                slots.set(d, at!(a).checked_div(at!(b)).unwrap_or(0) & mask(w))
            }
            Op::Rem { d, a, b, w } => {
                slots.set(d, at!(a).checked_rem(at!(b)).unwrap_or(0) & mask(w))
            }
            Op::Sext { d, a, from } => {
                let shift = 64 - u32::from(from);
                slots.set(d, ((at!(a) << shift) as i64 >> shift) as u64);
            }
            Op::Compare { d, a, b, cmp } => {
                let (x, y) = (at!(a), at!(b));
                slots.set(
                    d,
                    u64::from(match cmp {
                        Cmp::Eq => x == y,
                        Cmp::Ne => x != y,
                        Cmp::Lt => x < y,
                        Cmp::Le => x <= y,
                        Cmp::LtS => (x as i64) < y as i64,
                        Cmp::LeS => x as i64 <= y as i64,
                    }),
                );
            }
            Op::CompareVar { d, a, b } => {
                let same = bits::same_var(&packet.frame, at!(a), at!(b));
                slots.set(d, u64::from(same));
            }
            Op::Select { d, c, a, b } => slots.set(d, if at!(c) != 0 { at!(a) } else { at!(b) }),

            Op::MovW { d, a } => {
                let value = pair(slots.0, a);
                set_pair(slots.0, d, value);
            }
            Op::CutW { d, a, w } => {
                let value = pair(slots.0, a) & mask_wide(u16::from(w));
                set_pair(slots.0, d, value);
            }
            Op::AluW { d, a, b, alu } => {
                let value = alu_wide(slots.0, a, b, alu);
                set_pair(slots.0, d, value);
            }
            Op::NotW { d, a } => {
                let value = !pair(slots.0, a);
                set_pair(slots.0, d, value);
            }
            Op::SextW { d, a, from } => {
                let value = if from > 64 {
                    pair(slots.0, a)
                } else {
                    u128::from(at!(a))
                };
                let shift = 128 - u32::from(from);
                set_pair(slots.0, d, ((value << shift) as i128 >> shift) as u128);
            }
            Op::CompareW { d, a, b, cmp } => {
                let (x, y) = (pair(slots.0, a), pair(slots.0, b));
                slots.set(
                    d,
                    u64::from(match cmp {
                        Cmp::Eq => x == y,
                        Cmp::Ne => x != y,
                        Cmp::Lt => x < y,
                        Cmp::Le => x <= y,
                        Cmp::LtS => (x as i128) < y as i128,
                        Cmp::LeS => x as i128 <= y as i128,
                    }),
                );
            }
            Op::SaturateW { d, a, w, signed } => {
                let value = pair(slots.0, a) as i128;
                let bits = u16::from(w);
                // A source of at most 127 bits is below any wider bound.
                let most = |bits: u16| mask_wide(bits.min(127)) as i128;
                let value = if signed {
                    let high = most(bits - 1);
                    value.clamp(-high - 1, high)
                } else {
                    value.clamp(0, most(bits))
                };
                set_pair(slots.0, d, value as u128);
            }
            Op::Copy { d, a, n } => {
                let from = usize::from(a);
                slots
                    .0
                    .copy_within(from..from + usize::from(n), usize::from(d));
            }

            Op::Jump { to } => jump!(to),
            Op::JumpIf { a, to } => {
                if at!(a) != 0 {
                    jump!(to);
                }
            }
            Op::JumpIfNot { a, to } => {
                if at!(a) == 0 {
                    jump!(to);
                }
            }
            Op::JumpEq { a, b, to } => {
                if at!(a) == at!(b) {
                    jump!(to);
                }
            }
            Op::JumpNe { a, b, to } => {
                if at!(a) != at!(b) {
                    jump!(to);
                }
            }
            Op::JumpLt { a, b, to } => {
                if at!(a) < at!(b) {
                    jump!(to);
                }
            }
            Op::JumpLe { a, b, to } => {
                if at!(a) <= at!(b) {
                    jump!(to);
                }
            }
            Op::JumpInSet { set, key, to, .. } => {
                let key = usize::from(key);
                if state.value_sets[usize::from(set)].contains(|word| slots.0[key + word]) {
                    jump!(to);
                }
            }
            Op::Apply { table } => {
                let table = usize::from(table);
                let entry = if T::ENABLED {
                    state.tables[table].matched(slots.0)
                } else {
                    None
                };
                let found = state.tables[table].lookup(slots.0, bytes);
                run_action!(table, found, entry);
            }
            Op::ApplyWith { table } => {
                let table = usize::from(table);
                let entry = if T::ENABLED {
                    state.tables[table].matched(slots.0)
                } else {
                    None
                };
                let frame = Frame {
                    bytes: &packet.frame,
                    payload: packet.payload..packet.len,
                };
                let found = lookup_with(code, state, slots.0, frame, table, bytes);
                run_action!(table, found, entry);
            }
            Op::Mark { place } => {
                if T::ENABLED {
                    tracer.mark(place, slots.0);
                }
            }
            Op::Return => {
                if T::ENABLED {
                    tracer.returned();
                }
                jump!(return_to);
            }
            Op::End => return Outcome::Done,

            Op::RegisterRead {
                d,
                index,
                register,
                w,
            } => {
                let (at, register) = (at!(index), usize::from(register));
                match state.registers[register].narrow.get(at as usize) {
                    Some(cell) => slots.set(d, *cell & mask(w)),
                    None => state.past_the_end(&program.registers[register].name, at),
                }
            }
            Op::RegisterWrite { a, index, register } => {
                let (at, register) = (at!(index), usize::from(register));
                let cells = &mut state.registers[register];
                match cells.narrow.get_mut(at as usize) {
                    Some(cell) => *cell = at!(a) & cells.mask,
                    None => state.past_the_end(&program.registers[register].name, at),
                }
            }
            Op::RegisterRead2 {
                d,
                e,
                index,
                register,
                other,
            } => {
                let at = at!(index);
                for (d, register) in [(d, register), (e, other)] {
                    let register = usize::from(register);
                    match state.registers[register].narrow.get(at as usize) {
                        Some(cell) => slots.set(d, *cell),
                        None => state.past_the_end(&program.registers[register].name, at),
                    }
                }
            }
            Op::RegisterWrite2 {
                a,
                b,
                index,
                register,
                other,
            } => {
                let at = at!(index);
                for (a, register) in [(a, register), (b, other)] {
                    let register = usize::from(register);
                    let cells = &mut state.registers[register];
                    match cells.narrow.get_mut(at as usize) {
                        Some(cell) => *cell = at!(a) & cells.mask,
                        None => state.past_the_end(&program.registers[register].name, at),
                    }
                }
            }
            Op::RegisterReadW {
                d,
                index,
                register,
                w,
            } => {
                let (at, register) = (at!(index), usize::from(register));
                let cells = &state.registers[register];
                let wide = cells.wide.get(at as usize).copied();
                match wide.or_else(|| cells.narrow.get(at as usize).map(|c| u128::from(*c))) {
                    Some(cell) => set_pair(slots.0, d, cell & mask_wide(u16::from(w))),
                    None => state.past_the_end(&program.registers[register].name, at),
                }
            }
            Op::RegisterWriteW { a, index, register } => {
                let (at, register) = (at!(index), usize::from(register));
                let value = pair(slots.0, a);
                let cells = &mut state.registers[register];
                match cells.wide.get_mut(at as usize) {
                    Some(cell) => *cell = value & mask_wide(cells.width),
                    None => state.past_the_end(&program.registers[register].name, at),
                }
            }
            Op::Count { counter, index } => {
                let (at, counter) = (at!(index), usize::from(counter));
                match state.counters[counter].get_mut(at as usize) {
                    Some(cell) => {
                        cell.packets += 1;
                        cell.bytes += bytes;
                    }
                    None => state.past_the_end(&program.counters[counter].name, at),
                }
            }
            Op::ExecuteMeter { d, index, meter, w } => {
                let (at, meter) = (at!(index), usize::from(meter));
                let units = match program.meters[meter].unit {
                    MeterUnit::Packets => 1,
                    MeterUnit::Bytes => bytes,
                };
                match state.meters[meter].get_mut(at as usize) {
                    Some(cell) => {
                        let color = cell.mark(state.now_ns, units) as u64;
                        slots.set(d, color & mask(w));
                    }
                    None => state.past_the_end(&program.meters[meter].name, at),
                }
            }
            Op::Random { d, low, high, w } => {
                if let Some(value) = state.random.uniform(at!(low), at!(high)) {
                    slots.set(d, value & mask(w));
                }
            }
            Op::Hash {
                d,
                calculation,
                base,
                size,
            } => {
                let hash = calculate!(calculation);
                slots.set(d, at!(base).wrapping_add(hash % at!(size).max(1)));
            }
            Op::Checksum { d, calculation } => {
                let value = calculate!(calculation);
                slots.set(d, value);
            }
            Op::Wide { d, expr, .. } => {
                code.wides[usize::from(expr)].run(slots.0, &packet.frame, d);
            }
            Op::MarkToDrop { spec, group } => {
                if T::ENABLED {
                    tracer.marked_to_drop(spec);
                }
                slots.set(spec, u64::from(state.drop_port));
                slots.set(group, 0);
            }
            Op::AddHeader { header } => {
                let header = &code.headers[usize::from(header)];
                packet.reshaped = true;
                if at!(header.valid) == 0 {
                    let first = usize::from(header.first);
                    slots.0[first..first + usize::from(header.field_slots)].fill(0);
                    slots.set(header.raw, 0);
                    slots.set(header.valid, 1);
                }
            }
            Op::RemoveHeader { header } => {
                packet.reshaped = true;
                slots.set(code.headers[usize::from(header)].valid, 0);
            }
            Op::Log { message } => log(code, state, slots.0, &packet.frame, message),
            Op::Assert { a, message } => {
                if at!(a) == 0 {
                    if T::ENABLED {
                        tracer.assertion_failed();
                    }
                    state.assertions += 1;
                    log(code, state, slots.0, &packet.frame, message);
                    return Outcome::Failed;
                }
            }

            Op::Extract { header } => {
                let header = &code.headers[usize::from(header)];
                extract_fixed!(header);
            }
            Op::ExtractVar { header, bits } => {
                let header = &code.headers[usize::from(header)];
                extract_var!(header, bits);
            }
            Op::ExtractNext {
                member,
                stack,
                next,
            } => {
                let element = at!(next);
                let Some(header) = next_header(code, stack, element, member) else {
                    fail!(code.errors.stack_out_of_bounds);
                };
                extract_fixed!(header);
                for rival in &header.rivals {
                    slots.set(*rival, 0);
                }
                slots.set(next, element + 1);
            }
            Op::ExtractNextVar {
                member,
                stack,
                next,
                bits,
            } => {
                let element = at!(next);
                let Some(header) = next_header(code, stack, element, member) else {
                    fail!(code.errors.stack_out_of_bounds);
                };
                extract_var!(header, bits);
                for rival in &header.rivals {
                    slots.set(*rival, 0);
                }
                slots.set(next, element + 1);
            }
            Op::LoadElement {
                words,
                d,
                index,
                base,
                stride,
                size,
            } => {
                let element = at!(index);
                let (d, words) = (usize::from(d), usize::from(words));
                if element < u64::from(size) {
                    let from = usize::from(base) + element as usize * usize::from(stride);
                    slots.0.copy_within(from..from + words, d);
                } else {
                    slots.0[d..d + words].fill(0);
                }
            }
            Op::StoreElement {
                words,
                a,
                index,
                base,
                stride,
                size,
            } => {
                let element = at!(index);
                if element < u64::from(size) {
                    let to = usize::from(base) + element as usize * usize::from(stride);
                    let from = usize::from(a);
                    slots.0.copy_within(from..from + usize::from(words), to);
                }
            }
            Op::Push { stack, by, .. } => code.stacks[usize::from(stack)].push(by, code, slots.0),
            Op::Pop { stack, by, .. } => code.stacks[usize::from(stack)].pop(by, code, slots.0),
            Op::Lookahead { d, offset, width } => {
                let first = 8 * packet.payload + usize::from(offset);
                if 8 * packet.len < first + usize::from(width) {
                    fail!(code.errors.packet_too_short);
                }
                slots.set(d, bits::load(&packet.frame, first, u16::from(width)));
            }
            Op::LookaheadW { d, offset, width } => {
                let first = 8 * packet.payload + usize::from(offset);
                if 8 * packet.len < first + usize::from(width) {
                    fail!(code.errors.packet_too_short);
                }
                let to = usize::from(d)..usize::from(d) + usize::from(width.div_ceil(64));
                bits::load_slots(&packet.frame, first, width, &mut slots.0[to]);
            }
            Op::Advance { a } => {
                let bits = at!(a);
                if bits % 8 != 0 {
                    fail!(code.errors.parser_invalid_argument);
                }
                if ((packet.len - packet.payload) as u64) < bits / 8 {
                    fail!(code.errors.packet_too_short);
                }
                packet.payload += (bits / 8) as usize;
                packet.reshaped = true;
            }
            Op::Fail { a } => fail!(at!(a)),
            Op::Tick => {
                visits += 1;
                if visits > MOST_VISITS {
                    fail!(code.errors.parser_timeout);
                }
            }
        }
    }
}

#[inline(never)]
fn alu_wide(phv: &[u64], a: Slot, b: Slot, alu: Alu) -> u128 {
    let x = pair(phv, a);
    let by = || u32::try_from(phv[usize::from(b)]).unwrap_or(u32::MAX);
    let y = || pair(phv, b);
    match alu {
        Alu::Add => x.wrapping_add(y()),
        Alu::Sub => x.wrapping_sub(y()),
        Alu::Mul => x.wrapping_mul(y()),
        Alu::And => x & y(),
        Alu::Or => x | y(),
        Alu::Xor => x ^ y(),
        Alu::Shl => x.checked_shl(by()).unwrap_or(0),
        Alu::Shr => x.checked_shr(by()).unwrap_or(0),
        Alu::Sar => (x as i128 >> by().min(127)) as u128,
    }
}

#[cold]
fn log(code: &Code, state: &mut State, phv: &[u64], frame: &[u8], message: u16) {
    let Some(log) = &mut state.log.0 else { return };
    let message = &code.messages[usize::from(message)];
    let mut text = String::new();
    for (index, piece) in message.pieces.iter().enumerate() {
        text.push_str(piece);
        if let Some(value) = message.values.get(index) {
            let value = crate::wide::Source { phv, frame }.number(value);
            text.push_str(&value.to_string());
        }
    }
    log(&text);
}
