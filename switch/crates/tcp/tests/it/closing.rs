// SPDX-License-Identifier: Apache-2.0
//! RFC 9293 3.6: how connections end.

use crate::world::{CLIENT, Fate, Link, MS, SECOND, SERVER, World};
use tcp::{Config, Ended, Flags, State};

fn link() -> Link {
    Link::new(0, 10 * MS, 0)
}

/// RFC 9293 3.6: one closes, then the other; TIME-WAIT is the first one's.
#[test]
fn one_after_the_other() {
    let mut world = World::both(Config::linux(), link());
    world.ends[CLIENT].send(10_000);
    world.ends[CLIENT].close();
    world.run_until(SECOND);
    assert_eq!(world.infos()[CLIENT].state, State::FinWait2);
    assert_eq!(world.infos()[SERVER].state, State::CloseWait);
    // The half that is open still carries data.
    world.ends[SERVER].send(20_000);
    world.ends[SERVER].close();
    world.run_until(2 * SECOND);
    assert_eq!(world.ends[CLIENT].delivered(), 20_000);
    assert_eq!(world.infos()[CLIENT].state, State::TimeWait);
    assert_eq!(world.infos()[SERVER].state, State::Closed);
    world.run_until(63 * SECOND);
    assert_eq!(world.infos()[CLIENT].ended, Some(Ended::Finished));
}

/// RFC 9293 3.6, case 3: both close at the same time.
#[test]
fn at_the_same_time() {
    let mut world = World::both(Config::linux(), link());
    world.run_until(SECOND);
    for end in &mut world.ends {
        end.close();
    }
    world.run_until(2 * SECOND);
    for info in world.infos() {
        assert_eq!(info.state, State::TimeWait);
    }
}

/// RFC 9293 3.6: lost FINs, and lost ACKs of them, are repaired.
#[test]
fn lost_fins() {
    for lost in 0..4 {
        let mut count = 0;
        let mut world = World::both(Config::linux(), link()).with(move |sent| {
            let fin = sent.segment.flags.has(Flags::FIN);
            count += u32::from(fin || count > 0);
            if count == lost + 1 {
                Fate::Drop
            } else {
                Fate::Pass
            }
        });
        world.transfer(5000, 300 * SECOND);
        for info in world.infos() {
            assert_eq!(info.ended, Some(Ended::Finished), "{lost}");
        }
    }
}

/// RFC 9293 3.10.5: an abort resets the other end.
#[test]
fn abort() {
    let mut world = World::both(Config::linux(), link());
    world.run_until(SECOND);
    world.ends[CLIENT].send(10_000);
    world.run_until(SECOND + MS);
    world.ends[CLIENT].abort();
    world.run_until(2 * SECOND);
    for info in world.infos() {
        assert_eq!(info.ended, Some(Ended::Reset));
    }
}

/// RFC 9293 3.8.3: the other end is gone.
#[test]
fn given_up() {
    let mut world = World::both(Config::linux(), link()).with(|sent| match sent.at > SECOND {
        true => Fate::Drop,
        false => Fate::Pass,
    });
    world.run_until(SECOND);
    world.ends[CLIENT].send(10_000);
    world.run_until(3000 * SECOND);
    assert_eq!(world.infos()[CLIENT].ended, Some(Ended::TimedOut));
    assert_eq!(world.infos()[CLIENT].counts.timeouts, 15);
}

/// RFC 5961 3.2: a RST has to be at the left edge of the window.
#[test]
fn blind_resets() {
    let mut world = World::both(Config::linux(), link());
    world.run_until(SECOND);
    let mut reset = world.sent[2].segment;
    reset.flags = Flags::RST.with(Flags::ACK);
    reset.seq = reset.seq.wrapping_add(100);
    let now = world.now;
    world.ends[SERVER].on_segment(now, &reset);
    assert_eq!(world.infos()[SERVER].state, State::Established);
    let challenge = world.ends[SERVER].next_segment(now).unwrap();
    assert_eq!(challenge.flags, Flags::ACK);
    reset.seq = reset.seq.wrapping_sub(100);
    world.ends[SERVER].on_segment(now, &reset);
    assert_eq!(world.infos()[SERVER].state, State::Closed);
}
