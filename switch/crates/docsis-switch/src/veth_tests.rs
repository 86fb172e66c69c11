// SPDX-License-Identifier: Apache-2.0
//! Packet sockets on a real veth pair, in a network namespace that ends with
//! the test's thread. Needs root; without it nothing is tested, and it says so.

use crate::interface::Interface;
use crate::outbox::Outbox;
use crate::packet_socket::{PacketSocket, ReceiveBatch};
use crate::port::{BATCH, Inbox, LONGEST_FRAME, Poll, Port, Received};
use crate::ports::{self, Opening};
use crate::wait::PollSet;
use std::os::fd::AsRawFd;
use std::process::Command;
use std::time::{Duration, Instant};

fn ip(args: &str) {
    let status = Command::new("ip").args(args.split(' ')).status();
    assert!(status.is_ok_and(|status| status.success()), "ip {args}");
}

/// Until the kernel has seen the carrier, what is sent is dropped without a word.
fn wait_until_up(end: &str) {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let shown = Command::new("ip")
            .args(["-o", "link", "show", end])
            .output();
        let shown = shown.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        if shown.is_ok_and(|line| line.contains(" state UP ")) {
            return;
        }
        assert!(Instant::now() < deadline, "{end} does not come up");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Runs `test` where only dsw-a and dsw-b exist, the ends of one link.
pub fn on_a_link(test: fn()) {
    let thread = std::thread::spawn(move || {
        // SAFETY: no pointers; concerns this thread only.
        if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
            eprintln!("not tested: needs root for a network namespace");
            return;
        }
        ip("link add dsw-a type veth peer name dsw-b");
        for end in ["dsw-a", "dsw-b"] {
            // No neighbour discovery between the test's frames.
            let path = format!("/proc/sys/net/ipv6/conf/{end}/disable_ipv6");
            let _ = std::fs::write(path, "1");
            ip(&format!("link set {end} addrgenmode none"));
            ip(&format!("link set {end} mtu 20000 up"));
        }
        for end in ["dsw-a", "dsw-b"] {
            wait_until_up(end);
        }
        test();
    });
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

fn open(name: &str) -> PacketSocket {
    PacketSocket::open(&Interface::find(name).unwrap(), 20_000_000).unwrap()
}

/// Sends a frame.
pub fn send(socket: &mut PacketSocket, frame: &[u8]) {
    let mut batch = Outbox::default();
    batch.push(frame);
    batch.flush(socket, false, |len, error| panic!("{len}: {error}"));
}

/// The test's own frames (an experimental EtherType, behind a tag or not).
fn frame(len: usize, tag: Option<u16>, n: u8) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
    if let Some(tci) = tag {
        frame.extend([0x81, 0x00]);
        frame.extend(tci.to_be_bytes());
    }
    frame.extend([0x88, 0xb5]);
    frame.resize(len, n);
    frame
}

/// Waits for `count` frames; `None` for one that was too long.
fn collect(socket: &mut PacketSocket, count: usize) -> Vec<Option<Vec<u8>>> {
    let mut batch = ReceiveBatch::new(BATCH);
    let mut poll = PollSet::of([socket.as_raw_fd()]);
    let mut frames = Vec::new();
    while frames.len() < count {
        poll.wait(Some(5_000_000_000));
        assert!(poll.is_ready(0), "{} of {count} frames came", frames.len());
        let received = socket.receive(&mut batch, 0..BATCH).unwrap();
        for n in 0..received {
            frames.push(match batch.frame(n) {
                Received::Frame { bytes, .. } => Some(bytes.to_vec()),
                Received::TooLong(_) => None,
            });
        }
    }
    frames
}

#[test]
fn frames_arrive_as_they_were_sent() {
    on_a_link(|| {
        let (mut a, mut b) = (open("dsw-a"), open("dsw-b"));
        let sent = [
            frame(14, None, 0),
            frame(60, None, 1),
            frame(60, Some(0xe123), 2),
            frame(1518, Some(5), 3),
            frame(9018, Some(6), 4),
            frame(LONGEST_FRAME, None, 5),
        ];
        for frame in &sent {
            send(&mut a, frame);
        }
        // An end does not receive what it sent itself.
        send(&mut b, &frame(77, None, 9));
        assert_eq!(collect(&mut b, sent.len()), sent.map(Some));
        assert_eq!(collect(&mut a, 1), [Some(frame(77, None, 9))]);
        send(&mut a, &frame(LONGEST_FRAME + 100, None, 6));
        send(&mut a, &frame(60, None, 7));
        assert_eq!(collect(&mut b, 2), [None, Some(frame(60, None, 7))]);
    });
}

