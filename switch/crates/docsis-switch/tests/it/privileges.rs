// SPDX-License-Identifier: Apache-2.0
//! What a switch may do once it runs.

use crate::common::{Switch, WIRE, until_or, with_links};

/// CAP_NET_ADMIN and CAP_NET_RAW, as /proc shows capabilities.
const INTERFACES: u64 = 1 << 12 | 1 << 13;

/// A field of a thread's status, in hexadecimal.
fn field(status: &str, name: &str) -> u64 {
    let value = status.lines().find_map(|line| line.strip_prefix(name));
    u64::from_str_radix(value.unwrap().trim(), 16).unwrap()
}

/// A thread that may do something else than it should; `main` is what the main thread may do.
fn stray(switch: &Switch, main: u64) -> Option<String> {
    let pid = switch.child.id();
    let mut threads = 0;
    for thread in std::fs::read_dir(format!("/proc/{pid}/task")).unwrap() {
        let thread = thread.unwrap();
        // A thread of a pool may have ended.
        let Ok(status) = std::fs::read_to_string(thread.path().join("status")) else {
            continue;
        };
        let is_main = thread.file_name().to_str() == Some(&pid.to_string());
        let expected = if is_main { main } else { 0 };
        let has = |name, expected| field(&status, name) == expected;
        let held = ["CapPrm:", "CapEff:"].iter().all(|set| has(set, expected));
        let handed_on = ["CapInh:", "CapAmb:"].iter().all(|set| has(set, 0));
        if !held || !handed_on || !has("NoNewPrivs:", 1) {
            return Some(status);
        }
        threads += 1;
    }
    // The device's, gRPC's and the allocator's.
    (threads < 4).then(|| format!("{threads} threads"))
}

/// Checks every thread. Giving up is the first thing that a thread does, and a busy machine may not
/// have let it begin yet.
fn check(switch: &Switch, main: u64) {
    until_or("every thread has given up what it should not have", || {
        stray(switch, main).map_or(Ok(()), Err)
    });
}

#[test]
fn a_switch_without_interfaces_may_do_what_anybody_may() {
    let switch = Switch::start(&[WIRE, "--trace", "-"]);
    check(&switch, 0);
    switch.stop();
}

#[test]
fn a_switch_may_open_its_interfaces_again_and_no_more() {
    with_links(|| {
        let switch = Switch::start(&[WIRE, "-i", "1@s1", "-i", "2@s2"]);
        check(&switch, INTERFACES);
        switch.stop();
    });
}
