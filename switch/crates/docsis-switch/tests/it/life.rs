// SPDX-License-Identifier: Apache-2.0
//! The life of the process: devices, names, log levels, links that flap,
//! draining, captures, defects.

use crate::common::{
    Folder, Host, PROGRAM, Switch, WIRE, first_line, frame, ip, link, until, with_links,
};
use grpc_services::proto::docsis::tm::v1 as tm;
use grpc_services::proto::docsis::tm::v1::traffic_manager_client::TrafficManagerClient;
use std::os::fd::AsRawFd;
use std::process::{Command, Stdio};

#[test]
fn a_process_may_have_several_devices() {
    let switch = Switch::start(&["--no-p4", "-i", "1:1@lo", "--device-id", "7"]);
    let info = switch.ctl_json(&["info"]);
    let devices = info["devices"].as_array().unwrap();
    assert_eq!(devices.len(), 2);
    assert_eq!(devices[0]["device_id"], 1);
    assert_eq!(devices[0]["ports"][0]["interface"], "lo");
    assert_eq!(devices[1]["device_id"], 7);
    assert_eq!(devices[1]["traffic_manager"], "docsis");
    assert_eq!(devices[1]["has_pipeline"], false);
    assert!(devices[1]["program"].is_null());
    assert_eq!(info["name"], "docsis-switch");
    assert!(info["memory_bytes"].as_u64().unwrap() > 1 << 20);
    assert!(info["uptime_ns"].as_u64().unwrap() > 0);
    let counters = switch.ctl_json(&["counters", "--device-id", "7"]);
    assert_eq!(counters["devices"].as_array().unwrap().len(), 1);
    assert!(counters["devices"][0]["counters"]["too_long"].is_object());
    assert_eq!(counters["server"]["lost_messages"], 0);
    let table = switch.ctl(&["counters", "--all"]);
    assert!(
        table.contains("device 7") && table.contains("send_failed"),
        "{table}"
    );
    switch.stop();
}

#[test]
fn devices_do_not_see_each_others_packets() {
    with_links(|| {
        link("s3", "h3");
        link("s4", "h4");
        let ports = ["1:1@s1", "1:2@s2", "2:1@s3", "2:2@s4"];
        let ports = ports.iter().flat_map(|port| ["-i", port]);
        let switch = Switch::start(&[WIRE].into_iter().chain(ports).collect::<Vec<_>>());
        let hosts = ["h1", "h2", "h3", "h4"].map(Host::open);
        for (from, to) in [(0, 1), (3, 2), (2, 3), (1, 0)] {
            assert!(hosts[from].send(&frame(0, from as u8)));
            assert_eq!(hosts[to].receive(5000), Some(frame(0, from as u8)));
        }
        let counters = switch.ctl_json(&["counters"]);
        for device in counters["devices"].as_array().unwrap() {
            for port in device["ports"].as_array().unwrap() {
                assert_eq!(port["counters"]["received"]["frames"], 1, "{port}");
                assert_eq!(port["counters"]["sent"]["bytes"], 60, "{port}");
            }
        }
        switch.stop();
    });
}

#[test]
fn by_the_name_of_bmv2_it_has_bmv2s_traffic_manager() {
    let folder = Folder::new("alias");
    let dir = folder.0.to_str().unwrap();
    for _ in 0..2 {
        let made = Command::new(PROGRAM).args(["install-alias", dir]).status();
        assert!(made.unwrap().success());
    }
    let alias = folder.file("simple_switch_grpc");
    let switch = Switch::start_as(
        &alias,
        &[
            WIRE,
            "--device-id",
            "0",
            "--thrift-port",
            "9090",
            "--nanolog",
            "ipc:///tmp/x.ipc",
        ],
        &["--priority-queues", "2"],
    );
    let info = switch.ctl_json(&["info"]);
    assert_eq!(info["name"], "simple_switch_grpc");
    assert_eq!(info["devices"][0]["traffic_manager"], "bmv2");
    assert_eq!(info["devices"][0]["has_pipeline"], true);
    let said = switch.stop();
    assert!(said.contains("--nanolog has no effect"), "{said}");
    // What is no link stays.
    std::fs::remove_file(&alias).unwrap();
    std::fs::write(&alias, "mine").unwrap();
    let made = Command::new(PROGRAM).args(["install-alias", dir]).output();
    assert!(!made.unwrap().status.success());
    assert_eq!(std::fs::read_to_string(&alias).unwrap(), "mine");
}

