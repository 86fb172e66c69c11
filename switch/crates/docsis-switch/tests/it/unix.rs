// SPDX-License-Identifier: Apache-2.0
//! gRPC on a Unix socket, which only its user reaches, and what is said of a TCP address that
//! others reach.

use crate::common::{Folder, PROGRAM, Switch, WIRE, refusal_at};
use crate::hostile::BUILD;
use std::fs::{self, Permissions};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

/// The address of a socket in a folder.
fn at(folder: &Folder, name: &str) -> String {
    format!("unix:{}", folder.file(name).display())
}

fn mode(path: &Path) -> u32 {
    path.symlink_metadata().unwrap().permissions().mode() & 0o777
}

#[test]
fn nobody_else_reaches_the_socket() {
    let folder = Folder::new("modes");
    let address = at(&folder, "own/s1.sock");
    let (own, socket) = (folder.file("own"), folder.file("own/s1.sock"));
    let switch = Switch::start_at(&address, PROGRAM.as_ref(), &[WIRE], &[]);
    assert_eq!(switch.address, address);
    assert_eq!((mode(&own), mode(&socket)), (0o700, 0o600));
    assert_eq!(switch.ctl_json(&["info"])["pid"], switch.child.id());
    // A second one does not take it away.
    let said = refusal_at(&address, &[WIRE]);
    assert!(said.contains("another process"), "{said}");
    assert_eq!(switch.ctl_json(&["info"])["pid"], switch.child.id());
    switch.stop();
    assert!(!socket.exists(), "its name is gone with it");
}

#[test]
fn the_control_plane_is_measured_over_a_socket_too() {
    let folder = Folder::new("measured");
    let address = at(&folder, "own/s1.sock");
    let switch = Switch::start_at(&address, PROGRAM.as_ref(), &[WIRE], &[]);
    let cm = format!("{BUILD}/cm");
    let measured = Command::new(PROGRAM)
        .args(["bench", "control", "--address", &address, "--program", &cm])
        .args(["--rounds", "1", "--json"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&measured.stderr);
    assert!(measured.status.success(), "{said}");
    let report: serde_json::Value = serde_json::from_slice(&measured.stdout).unwrap();
    assert_eq!(report["rounds"], 1);
    switch.stop();
}

#[test]
fn a_socket_that_a_killed_switch_left_is_replaced_and_nothing_else() {
    let folder = Folder::new("left");
    let address = at(&folder, "own/s1.sock");
    let socket = folder.file("own/s1.sock");
    let switch = Switch::start_at(&address, PROGRAM.as_ref(), &[WIRE], &[]);
    switch.signal(libc::SIGKILL);
    switch.end();
    assert!(socket.exists());
    Switch::start_at(&address, PROGRAM.as_ref(), &[WIRE], &[]).stop();
    fs::write(&socket, "a file").unwrap();
    let said = refusal_at(&address, &[WIRE]);
    assert!(said.contains("something else"), "{said}");
    assert_eq!(fs::read(&socket).unwrap(), b"a file");
}

#[test]
fn a_folder_that_others_enter_is_refused() {
    let folder = Folder::new("open");
    for open in [0o755, 0o710, 0o702] {
        fs::set_permissions(&folder.0, Permissions::from_mode(open)).unwrap();
        let said = refusal_at(&at(&folder, "s1.sock"), &[WIRE]);
        assert!(said.contains("open to other users"), "{open:o}: {said}");
    }
    fs::DirBuilder::new()
        .mode(0o700)
        .create(folder.file("own"))
        .unwrap();
    symlink(folder.file("own"), folder.file("link")).unwrap();
    let said = refusal_at(&at(&folder, "link/s1.sock"), &[WIRE]);
    assert!(said.contains("is a link"), "{said}");
    let said = refusal_at(&at(&folder, "none/own/s1.sock"), &[WIRE]);
    assert!(said.contains("cannot be made"), "{said}");
    let long = "x".repeat(200);
    refusal_at(&at(&folder, &format!("own/{long}")), &[WIRE]);
}

#[test]
fn plaintext_beyond_this_machine_is_warned_of() {
    for (address, warned) in [("0.0.0.0:0", true), ("127.0.0.1:0", false)] {
        let switch = Switch::start_at(address, PROGRAM.as_ref(), &[WIRE], &[]);
        let said = switch.stop();
        assert_eq!(said.contains("not encrypted"), warned, "{address}: {said}");
    }
}
