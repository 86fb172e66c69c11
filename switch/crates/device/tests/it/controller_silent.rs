// SPDX-License-Identifier: Apache-2.0
//! The fail-safe of p4src/include/control_law.p4: early drops only while the controller lives.

use crate::common::modem::{ADAPTIVE_RED, DOCSIS_PIE, Flow, Frame, Modem, ONE, PIE};

const TIMEOUT: u64 = 100_000;
/// Microseconds, far from both ends of the clock.
const NOW: u64 = 5_000_000;

const FRAME: Frame = Frame {
    session: 1,
    number: 0,
    length: 100,
};

/// A service flow in which every frame is dropped while the controller lives.
fn modem(manager: u8) -> Modem {
    let mut modem = Modem::new(&Flow {
        manager,
        controller_timeout: TIMEOUT as u32,
        ..Flow::default()
    });
    let values = [
        ("min_threshold", 1),
        ("max_threshold", 3),
        ("weight", 0xffff),
        ("threshold_reciprocal", 1 << 31),
    ];
    modem.parameters("adaptive_red.parameters", "set_red", &values);
    modem.set_state("aqm_drop_prob", 15 * ONE);
    modem.set_state("aqm_qdelay_old", 15_000);
    modem.set_state("aqm_control_state", 2);
    modem
}

/// Whether a frame is dropped that comes at so many microseconds.
fn drops(modem: &mut Modem, heartbeat: u64, now: u64) -> bool {
    modem.set_register("controller_heartbeat", 0, heartbeat);
    modem.set_state("aqm_accu_prob", u64::from(u32::MAX));
    modem.set_backlog(100_000);
    !modem.passes(now * 1_000, FRAME)
}

#[test]
fn a_heartbeat_is_fresh_for_the_timeout_on_either_side() {
    for manager in [DOCSIS_PIE, PIE, ADAPTIVE_RED] {
        let mut modem = modem(manager);
        for (heartbeat, fresh) in [
            (0, false),
            (NOW - TIMEOUT - 1, false),
            (NOW - TIMEOUT, true),
            (NOW, true),
            (NOW + 1, true),
            (NOW + TIMEOUT, true),
            (NOW + TIMEOUT + 1, false),
            (NOW + 60_000_000, false),
            ((1 << 47) + NOW, false),
            ((1 << 48) - 1, false),
        ] {
            let dropped = drops(&mut modem, heartbeat, NOW);
            assert_eq!(dropped, fresh, "manager {manager}, {heartbeat}");
        }
    }
}

/// One that was ahead ages like any other: it drops for at most two time-outs.
#[test]
fn a_heartbeat_from_the_future_grows_stale() {
    let mut modem = modem(PIE);
    let heartbeat = NOW + TIMEOUT;
    for (later, fresh) in [
        (0, true),
        (TIMEOUT, true),
        (2 * TIMEOUT, true),
        (2 * TIMEOUT + 1, false),
        (60_000_000, false),
    ] {
        assert_eq!(drops(&mut modem, heartbeat, NOW + later), fresh, "{later}");
    }
}
