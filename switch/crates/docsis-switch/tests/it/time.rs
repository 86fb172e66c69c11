// SPDX-License-Identifier: Apache-2.0
//! Time of a switch whose thread the kernel does not run when it is to: it stops whole
//! for a while, as a machine does that is busy elsewhere.

use crate::common::{Host, Switch, WIRE, frame, ip, until, with_links};
use grpc_services::proto::docsis::tm::v1 as tm;
use grpc_services::proto::docsis::tm::v1::traffic_manager_client::TrafficManagerClient;
use std::path::Path;
use std::time::{Duration, Instant};

/// A frame of 60 bytes counts for 64: one every 10 ms.
const RATE: u64 = 64 * 8 * 100;
const INTERVAL_NS: u64 = 10_000_000;

/// Asks the traffic manager of the first device.
struct Client {
    runtime: tokio::runtime::Runtime,
    client: TrafficManagerClient<tonic::transport::Channel>,
}

impl Client {
    fn connect(switch: &Switch) -> Client {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let address = format!("http://{}", switch.address);
        let client = runtime
            .block_on(TrafficManagerClient::connect(address))
            .unwrap();
        Client { runtime, client }
    }

    /// Port 2 sends at a rate, bit/s, a frame at a time.
    fn shape(&mut self, rate: u64) {
        let port = tm::PortConfig {
            port: 2,
            rate,
            ..Default::default()
        };
        let request = tm::ConfigureRequest {
            ports: vec![port],
            ..Default::default()
        };
        self.runtime
            .block_on(self.client.configure(request))
            .unwrap();
    }

    fn lateness(&mut self) -> tm::GetLatenessResponse {
        let request = tm::GetLatenessRequest { device_id: 0 };
        let answer = self.runtime.block_on(self.client.get_lateness(request));
        answer.unwrap().into_inner()
    }

    /// The device's time, and what waits for port 2.
    fn queued(&mut self) -> (u64, u64) {
        let request = tm::GetRequest { device_id: 0 };
        let answer = self.runtime.block_on(self.client.get(request)).unwrap();
        let answer = answer.into_inner();
        let port = answer
            .ports
            .iter()
            .find(|port| port.config.as_ref().is_some_and(|config| config.port == 2));
        let queued = port.and_then(|port| port.queued).unwrap_or_default();
        (answer.now_ns, queued.frames)
    }
}

fn switch(bound_ms: &str) -> Switch {
    let bound = ["--lateness-bound-ms", bound_ms];
    let ports = ["-i", "1@s1", "-i", "2@s2", WIRE];
    Switch::start(&[&bound[..], &ports[..]].concat())
}

/// Queues frames for port 2 and stops the switch while they leave, for so long.
/// Returns what it says of its lateness, and how many frames left meanwhile beyond
/// what the rate allows.
fn stopped_for(switch: &Switch, ns: u64) -> (tm::GetLatenessResponse, i64) {
    let (h1, h2) = (Host::open("h1"), Host::open("h2"));
    let mut client = Client::connect(switch);
    client.shape(RATE);
    until("the queue", || {
        (0..20).for_each(|number| assert!(h1.send(&frame(0, number))));
        client.queued().1 > 150
    });
    let (before, waiting) = client.queued();
    switch.signal(libc::SIGSTOP);
    let stopped = Instant::now();
    until("so much time", || stopped.elapsed().as_nanos() as u64 > ns);
    // Frames that left before the stop do not tell that the switch is awake again.
    while h2.receive(0).is_some() {}
    switch.signal(libc::SIGCONT);
    until("a frame", || h2.receive(0).is_some());
    let (after, left) = client.queued();
    let sent = waiting - left;
    let allowed = (after - before).div_ceil(INTERVAL_NS) + 1;
    (client.lateness(), sent as i64 - allowed as i64)
}