#[test]
fn info_names_the_program() {
    let switch = Switch::start(&[WIRE]);
    let info = switch.ctl_json(&["info"]);
    let program = &info["devices"][0]["program"];
    assert_eq!(program["source"], "wire.p4");
    assert_eq!(program["path"], WIRE);
    assert_eq!(program["compiler"], "https://github.com/p4lang/p4c");
    assert_eq!(program["format"], "2.23");
    let table = switch.ctl(&["info"]);
    assert!(
        table.contains(&format!("program wire.p4, from {WIRE}, compiled by")),
        "{table}"
    );
    switch.stop();
}

#[test]
fn ctl_says_in_one_sentence_that_there_is_no_switch() {
    let out = Command::new(PROGRAM)
        .args(["ctl", "info", "--address", "127.0.0.1:1"])
        .output()
        .unwrap();
    let said = String::from_utf8(out.stderr).unwrap();
    assert_eq!(out.status.code(), Some(1));
    assert!(
        said.contains("127.0.0.1:1") && said.lines().count() == 1,
        "{said}"
    );
}

#[test]
fn the_log_level_changes_while_it_runs() {
    with_links(|| {
        let switch = Switch::start(&[WIRE, "-i", "1@s1", "-i", "2@s2", "--offloads-off"]);
        assert_eq!(switch.ctl_json(&["log-level"])["level"], "warn");
        let (h1, h2) = (Host::open("h1"), Host::open("h2"));
        let pass = |number| {
            assert!(h1.send(&frame(0, number)));
            assert_eq!(h2.receive(5000), Some(frame(0, number)));
        };
        pass(1);
        assert_eq!(switch.ctl(&["log-level", "debug"]), "debug\n");
        pass(2);
        assert_eq!(switch.ctl(&["log-level", "info"]), "info\n");
        pass(3);
        let said = switch.stop();
        let messages = said.matches("wire to port 2").count();
        assert_eq!(messages, 1, "of three packets one: {said}");
        assert!(
            said.contains("device 0 port 1: received 3 frames"),
            "{said}"
        );
        assert!(!said.contains("offloads"), "{said}");
    });
}

#[test]
fn offloads_are_named_with_what_mends_them() {
    with_links(|| {
        let switch = Switch::start(&["--no-p4", "-i", "1@s1"]);
        let said = switch.stop();
        assert!(said.contains("ethtool -K s1 tso off"), "{said}");
    });
}

