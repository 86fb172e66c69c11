// SPDX-License-Identifier: Apache-2.0
//! How long a station waits before it asks in contention (mac.md, "Contention requests").

use mac_wire::Backoff;

use crate::random::Random;

/// The window of TLV 24.25 that changes nothing, eighths.
const WHOLE: u64 = 8;

/// A station's backoff window and how often it has tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Window {
    size: u32,
    tries: u8,
}

impl Window {
    /// Before the first try.
    pub fn new(backoff: Backoff) -> Self {
        Self {
            size: size(backoff.start),
            tries: 0,
        }
    }

    /// How many opportunities to skip: uniform below the window, which TLV 24.25 scales.
    pub fn draw(&self, eighths: u8, random: &mut Random) -> u64 {
        let window = u64::from(self.size) * u64::from(eighths) / WHOLE;
        random.below(window.max(1))
    }

    /// A request goes out.
    pub fn tried(&mut self) {
        self.tries = self.tries.saturating_add(1);
    }

    /// It was lost: twice the window, up to the end. Whether it was the last of `tries`.
    pub fn lost(&mut self, backoff: Backoff, tries: u8) -> bool {
        self.size = self.size.saturating_mul(2).min(size(backoff.end));
        self.tries >= tries.max(1)
    }
}

fn size(exponent: u8) -> u32 {
    1 << exponent.min(Backoff::MAX_EXPONENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAPER_004: Backoff = Backoff { start: 3, end: 7 };

    #[test]
    fn windows_double_from_8_to_128_and_the_16th_loss_is_the_last() {
        let mut window = Window::new(PAPER_004);
        let mut sizes = Vec::new();
        for attempt in 1..=16 {
            sizes.push(window.size);
            window.tried();
            assert_eq!(window.lost(PAPER_004, 16), attempt == 16);
        }
        assert_eq!(sizes[..6], [8, 16, 32, 64, 128, 128]);
        assert_eq!(sizes[15], 128);
    }

    #[test]
    fn draws_stay_below_the_scaled_window_and_reach_all_of_it() {
        let mut random = Random::new(1, 1);
        for (eighths, size) in [(8, 8), (12, 12), (4, 4), (0, 1), (255, 255)] {
            let window = Window::new(PAPER_004);
            let mut seen = vec![false; size];
            for _ in 0..20 * size {
                seen[window.draw(eighths, &mut random) as usize] = true;
            }
            // Of 255, one is missed with probability 255 * e^-20.
            assert!(seen.iter().all(|&seen| seen), "{eighths}");
        }
    }

    #[test]
    fn equal_exponents_fix_the_window_and_hostile_ones_stay_bounded() {
        let fixed = Backoff { start: 4, end: 4 };
        let mut window = Window::new(fixed);
        window.lost(fixed, 16);
        assert_eq!(window.size, 16);
        let mut window = Window::new(Backoff {
            start: 255,
            end: 255,
        });
        window.lost(
            Backoff {
                start: 255,
                end: 255,
            },
            0,
        );
        assert_eq!(window.size, 1 << 15);
    }
}
