// SPDX-License-Identifier: Apache-2.0
//! Contains panics of the code that looks at a client's program. Such a panic is a defect of the
//! switch, but it must not end the switch and the program that runs in it. The client's program is
//! refused instead, and nothing that was made of it is kept.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static CONTAINED: Cell<bool> = const { Cell::new(false) };
}

/// Whether a panic of this thread would end no more than the present request. A panic hook asks
/// this, because it ends the process otherwise.
#[must_use]
pub fn panic_is_contained() -> bool {
    CONTAINED.get()
}

/// Ends the containment when dropped, whether the work returns or panics.
struct Containment {
    before: bool,
}

impl Drop for Containment {
    fn drop(&mut self) {
        CONTAINED.set(self.before);
    }
}

/// Does work and contains its panics. The work must own everything that it changes, so that a panic
/// leaves nothing half done behind.
///
/// # Errors
/// The message of the panic, if the work panicked.
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
