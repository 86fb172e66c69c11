// SPDX-License-Identifier: Apache-2.0
//! Finds the request that a grant answers.

use mac_modem::{Asked, Grant};
use mac_wire::Minislot;

/// MAPs that a modem has read and whose grants it has not filled, at the most; of a channel with
/// more of them, the oldest grants are not told what they are for.
const MAPS: usize = 4;

/// The requests that a station's latest MAPs serve.
#[derive(Debug, Default)]
pub(crate) struct Serving {
    /// For each MAP with a grant for the station, the place of its first grant and the oldest
    /// request that is served.
    maps: [(Minislot, Option<Asked>); MAPS],
    /// How many there were: the latest is at the place before.
    served: usize,
}

impl Serving {
    /// A MAP, whose first grant for the station is there, serves that request; `None`: nobody asked.
    pub fn serve(&mut self, first: Minislot, asked: Option<Asked>) {
        self.maps[self.served % MAPS] = (first, asked);
        self.served = self.served.wrapping_add(1);
    }

    /// The request that a grant is for.
    pub fn of(&self, grant: &Grant) -> Option<Asked> {
        let before = |n| &self.maps[self.served.wrapping_sub(n) % MAPS];
        let mut maps = (1..=MAPS).map(before);
        maps.find(|(first, _)| *first <= grant.first)?.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mac_modem::How;

    #[test]
    fn a_grant_is_for_what_its_map_serves_whatever_was_read_since() {
        let asked = |sent| Asked {
            sent: Minislot(sent),
            how: How::Burst,
        };
        let grant = |first| Grant {
            first: Minislot(first),
            minislots: 3,
        };
        let mut serving = Serving::default();
        assert_eq!(serving.of(&grant(10)), None);
        serving.serve(Minislot(100), Some(asked(20)));
        serving.serve(Minislot(200), None);
        serving.serve(Minislot(300), Some(asked(120)));
        assert_eq!(serving.of(&grant(100)), Some(asked(20)));
        assert_eq!(serving.of(&grant(150)), Some(asked(20)));
        assert_eq!(serving.of(&grant(210)), None);
        assert_eq!(serving.of(&grant(310)), Some(asked(120)));
    }
}