#[test]
fn a_port_goes_down_vanishes_and_comes_back() {
    with_links(|| {
        let switch = Switch::start(&[
            WIRE,
            "-i",
            "1@s1",
            "-i",
            "2@s2",
            "--log-console",
            "--offloads-off",
        ]);
        let h1 = Host::open("h1");
        let up = |number: u64, up: bool| {
            until("the link's change", || switch.port(number)["up"] == up);
        };
        up(2, true);
        ip("link set s2 down");
        up(2, false);
        ip("link set s2 up");
        up(2, true);
        let h2 = Host::open("h2");
        assert!(h1.send(&frame(0, 1)));
        assert_eq!(h2.receive(5000), Some(frame(0, 1)));

        ip("link del s2");
        up(2, false);
        assert!(h1.send(&frame(0, 2)));
        until("the loss", || {
            switch.port(2)["counters"]["send_failed"]["frames"] == 1
        });
        link("s2", "h2");
        up(2, true);
        let h2 = Host::open("h2");
        assert!(h1.send(&frame(0, 3)) && h2.send(&frame(0, 4)));
        assert_eq!(h2.receive(5000), Some(frame(0, 3)));
        assert_eq!(h1.receive(5000), Some(frame(0, 4)));
        // Down and up twice. The kernel may say for a moment that the new link runs, before its
        // other end is up: whether that is seen is a matter of when one looks.
        let changes = switch.port(2)["link_changes"].as_u64().unwrap();
        assert!(changes == 4 || changes == 6, "{changes}");
        let said = switch.stop();
        assert!(!said.contains("has offloads on"), "{said}");
        for words in ["is down", "is up", "has vanished"] {
            assert!(said.contains(&format!("port 2 of device 0 (s2): the interface {words}")));
        }
    });
}

#[test]
fn a_forwarder_ends_in_order() {
    with_links(|| {
        let mut child = Command::new(PROGRAM)
            .args(["forward", "s1", "s2"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let line = first_line(&mut child);
        assert_eq!(line, "docsis-switch forward: ready\n");
        // SAFETY: no pointers; the child is ours and not yet waited for.
        unsafe { libc::kill(child.id() as i32, libc::SIGTERM) };
        assert_eq!(child.wait().unwrap().code(), Some(0));
    });
}

/// Sets how many files a switch may have open, and returns how many it might before.
fn files(switch: &Switch, most: libc::rlim_t) -> libc::rlim_t {
    let mut before = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    let pid = switch.child.id() as libc::pid_t;
    let set = |new: *const libc::rlimit, old: *mut libc::rlimit| {
        // SAFETY: each is null or lives through the call.
        assert_eq!(
            unsafe { libc::prlimit(pid, libc::RLIMIT_NOFILE, new, old) },
            0
        );
    };
    set(std::ptr::null(), &raw mut before);
    let after = libc::rlimit {
        rlim_cur: most,
        ..before
    };
    set(&raw const after, std::ptr::null_mut());
    before.rlim_cur
}

#[test]
fn a_port_whose_interface_cannot_be_opened_tries_again() {
    with_links(|| {
        let folder = Folder::new("reopened");
        let log = folder.file("log");
        let log_file = log.to_str().unwrap();
        let ports = [WIRE, "-i", "1@s1", "-i", "2@s2", "--offloads-off"];
        let switch = Switch::start(&[&ports[..], &["--log-file", log_file]].concat());
        let most = files(&switch, 0);
        ip("link del s2");
        link("s2", "h2");
        until("that it says so", || {
            let logged = std::fs::read_to_string(&log).unwrap();
            logged.contains("(s2)") && logged.contains("it is tried again")
        });
        files(&switch, most);
        let (h1, h2) = (Host::open("h1"), Host::open("h2"));
        // Nothing but a frame tells that the port has the new interface: it may never have been down.
        until("a frame that passes", || {
            assert!(h1.send(&frame(0, 1)));
            h2.receive(100) == Some(frame(0, 1))
        });
        switch.stop();
    });
}

/// Sets the pace of port 2 in packets/s.
fn pace(address: &str, rate: u64) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut client = TrafficManagerClient::connect(format!("http://{address}"))
            .await
            .unwrap();
        let request = tm::ConfigureRequest {
            packet_queues: vec![tm::PacketQueueChange {
                port: Some(2),
                rate: Some(rate),
                ..Default::default()
            }],
            ..Default::default()
        };
        client.configure(request).await.unwrap();
        let flows = tm::ConfigureRequest {
            service_flows: vec![tm::ServiceFlowConfig {
                queue: Some(tm::QueueId {
                    port: 2,
                    queue_id: 1,
                }),
                ..Default::default()
            }],
            ..Default::default()
        };
        let refused = client.configure(flows).await.unwrap_err();
        assert_eq!(refused.code(), tonic::Code::FailedPrecondition);
    });
}

