// SPDX-License-Identifier: Apache-2.0
//! The player of an adaptive video, without a network: which rate it asks for, and when.
//!
//! It asks for one segment after the other. The first one has the lowest rate; the rate of any
//! other is the highest that a share of the mean throughput of the last few segments carries.
//! Playing begins when the first segment is there. It stops when the buffer is empty, and goes on
//! when the next segment is there. With the buffer full, the player waits until it is not.

use std::collections::VecDeque;

const NANOSECONDS: u128 = 1_000_000_000;

/// What a player is like.
#[derive(Clone, Debug)]
pub struct PlayerConfig {
    /// Rates that the video is offered at, bit/s, lowest first. There is one at least.
    pub ladder: Vec<u64>,
    /// Playing time of a segment, nanoseconds, not 0.
    pub segment: u64,
    /// With more playing time than that in its buffer a player asks for nothing, nanoseconds.
    pub buffer: u64,
    /// Share of the mean throughput that a rate may have, thousandths.
    pub safety: u32,
    /// Segments that the mean is of, the newest ones; not 0.
    pub samples: usize,
}

/// A player.
#[derive(Debug)]
pub struct Player {
    config: PlayerConfig,
    /// bit/s of the newest segments.
    throughputs: VecDeque<u64>,
    /// When all that came will have been played; none until something came.
    plays_until: Option<u64>,
}

impl Player {
    /// One that has nothing yet.
    #[must_use]
    pub fn new(config: PlayerConfig) -> Self {
        Self {
            throughputs: VecDeque::with_capacity(config.samples),
            config,
            plays_until: None,
        }
    }

    /// The rate of the segment that it asks for next, bit/s.
    #[must_use]
    pub fn rate(&self) -> u64 {
        let ladder = &self.config.ladder;
        let affordable = self.affordable();
        let carried = ladder.iter().rev().find(|&&rate| rate <= affordable);
        carried.or(ladder.first()).copied().unwrap_or(0)
    }

    /// The highest rate that it may ask for, bit/s; 0 while nothing is known.
    fn affordable(&self) -> u64 {
        let samples = self.throughputs.len() as u128;
        if samples == 0 {
            return 0;
        }
        let sum: u128 = self.throughputs.iter().map(|&rate| u128::from(rate)).sum();
        // One division, so that nothing is rounded twice.
        let share = sum * u128::from(self.config.safety) / (1000 * samples);
        u64::try_from(share).unwrap_or(u64::MAX)
    }

    /// Bytes of a segment at a rate, at least one.
    #[must_use]
    pub fn bytes(&self, rate: u64) -> u64 {
        let bits = u128::from(rate) * u128::from(self.config.segment) / NANOSECONDS;
        u64::try_from(bits / 8).unwrap_or(u64::MAX).max(1)
    }

    /// Playing time that is in the buffer, nanoseconds.
    #[must_use]
    pub fn buffered(&self, now: u64) -> u64 {
        self.plays_until.unwrap_or(0).saturating_sub(now)
    }

    /// When it asks for the next segment, once it has the one before.
    #[must_use]
    pub fn asks_at(&self, now: u64) -> u64 {
        now + self.buffered(now).saturating_sub(self.config.buffer)
    }

