// SPDX-License-Identifier: Apache-2.0
//! The last resort where a client's program is looked at: what panics there is a defect of the
//! switch, and still must not take the switch and the program that it runs with it. The program
//! is refused, and nothing that was made of it is kept.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static CONTAINED: Cell<bool> = const { Cell::new(false) };
}

/// Whether a panic of this thread ends nothing but the request in hand: for a panic hook, which
/// otherwise ends the process.
#[must_use]
pub fn panic_is_contained() -> bool {
    CONTAINED.get()
}

/// Ends the containment, however the work ends.
struct Containment {
    before: bool,
}

impl Drop for Containment {
    fn drop(&mut self) {
        CONTAINED.set(self.before);
    }
}

/// Does work that owns all that it changes, so that nothing half done is left of it.
///
/// # Errors
/// It panicked; what the panic said.
pub fn contain<R>(work: impl FnOnce() -> R) -> Result<R, String> {
    let _containment = Containment {
        before: CONTAINED.replace(true),
    };
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let literal = panic.downcast_ref::<&str>().copied();
        let words = literal.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        words.unwrap_or("no message").to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_words_and_only_there() {
        assert!(!panic_is_contained());
        assert_eq!(contain(|| (panic_is_contained(), 3)), Ok((true, 3)));
        let said = contain(|| -> u8 {
            let inner = contain(|| -> u8 { panic!("inner {}", 1) });
            assert_eq!(inner, Err("inner 1".into()));
            assert!(panic_is_contained());
            panic!("outer")
        });
        assert_eq!(said, Err("outer".into()));
        assert!(!panic_is_contained());
    }
}