/// A switch with `count` packets in the queues of port 2, which sends `rate` a second.
fn queued(rate: u64, count: u8, args: &[&str]) -> (Switch, Host) {
    let ports = [
        WIRE,
        "-i",
        "1@s1",
        "-i",
        "2@s2",
        "--traffic-manager",
        "bmv2",
    ];
    let switch = Switch::start_as(
        PROGRAM.as_ref(),
        &[&ports, args].concat(),
        &["--priority-queues", "8"],
    );
    pace(&switch.address, rate);
    let (h1, h2) = (Host::open("h1"), Host::open("h2"));
    for number in 0..count {
        assert!(h1.send(&frame(0, number)));
    }
    until("their arrival", || {
        switch.port(1)["counters"]["received"]["frames"] == count
    });
    (switch, h2)
}

#[test]
fn queues_are_drained_at_the_end() {
    with_links(|| {
        // The first leaves at once, the last after 390 ms.
        let (switch, h2) = queued(100, 40, &["--log-console", "--drain-ms", "30000"]);
        switch.signal(libc::SIGTERM);
        for number in 0..40 {
            assert_eq!(h2.receive(5000), Some(frame(0, number)));
        }
        let (status, said) = switch.end();
        assert!(status.success(), "{said}");
        assert!(
            said.contains("device 0 port 2: received 0 frames, sent 40"),
            "{said}"
        );
    });
}

#[test]
fn draining_has_an_end() {
    with_links(|| {
        let (switch, _) = queued(1, 5, &["--drain-ms", "50"]);
        let said = switch.stop();
        assert!(said.contains("frames were left"), "{said}");
    });
}

#[test]
fn a_second_signal_ends_it_at_once() {
    with_links(|| {
        let folder = Folder::new("signals");
        let log = folder.file("log");
        let log_file = log.to_str().unwrap();
        let (switch, _) = queued(1, 5, &["--log-file", log_file, "--drain-ms", "3600000"]);
        switch.signal(libc::SIGINT);
        // It still answers while it drains.
        until("the drain", || {
            switch.port(2)["counters"]["queued"]["frames"] == 3
        });
        switch.signal(libc::SIGTERM);
        let (status, said) = switch.end();
        assert_eq!(status.code(), Some(128 + libc::SIGTERM), "{said}");
        // The thread that writes the log has written its last line.
        let logged = std::fs::read_to_string(&log).unwrap();
        assert!(logged.contains("second signal"), "{logged}");
    });
}

/// As with `--trace | less`, where the reader looks at the first page.
#[test]
fn a_second_signal_ends_it_although_nobody_reads_its_trace() {
    with_links(|| {
        let folder = Folder::new("unread");
        let log = folder.file("log");
        let log_file = log.to_str().unwrap();
        let ports = [WIRE, "-i", "1@s1", "-i", "2@s2", "--log-file", log_file];
        let mut switch = Switch::start(&[&ports[..], &["--trace"]].concat());
        let h1 = Host::open("h1");
        // More than a pipe takes.
        for number in 0..=255 {
            assert!(h1.send(&frame(0, number)));
            assert!(h1.send(&frame(0, number)));
        }
        until("their arrival", || {
            switch.port(1)["counters"]["received"]["frames"] == 512
        });
        switch.signal(libc::SIGTERM);
        let logged = || std::fs::read_to_string(&log).unwrap();
        until("that it says what it waits for", || {
            logged().contains("until the trace on standard output is written")
        });
        assert!(switch.child.try_wait().unwrap().is_none(), "it waits");
        switch.signal(libc::SIGTERM);
        let mut status = None;
        until("its end", || {
            status = switch.child.try_wait().unwrap();
            status.is_some()
        });
        // Its last words have a time limit, and may be missing on a machine that stalls.
        assert_eq!(status.unwrap().code(), Some(128 + libc::SIGTERM));
    });
}

