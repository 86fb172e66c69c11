// SPDX-License-Identifier: Apache-2.0
//! Instructions under construction: labels, constants and temporaries.

use super::size::Size;
use crate::error::LoadError;
use crate::expr::Expr;
use crate::layout::{Layout, TEMPORARIES};
use crate::op::{Op, Pc, Slot, words};
use crate::trace::Place;
use crate::wide::{Form, Wide, Work};
use std::collections::HashMap;

/// A place in the code that may not be known yet; jumps carry it until
/// [`Emitter::finish`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Label(pub Pc);

/// Collects instructions.
pub(crate) struct Emitter {
    pub code: Vec<Op>,
    labels: Vec<Option<Pc>>,
    constants: Vec<u64>,
    narrow: HashMap<u64, Slot>,
    wide: HashMap<u128, Slot>,
    first_constant: usize,
    first_temporary: usize,
    next_temporary: usize,
    /// No instruction before this one may be changed: something jumps past it.
    barrier: usize,
    /// What the marks stand for; `None` where there are no marks.
    places: Option<Vec<Place>>,
    /// Expressions without instructions of their own.
    pub wides: Vec<Wide>,
    /// What they take.
    wide_work: Work,
    /// In a parser, the error of reading the last element of an empty stack.
    pub stack_out_of_bounds: Option<u64>,
    size: Size,
}

impl Emitter {
    /// `marks`: whether [`Emitter::mark`] does anything.
    pub fn new(layout: &Layout, marks: bool) -> Self {
        Emitter {
            code: Vec::new(),
            labels: Vec::new(),
            constants: Vec::new(),
            narrow: HashMap::new(),
            wide: HashMap::new(),
            first_constant: layout.constants,
            first_temporary: layout.temporaries,
            next_temporary: 0,
            barrier: 0,
            places: marks.then(Vec::new),
            wides: Vec::new(),
            wide_work: Work::default(),
            stack_out_of_bounds: None,
            size: Size::default(),
        }
    }

    /// Whether the code is for a tracer.
    pub fn marks(&self) -> bool {
        self.places.is_some()
    }

    /// In code for a tracer, tells it that control is here.
    pub fn mark(&mut self, place: impl FnOnce() -> Place) {
        let Some(places) = &mut self.places else {
            return;
        };
        if !self.size.has_room(self.code.len()) {
            return;
        }
        let place = place();
        self.size.keep(place.bytes());
        places.push(place);
        let place = places.len() as u32 - 1;
        self.code.push(Op::Mark { place });
    }

    /// In a program that is too large nothing more is put down: see [`Emitter::check_size`].
    pub fn push(&mut self, op: Op) {
        if self.size.has_room(self.code.len()) {
            self.code.push(op);
        }
    }

    /// A statement begins.
    ///
    /// # Errors
    /// The program is too large.
    pub fn statement(&mut self) -> Result<(), LoadError> {
        self.size.statement();
        self.check_size()
    }

    /// So many bytes are kept besides the instructions.
    ///
    /// # Errors
    /// The program is too large.
    pub fn keep(&mut self, bytes: usize) -> Result<(), LoadError> {
        self.size.keep(bytes);
        self.check_size()
    }

    /// Whatever puts down many instructions asks now and then, and at the end all are there.
    ///
    /// # Errors
    /// The program is too large, and its code is not whole.
    pub fn check_size(&self) -> Result<(), LoadError> {
        self.size.check()
    }

    pub fn label(&mut self) -> Label {
        // The last one stands in for more than there may be.
        if self.labels.is_empty() || self.size.has_room(self.labels.len()) {
            self.labels.push(None);
        }
        Label(self.labels.len() as Pc - 1)
    }

    /// The label stands for the next instruction.
    pub fn bind(&mut self, label: Label) {
        self.labels[label.0 as usize] = Some(self.code.len() as Pc);
        self.barrier = self.code.len();
    }

    pub fn bound(&self, label: Label) -> bool {
        self.labels[label.0 as usize].is_some()
    }

    /// The last instruction, if it can still be changed.
    pub fn last_mut(&mut self) -> Option<&mut Op> {
        if self.code.len() > self.barrier {
            self.code.last_mut()
        } else {
            None
        }
    }

    /// The slot of a 64-bit constant.
    pub fn constant(&mut self, value: u64) -> Result<Slot, LoadError> {
        if let Some(slot) = self.narrow.get(&value) {
            return Ok(*slot);
        }
        let slot = self.new_constants(&[value])?;
        self.narrow.insert(value, slot);
        Ok(slot)
    }

    /// The first of the two slots of a 128-bit constant.
    pub fn constant_wide(&mut self, value: u128) -> Result<Slot, LoadError> {
        if let Some(slot) = self.wide.get(&value) {
            return Ok(*slot);
        }
        let slot = self.new_constants(&[value as u64, (value >> 64) as u64])?;
        self.wide.insert(value, slot);
        Ok(slot)
    }

