// SPDX-License-Identifier: Apache-2.0
//! Pauses in long work, in which its thread answers other clients.

/// The work between two pauses, which takes some 100 us. Each item counts as one, and its bytes
/// count in addition.
const WORK: usize = 128;
const BYTES: usize = 256;

/// Counts work.
#[derive(Debug, Default)]
pub struct Pause {
    done: usize,
}

impl Pause {
    /// Counts an item of so many bytes, and pauses if it is time to.
    pub async fn after(&mut self, bytes: usize) {
        self.done += 1 + bytes / BYTES;
        if self.done >= WORK {
            self.done = 0;
            tokio::task::yield_now().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;
    use std::task::{Context, Waker};

    #[test]
    fn others_have_their_turn_every_few_items() {
        let pauses = |items: usize, bytes: usize| {
            let mut work = pin!(async {
                let mut pause = Pause::default();
                for _ in 0..items {
                    pause.after(bytes).await;
                }
            });
            let mut context = Context::from_waker(Waker::noop());
            let mut pauses = 0;
            while work.as_mut().poll(&mut context).is_pending() {
                pauses += 1;
            }
            pauses
        };
        assert_eq!(pauses(127, 40), 0);
        assert_eq!(pauses(1280, 40), 10);
        assert_eq!(pauses(3, 1 << 20), 3);
    }
}