    /// A segment that was asked for is there. When its playing begins.
    pub fn got(&mut self, asked: u64, now: u64, bytes: u64) -> u64 {
        let took = u128::from(now.saturating_sub(asked).max(1));
        let throughput = u128::from(bytes) * 8 * NANOSECONDS / took;
        if self.throughputs.len() >= self.config.samples {
            self.throughputs.pop_front();
        }
        self.throughputs
            .push_back(u64::try_from(throughput).unwrap_or(u64::MAX));
        let plays = self.plays_until.unwrap_or(now).max(now);
        self.plays_until = Some(plays.saturating_add(self.config.segment));
        plays
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND: u64 = 1_000_000_000;

    fn config() -> PlayerConfig {
        PlayerConfig {
            ladder: [300, 600, 1000, 1500, 2100, 3000, 4200]
                .iter()
                .map(|kbps| kbps * 1000)
                .collect(),
            segment: 4 * SECOND,
            buffer: 30 * SECOND,
            safety: 800,
            samples: 3,
        }
    }

    /// Segments over a path of a rate that has no round trip: rate, asked, came, began to play, and
    /// buffer when asked.
    fn schedule(player: &mut Player, paths: &[u64]) -> Vec<(u64, u64, u64, u64, u64)> {
        let mut now = 0;
        let mut found = Vec::new();
        for &path in paths {
            let asked = player.asks_at(now);
            let (rate, buffered) = (player.rate(), player.buffered(asked));
            let bytes = player.bytes(rate);
            now = asked + bytes * 8 * SECOND / path;
            let plays = player.got(asked, now, bytes);
            found.push((rate, asked, now, plays, buffered));
        }
        found
    }

    #[test]
    fn the_rate_is_what_the_share_of_the_throughput_carries() {
        // 0.8 x 2 Mbit/s carries 1.5 Mbit/s. 0.3 Mbit/s x 4 s are 1.2 Mbit, 0.6 s of the path;
        // 6 Mbit are 3 s. So the buffer grows by 3.4 s, and then by 1 s a segment.
        const TENTH: u64 = SECOND / 10;
        let found = schedule(&mut Player::new(config()), &[2_000_000; 4]);
        let by_hand = [
            (300_000, 0, 6, 6, 0),
            (1_500_000, 6, 36, 46, 40),
            (1_500_000, 36, 66, 86, 50),
            (1_500_000, 66, 96, 126, 60),
        ];
        let by_hand = by_hand.map(|(rate, asked, came, plays, buffered)| {
            let of = |tenths: u64| tenths * TENTH;
            (rate, of(asked), of(came), of(plays), of(buffered))
        });
        assert_eq!(found, by_hand);
    }

    #[test]
    fn a_full_buffer_makes_it_wait_and_no_longer_than_that() {
        // 100 Mbit/s: each of the first eight segments adds nearly 4 s; with 32 s less a little it
        // waits until 30 s are left, and from then on a segment goes every 4 s.
        let found = schedule(&mut Player::new(config()), &[100_000_000; 12]);
        assert!(found[..8].windows(2).all(|two| two[1].1 == two[0].2));
        for two in found[8..].windows(2) {
            assert_eq!(two[1].1 - two[0].1, 4 * SECOND);
            assert_eq!(two[1].4, 30 * SECOND);
        }
        assert_eq!(found[11].0, 4_200_000);
    }

    #[test]
    fn an_empty_buffer_stalls_it_until_the_next_segment_is_there() {
        // 0.3 Mbit/s x 4 s at 0.1 Mbit/s take 12 s: 4 s are played, and 8 s are waited.
        let found = schedule(&mut Player::new(config()), &[100_000; 3]);
        let plays: Vec<u64> = found.iter().map(|one| one.3 / SECOND).collect();
        assert_eq!(plays, [12, 24, 36]);
        assert!(found.iter().all(|one| one.0 == 300_000));
        assert_eq!(found[1].4, 4 * SECOND);
    }

    #[test]
    fn the_mean_is_of_the_last_three() {
        let mut player = Player::new(config());
        for (megabits, rate) in [
            (1, 600_000),
            (2, 1_000_000),
            (3, 1_500_000),
            // (2 + 3 + 10) / 3 x 0.8 = 4.
            (10, 3_000_000),
            // (3 + 10 + 3) / 3 x 0.8 = 4.27.
            (3, 4_200_000),
        ] {
            player.got(0, SECOND, megabits * 1_000_000 / 8);
            assert_eq!(player.rate(), rate, "{megabits}");
        }
    }

    #[test]
    fn what_comes_at_once_or_is_huge_breaks_nothing() {
        let mut player = Player::new(PlayerConfig {
            ladder: vec![1, u64::MAX],
            safety: 1000,
            ..config()
        });
        assert_eq!(player.bytes(1), 1);
        assert_eq!(player.bytes(u64::MAX), u64::MAX / 2);
        player.got(5, 5, u64::MAX);
        assert_eq!(player.rate(), u64::MAX);
        assert_eq!(player.got(9, 3, 1), 4 * SECOND + 5);
    }

    proptest! {
        #[test]
        fn the_buffer_is_bounded_and_the_rate_is_of_the_ladder(
            paths in prop::collection::vec(1_000_u64..1_000_000_000, 1..60),
            segment in 1_u64..40 * SECOND,
            buffer in 0_u64..60 * SECOND,
            safety in 1_u32..=1000,
            samples in 1_usize..10,
            steps in prop::collection::vec(1_u64..5_000_000, 1..12),
        ) {
            let ladder: Vec<u64> = steps
                .iter()
                .scan(0, |rate, step| {
                    *rate += step;
                    Some(*rate)
                })
                .collect();
            let mut player = Player::new(PlayerConfig {
                ladder: ladder.clone(), segment, buffer, safety, samples,
            });
            let (mut now, mut played) = (0, 0);
            for path in paths {
                let asked = player.asks_at(now);
                prop_assert!(asked >= now && player.buffered(asked) <= buffer.max(player.buffered(now)));
                prop_assert!(player.buffered(asked) <= buffer);
                let rate = player.rate();
                prop_assert!(ladder.contains(&rate));
                let bytes = player.bytes(rate);
                now = asked + bytes * 8 * SECOND / path;
                let plays = player.got(asked, now, bytes);
                // Nothing is played before it is there, or before what comes before it is over.
                prop_assert!(plays >= now && plays >= played);
                played = plays + segment;
                prop_assert_eq!(player.buffered(now), played - now);
                prop_assert!(player.buffered(now) <= buffer + segment);
                prop_assert_eq!(player.buffered(played), 0);
            }
        }
    }
}