/// As in a terminal that Ctrl-S has stopped.
#[test]
fn it_answers_and_ends_although_nobody_reads_its_log() {
    let mut switch = Switch::start(&["--no-p4", "-L", "trace"]);
    let logged = |switch: &Switch| {
        let mut bytes: libc::c_int = 0;
        let pipe = switch.child.stderr.as_ref().unwrap().as_raw_fd();
        // SAFETY: FIONREAD writes one integer, and the pipe is open.
        assert_eq!(unsafe { libc::ioctl(pipe, libc::FIONREAD, &mut bytes) }, 0);
        bytes
    };
    until("a pipe that is full", || {
        switch.ctl(&["counters"]);
        // The last page may have some room.
        logged(&switch) > 60_000
    });
    for _ in 0..3 {
        switch.ctl(&["counters"]);
    }
    switch.signal(libc::SIGTERM);
    let mut status = None;
    until("its end", || {
        status = switch.child.try_wait().unwrap();
        status.is_some()
    });
    assert!(status.unwrap().success());
}

#[test]
fn captures_are_read_by_others() {
    with_links(|| {
        let folder = Folder::new("pcap");
        let dir = folder.0.to_str().unwrap();
        let switch = Switch::start(&[WIRE, "-i", "1@s1", "-i", "2@s2", "--pcap", dir]);
        let (h1, h2) = (Host::open("h1"), Host::open("h2"));
        for number in 0..3 {
            assert!(h1.send(&frame(0, number)));
            assert_eq!(h2.receive(5000), Some(frame(0, number)));
        }
        let size = |name: &str| std::fs::metadata(folder.file(name)).map_or(0, |m| m.len());
        // Header, and each frame with its own: while the switch runs.
        let full = 24 + 3 * (16 + 60);
        until("the flush", || {
            size("s1_in.pcap") == full && size("s2_out.pcap") == full
        });
        assert_eq!((size("s1_out.pcap"), size("s2_in.pcap")), (24, 24));
        let tcpdump = Command::new("tcpdump")
            .args(["-enr", folder.file("s2_out.pcap").to_str().unwrap()])
            .output();
        match tcpdump {
            Ok(out) => {
                let text = String::from_utf8_lossy(&out.stdout);
                assert_eq!(
                    text.matches("02:00:00:00:00:01 > 02:00:00:00:00:02")
                        .count(),
                    3
                );
            }
            Err(_) => eprintln!("not tested: there is no tcpdump"),
        }
        switch.stop();
    });
}

#[cfg(debug_assertions)]
#[test]
fn a_defect_ends_the_process_and_says_so() {
    let folder = Folder::new("defect");
    let log = folder.file("log");
    let log_file = log.to_str().unwrap();
    let switch = Switch::start(&["--no-p4", "--test-defect", "--log-file", log_file]);
    let (status, said) = switch.end();
    assert_eq!(status.code(), Some(70), "{said}");
    assert!(
        said.contains("thread defect failed at") && said.contains("please report"),
        "{said}"
    );
    let logged = std::fs::read_to_string(&log).unwrap();
    assert!(logged.contains("as asked for"), "{logged}");
    // A thread of its own writes the log, and what came before is not lost with it.
    let (before, defect) = (logged.find(" ready"), logged.find("defect:"));
    assert!(before.is_some() && before < defect, "{logged}");
}

#[test]
fn the_log_file_has_everything_up_to_the_end() {
    let folder = Folder::new("log");
    let log = folder.file("log");
    let options = ["--no-p4", "--log-file", log.to_str().unwrap()];
    let said = Switch::start(&options).stop();
    assert_eq!(said, "");
    let logged = std::fs::read_to_string(&log).unwrap();
    assert!(logged.trim_end().ends_with("stopped"), "{logged}");
}