#[test]
fn a_stop_within_the_bound_costs_no_rate() {
    with_links(|| {
        let switch = switch("1000");
        let (before, waiting) = {
            let (lateness, beyond) = stopped_for(&switch, 100_000_000);
            assert_eq!((lateness.jumps, lateness.jumped_ns), (0, 0));
            assert!(lateness.most_ns > 50_000_000, "{}", lateness.most_ns);
            assert!(beyond <= 0, "{beyond} frames more than the rate allows");
            Client::connect(&switch).queued()
        };
        // What it sends from here on is the schedule's: no frame was lost to the stop.
        let mut client = Client::connect(&switch);
        until("ten more", || client.queued().1 + 10 <= waiting);
        let (after, left) = client.queued();
        let expected = (after - before) / INTERVAL_NS;
        assert!((waiting - left).abs_diff(expected) <= 1);
        assert_eq!(switch.ctl_json(&["lateness"])["devices"][0]["valid"], true);
        switch.stop();
    });
}

#[test]
fn a_stop_beyond_the_bound_makes_time_jump_and_the_run_invalid() {
    with_links(|| {
        let switch = switch("20");
        let (lateness, beyond) = stopped_for(&switch, 300_000_000);
        assert!(lateness.jumps > 0);
        assert_eq!(lateness.bound_ns, 20_000_000);
        // It stood for 300 ms, of which the bound is made up for.
        assert!(lateness.jumped_ns > 200_000_000, "{}", lateness.jumped_ns);
        // Some 25 frames' time went by for which nothing was earned.
        assert!(beyond < -20, "{beyond}");
        let said = switch.ctl(&["lateness"]);
        assert!(said.contains("not valid"), "{said}");
        assert_eq!(switch.ctl_json(&["lateness"])["devices"][0]["valid"], false);
        switch.stop();
    });
}

/// Stops a switch until it has stood for so long and `meanwhile` has been done.
fn stopped_while(switch: &Switch, ns: u64, meanwhile: impl FnOnce()) {
    switch.signal(libc::SIGSTOP);
    // The signal is on its way until each thread has it: a busy machine takes its time.
    until("the switch stands", || switch.stands());
    let stopped = Instant::now();
    meanwhile();
    until("so much time", || stopped.elapsed().as_nanos() as u64 > ns);
    switch.signal(libc::SIGCONT);
}

/// Nothing else is due, so nothing but this one frame can show how late the switch was.
#[test]
fn one_frame_that_is_later_than_the_bound_makes_time_jump() {
    with_links(|| {
        let switch = switch("20");
        let (h1, h2) = (Host::open("h1"), Host::open("h2"));
        let mut client = Client::connect(&switch);
        // Two of these are in the port's bucket of 1522 bytes, and the third waits for 2 s.
        let mut long = frame(0, 0);
        long.resize(761 - 4, 0);
        client.shape(761 * 8 / 2);
        (0..3).for_each(|_| assert!(h1.send(&long)));
        (0..2).for_each(|_| until("a frame", || h2.receive(0).is_some()));
        until("a frame that waits", || client.queued().1 == 1);
        // A busy machine may have made the switch late before.
        let before = client.lateness().jumped_ns;
        stopped_while(&switch, 2_500_000_000, || {});
        until("the frame that waited", || h2.receive(0).is_some());
        let jumped = client.lateness().jumped_ns - before;
        assert!(jumped > 400_000_000, "{jumped}");
        switch.stop();
    });
}

/// What the kernel drops while nobody receives is counted by the time that anybody asks, also
/// where the device's thread sleeps again by then.
#[test]
fn frames_that_the_kernel_drops_are_counted() {
    /// More than a socket's buffer of 64 MB holds, at some 500 bytes of kernel memory each.
    const FRAMES: u64 = 200_000;
    with_links(|| {
        let switch = switch("20");
        let (h1, h2) = (Host::open("h1"), Host::open("h2"));
        stopped_while(&switch, 0, || {
            (0..FRAMES).for_each(|_| assert!(h1.send(&frame(0, 0))));
        });
        assert!(h2.receive(20_000).is_some());
        // Until nothing has come for a while: nobody has asked the switch before.
        while h2.receive(1_000).is_some() {}
        let port = switch.port(1);
        let missed = port["counters"]["missed"]["frames"].as_u64().unwrap();
        let received = port["counters"]["received"]["frames"].as_u64().unwrap();
        assert_eq!(missed + received, FRAMES);
        assert!(missed > 0);
        switch.stop();
    });
}

