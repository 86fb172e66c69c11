// SPDX-License-Identifier: Apache-2.0
//! Keeps a world from two threads at once, and a panic from everything but its world.

use std::any::Any;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError, TryLockError};

use pyo3::prelude::*;

use crate::errors::{WorldError, exception};

enum State {
    Alive(Box<world::World>),
    Failed(String),
}

/// Why a call was not made, or what became of it.
enum Outcome<T> {
    Done(Result<T, world::WorldError>),
    Busy,
    Failed(String),
}

/// A world, as long as it works.
pub struct Guard(Mutex<State>);

impl Guard {
    pub fn new(world: world::World) -> Self {
        Guard(Mutex::new(State::Alive(Box::new(world))))
    }

    /// Uses the world without the interpreter's lock.
    pub fn with<T: Send>(
        &self,
        py: Python<'_>,
        f: impl FnOnce(&mut world::World) -> Result<T, world::WorldError> + Send,
    ) -> PyResult<T> {
        match py.detach(|| self.detached(f)) {
            Outcome::Done(result) => result.map_err(|error| exception(py, error)),
            Outcome::Busy => Err(WorldError::new_err(
                "another thread uses this world at the moment; a world is one thread's at a time",
            )),
            Outcome::Failed(words) => Err(WorldError::new_err(format!(
                "this world has failed and cannot go on, others can: {words}"
            ))),
        }
    }

    fn detached<T>(
        &self,
        f: impl FnOnce(&mut world::World) -> Result<T, world::WorldError>,
    ) -> Outcome<T> {
        let mut state = match self.0.try_lock() {
            Ok(state) => state,
            Err(TryLockError::WouldBlock) => return Outcome::Busy,
            // Nothing panics with the lock but what is caught below.
            Err(TryLockError::Poisoned(state)) => PoisonError::into_inner(state),
        };
        let world = match &mut *state {
            State::Alive(world) => world,
            State::Failed(words) => return Outcome::Failed(words.clone()),
        };
        match catch_unwind(AssertUnwindSafe(|| f(world))) {
            Ok(result) => Outcome::Done(result),
            Err(panic) => {
                let words = words_of(&*panic);
                let failed = std::mem::replace(&mut *state, State::Failed(words.clone()));
                // Half of a change may be hard to drop, too.
                let _ = catch_unwind(AssertUnwindSafe(|| drop(failed)));
                Outcome::Failed(words)
            }
        }
    }
}

fn words_of(panic: &(dyn Any + Send)) -> String {
    let words = panic
        .downcast_ref::<&str>()
        .map(|words| (*words).to_owned());
    let words = words
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without words".to_owned());
    match PLACE.take() {
        Some(place) => format!("{words} ({place})"),
        None => words,
    }
}

thread_local! {
    /// Where this thread panicked last.
    static PLACE: Cell<Option<String>> = const { Cell::new(None) };
}

/// Panics of this module are told in their exceptions, and not printed.
pub fn keep_quiet() {
    panic::set_hook(Box::new(|info| {
        PLACE.set(info.location().map(ToString::to_string));
    }));
}
