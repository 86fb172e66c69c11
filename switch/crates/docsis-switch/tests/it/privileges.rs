// SPDX-License-Identifier: Apache-2.0
//! What a switch may do once it runs.

use crate::common::{Switch, WIRE, with_links};

/// CAP_NET_ADMIN and CAP_NET_RAW, as /proc shows capabilities.
const INTERFACES: u64 = 1 << 12 | 1 << 13;

/// A field of a thread's status, in hexadecimal.
fn field(status: &str, name: &str) -> u64 {
    let value = status.lines().find_map(|line| line.strip_prefix(name));
    u64::from_str_radix(value.unwrap().trim(), 16).unwrap()
}

/// Checks every thread; `main` is what the main thread may have.
fn check(switch: &Switch, main: u64) {
    let pid = switch.child.id();
    let mut threads = 0;
    for thread in std::fs::read_dir(format!("/proc/{pid}/task")).unwrap() {
        let thread = thread.unwrap();
        let status = std::fs::read_to_string(thread.path().join("status")).unwrap();
        let is_main = thread.file_name().to_str() == Some(&pid.to_string());
        let expected = if is_main { main } else { 0 };
        for set in ["CapPrm:", "CapEff:"] {
            assert_eq!(field(&status, set), expected, "{set} {status}");
        }
        for set in ["CapInh:", "CapAmb:"] {
            assert_eq!(field(&status, set), 0, "{set} {status}");
        }
        assert_eq!(field(&status, "NoNewPrivs:"), 1, "{status}");
        threads += 1;
    }
    // The device's, gRPC's and the allocator's.
    assert!(threads >= 4, "{threads}");
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