/// When each frame of a capture came or left, nanoseconds, in the order of the file.
fn captured(path: &Path) -> Vec<u64> {
    let file = std::fs::read(path).unwrap();
    let (_, records) = pcap::records(&file).unwrap();
    records.into_iter().map(|(time, _)| time).collect()
}

/// Frames of one port wait in its socket while others are due at the other port: however
/// many they are, each comes at the time at which the kernel received it.
#[test]
fn frames_that_waited_come_at_the_time_at_which_they_were_received() {
    const WAITING: usize = 800;
    const APART: Duration = Duration::from_micros(30);
    /// Well below the bound, which a busy machine may need longer than to send them all.
    const RECENT: Duration = Duration::from_millis(500);
    with_links(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("waited");
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        let dir = folder.to_str().unwrap();
        let options = ["--lateness-bound-ms", "1000", "--pcap", dir];
        let ports = ["-i", "1@s1", "-i", "2@s2", WIRE];
        let switch = Switch::start(&[&options[..], &ports[..]].concat());
        let (h1, h2) = (Host::open("h1"), Host::open("h2"));
        h1.enlarge_receive_buffer();
        let mut client = Client::connect(&switch);
        // A frame leaves port 2 every millisecond, all the time that the switch stands.
        client.shape(64 * 8 * 1_000);
        until("the queue", || {
            (0..100).for_each(|_| assert!(h1.send(&frame(0, 0))));
            client.queued().1 > 1_000
        });
        let mut sent = Vec::with_capacity(WAITING);
        stopped_while(&switch, 0, || {
            for number in 0..WAITING {
                assert!(h2.send(&frame(0, number as u8)));
                sent.push(Instant::now());
                while sent[number].elapsed() < APART {
                    std::hint::spin_loop();
                }
            }
        });
        let old = sent.iter().filter(|sent| sent.elapsed() > RECENT).count();
        for number in 0..WAITING {
            let received = h1.receive(5_000);
            let received = received.unwrap_or_else(|| panic!("frame {number} is lost"));
            assert_eq!(received[20], number as u8);
        }
        switch.stop();
        let times = captured(&folder.join("s2_in.pcap"));
        assert_eq!(times.len(), WAITING);
        let recent = times[old..].windows(2);
        let closest = recent.map(|pair| pair[1] - pair[0]).min();
        // One clock is told by another, which may be a little off.
        let least = APART.as_nanos() as u64 / 2;
        assert!(closest.is_none_or(|ns| ns > least), "{closest:?} ns apart");
        std::fs::remove_dir_all(folder).unwrap();
    });
}

/// More frames at once than the socket of a slow interface has room for: all arrive, in order.
#[test]
fn frames_wait_for_a_slow_interface() {
    /// The kernel's buffer, 64 MB, holds some 5,200 of them.
    const FRAMES: u32 = 6_500;
    with_links(|| {
        let tbf = "qdisc add dev s2 root tbf rate 300mbit burst 100000 limit 100000000";
        let tc = std::process::Command::new("tc")
            .args(tbf.split(' '))
            .status();
        if !tc.is_ok_and(|status| status.success()) {
            eprintln!("not tested: needs tc and a kernel with tbf");
            return;
        }
        for end in ["s1", "h1", "s2", "h2"] {
            ip(&format!("link set {end} mtu 9000"));
        }
        let switch = switch("1000");
        let (h1, h2) = (Host::open("h1"), Host::open("h2"));
        h2.enlarge_receive_buffer();
        let receiver = std::thread::spawn(move || {
            for number in 0..FRAMES {
                let received = h2.receive(5_000);
                let received = received.unwrap_or_else(|| panic!("frame {number} is lost"));
                assert_eq!(received[100..104], number.to_be_bytes());
            }
        });
        let mut sent = frame(0, 0);
        sent.resize(9014, 0);
        for number in 0..FRAMES {
            sent[100..104].copy_from_slice(&number.to_be_bytes());
            assert!(h1.send(&sent));
        }
        receiver.join().unwrap();
        assert_eq!(switch.port(2)["counters"]["send_failed"]["frames"], 0);
        switch.stop();
    });
}