    fn new_constants(&mut self, values: &[u64]) -> Result<Slot, LoadError> {
        let slot = self.first_constant + self.constants.len();
        self.constants.extend_from_slice(values);
        Slot::try_from(slot + values.len())
            .map(|_| slot as Slot)
            .map_err(|_| LoadError::new("the program has more constants than are supported"))
    }

    /// `words` consecutive temporaries, free again after
    /// [`Emitter::release_temporaries`].
    pub fn temporary(&mut self, words: usize) -> Result<Slot, LoadError> {
        let at = self.next_temporary;
        if at + words > TEMPORARIES {
            return Err(LoadError::new(format!(
                "an expression needs more than {TEMPORARIES} intermediate values; \
                 split it into several statements"
            )));
        }
        self.next_temporary += words;
        Ok((self.first_temporary + at) as Slot)
    }

    /// Emits what `fast` does, or, when that fails, nothing but an evaluation
    /// of the expression by big integers.
    pub fn or_wide(
        &mut self,
        expr: &Expr,
        form: Form,
        fast: impl FnOnce(&mut Self) -> Result<Slot, LoadError>,
    ) -> Result<Slot, LoadError> {
        let (code, temporary, barrier) = (self.code.len(), self.next_temporary, self.barrier);
        let (wides, labels, kept) = (self.wides.len(), self.labels.len(), self.size.kept());
        let work = self.wide_work;
        if let Ok(slot) = fast(self) {
            return Ok(slot);
        }
        self.code.truncate(code);
        self.wides.truncate(wides);
        self.labels.truncate(labels);
        self.size.keep_only(kept);
        self.wide_work = work;
        self.next_temporary = temporary;
        self.barrier = barrier;
        let words = match form {
            Form::Cut(width) => words(width),
            Form::Clamp | Form::Bool => 1,
        };
        let d = self.temporary(usize::from(words))?;
        self.wide(expr, form, d, words)?;
        Ok(d)
    }

    /// Evaluates an expression by big integers into the slots from `d` on.
    pub fn wide(&mut self, expr: &Expr, form: Form, d: Slot, words: u16) -> Result<(), LoadError> {
        let (Ok(words), Ok(index)) = (u8::try_from(words), u16::try_from(self.wides.len())) else {
            return Err(LoadError::new(
                "the program has more or longer wide expressions than are supported",
            ));
        };
        self.keep(expr.bytes())?;
        self.wide_work(expr, form)?;
        self.wides.push(Wide {
            expr: expr.clone(),
            form,
        });
        self.push(Op::Wide {
            words,
            d,
            expr: index,
        });
        Ok(())
    }

    /// An expression is to be evaluated by big integers.
    ///
    /// # Errors
    /// Its values become too long, or it takes too long.
    pub fn wide_work(&mut self, expr: &Expr, form: Form) -> Result<(), LoadError> {
        self.wide_work.add(expr, form)
    }

    pub fn is_temporary(&self, slot: Slot) -> bool {
        (self.first_temporary..self.first_temporary + TEMPORARIES).contains(&usize::from(slot))
    }

    /// Gives back the temporary that was taken last.
    pub fn free_temporary(&mut self, slot: Slot) {
        if usize::from(slot) + 1 == self.first_temporary + self.next_temporary {
            self.next_temporary -= 1;
        }
    }

    pub fn release_temporaries(&mut self) {
        self.next_temporary = 0;
    }

    /// What the marks stand for.
    pub fn take_places(&mut self) -> Vec<Place> {
        self.places.take().unwrap_or_default()
    }

    /// The code with labels replaced by places in it.
    ///
    /// # Errors
    /// Something jumps to a label that is not bound.
    pub fn finish(self) -> Result<Assembled, LoadError> {
        let mut ops = self.code;
        let places = Places {
            labels: self.labels,
            end: ops.len(),
        };
        for to in ops.iter_mut().filter_map(Op::target_mut) {
            *to = places.of(Label(*to))?;
        }
        Ok(Assembled {
            ops,
            constants: self.constants,
            places,
        })
    }
}

/// Instructions whose jumps know where they go.
pub(crate) struct Assembled {
    pub ops: Vec<Op>,
    pub constants: Vec<u64>,
    pub places: Places,
}

/// Where labels are.
pub(crate) struct Places {
    labels: Vec<Option<Pc>>,
    /// Where the code ends.
    end: usize,
}

impl Places {
    /// # Errors
    /// The label is not bound, or stands behind the last instruction.
    pub fn of(&self, label: Label) -> Result<Pc, LoadError> {
        let bound = self.labels.get(label.0 as usize).copied().flatten();
        let within = bound.filter(|pc| (*pc as usize) < self.end);
        within.ok_or_else(|| {
            LoadError::new(
                "the program was lowered to a jump to where no instruction is; this is a fault of \
                 the switch, please report it with the program",
            )
        })
    }
}
