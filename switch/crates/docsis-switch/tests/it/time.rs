// SPDX-License-Identifier: Apache-2.0
//! Time of a switch whose thread the kernel does not run when it is to: it stops whole
//! for a while, as a machine does that is busy elsewhere.

use crate::common::{Host, Switch, WIRE, frame, ip, until, with_links};
use p4runtime::proto::docsis::tm::v1 as tm;
use p4runtime::proto::docsis::tm::v1::traffic_manager_client::TrafficManagerClient;

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

    /// Port 2 sends at [`RATE`], a frame at a time.
    fn shape(&mut self) {
        let port = tm::PortConfig {
            port: 2,
            rate: RATE,
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
    client.shape();
    for number in 0..200 {
        assert!(h1.send(&frame(0, number)));
    }
    until("the queue", || client.queued().1 > 150);
    let (before, waiting) = client.queued();
    switch.signal(libc::SIGSTOP);
    let stopped = std::time::Instant::now();
    until("so much time", || stopped.elapsed().as_nanos() as u64 > ns);
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