#[test]
fn batches_keep_order_and_report_what_failed() {
    on_a_link(|| {
        let (mut a, mut b) = (open("dsw-a"), open("dsw-b"));
        let mut batch = Outbox::default();
        for n in 0..BATCH as u8 {
            assert!(!batch.is_full());
            batch.push(&frame(60 + usize::from(n), None, n));
        }
        assert!(batch.is_full());
        batch.flush(&mut a, false, |len, error| panic!("{len}: {error}"));
        assert!(batch.is_empty());
        let all: Vec<_> = (0..BATCH as u8)
            .map(|n| Some(frame(60 + usize::from(n), None, n)))
            .collect();
        assert_eq!(collect(&mut b, BATCH), all);

        // The middle one is longer than the MTU: it fails, the others go.
        for (len, n) in [(60, 1), (30_000, 2), (61, 3)] {
            batch.push(&frame(len, None, n));
        }
        let mut failed = Vec::new();
        batch.flush(&mut a, false, |len, _| failed.push(len));
        assert_eq!(failed, [30_000]);
        let rest = [Some(frame(60, None, 1)), Some(frame(61, None, 3))];
        assert_eq!(collect(&mut b, 2), rest);
    });
}

/// Whether `tc` did it; not every kernel has every qdisc.
fn tc(args: &str) -> bool {
    let status = Command::new("tc").args(args.split(' ')).status();
    status.is_ok_and(|status| status.success())
}

#[test]
fn frames_wait_for_a_slow_qdisc_and_pass_it_in_order() {
    on_a_link(|| {
        if !tc("qdisc add dev dsw-a root tbf rate 20mbit burst 20000 limit 10000000") {
            eprintln!("not tested: needs tc and a kernel with tbf");
            return;
        }
        let how = Opening {
            wait_for_room: true,
            ..Default::default()
        };
        let (mut a, mut b) = (ports::open("dsw-a", how).unwrap(), open("dsw-b"));
        let mut poll = PollSet::of([a.as_raw_fd()]);
        Poll::<PacketSocket>::want_room(&mut poll, 0, true);
        let (mut batch, mut waits) = (Outbox::default(), 0);
        let failed = |len: usize, error: &std::io::Error| panic!("{len}: {error}");
        let sent: Vec<_> = (0..250).map(|n| frame(1500, None, n)).collect();
        for frame in &sent {
            batch.push(frame);
            while batch.flush(&mut a, true, failed) {
                assert!(!batch.is_empty());
                waits += 1;
                poll.wait(Some(5_000_000_000));
                assert!(poll.is_ready(0), "never any room again");
            }
            assert!(batch.is_empty());
        }
        assert!(waits > 0, "the send buffer took everything");
        let all: Vec<_> = sent.into_iter().map(Some).collect();
        assert_eq!(collect(&mut b, all.len()), all);

        // Who does not wait loses what there is no room for.
        let mut lost = 0;
        for _ in 0..250 {
            batch.push(&frame(1500, None, 0));
            assert!(!batch.flush(&mut a, false, |_, _| lost += 1));
        }
        assert!(lost > 0);
    });
}

#[test]
fn offloads_are_seen() {
    on_a_link(|| {
        let socket = ports::open("dsw-a", Opening::default()).unwrap();
        let interface = Interface::find("dsw-a").unwrap();
        assert_eq!(interface.mtu(socket.as_raw_fd()).unwrap(), 20_000);
        assert!(interface.is_up(socket.as_raw_fd()).unwrap());
        // A new veth has them on.
        let on = interface.offloads(socket.as_raw_fd());
        assert!(on.contains(&"tso") && on.contains(&"tx"), "{on:?}");
    });
}

#[test]
fn what_nobody_takes_is_counted() {
    on_a_link(|| {
        let (mut a, mut b) = (open("dsw-a"), open("dsw-b"));
        assert_eq!(b.missed(), 0);
        let mut batch = Outbox::default();
        let missed = (0..10_000).find_map(|_| {
            while !batch.is_full() {
                batch.push(&frame(9000, None, 1));
            }
            batch.flush(&mut a, false, |len, error| panic!("{len}: {error}"));
            Some(b.missed()).filter(|&missed| missed > 0)
        });
        assert!(missed.is_some());
        assert_eq!(b.missed(), 0, "counted once");
    });
}
