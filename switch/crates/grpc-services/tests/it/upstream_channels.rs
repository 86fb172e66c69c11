// SPDX-License-Identifier: Apache-2.0
//! docsis.mac.v1 over gRPC: what is configured, and what is refused with which status.

use device::events::Event;
use device::{Device, DeviceConfig, Output};
use grpc_services::proto::docsis::mac::v1 as mac;
use grpc_services::proto::docsis::mac::v1::upstream_channels_client::UpstreamChannelsClient;
use grpc_services::{Server, ServerOptions};
use plant::{End, Node, Plant, PlantHandle, PlantRequests};
use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use tonic::Code;
use tonic::transport::Channel;

/// Where frames go that nobody looks at.
struct Nowhere;

impl Output for Nowhere {
    fn transmit(&mut self, _now: u64, _port: u16, _frame: &[u8], _paced: bool) {}

    fn packet_in(&mut self, _now: u64, _frame: &[u8]) -> bool {
        true
    }

    fn event(&mut self, _now: u64, _event: Event) -> bool {
        true
    }
}

struct Station(Device, Nowhere);

impl Node for Station {
    type Out = Nowhere;

    fn device(&self) -> &Device {
        &self.0
    }

    fn device_mut(&mut self) -> &mut Device {
        &mut self.0
    }

    fn parts(&mut self) -> (&mut Device, &mut Nowhere) {
        (&mut self.0, &mut self.1)
    }
}

fn station(device_id: u64) -> Station {
    let mut device = Device::new(DeviceConfig {
        device_id,
        ..DeviceConfig::default()
    });
    device.add_port(1);
    device.add_port(2);
    Station(device, Nowhere)
}

type Running = (Plant, Vec<Station>, PlantRequests);

/// Devices 7 and 8, whose ports 1 an RF link joins; requests are run by whoever asks.
fn plant() -> PlantHandle {
    plant_by(Arc::new(AtomicU64::new(5)))
}

/// The same, with a clock of the test's.
fn plant_by(clock: Arc<AtomicU64>) -> PlantHandle {
    let running: Arc<OnceLock<Mutex<Running>>> = Arc::default();
    let there = Arc::clone(&running);
    let (handle, requests) = PlantHandle::new([7, 8], move || {
        let (plant, nodes, requests) = &mut *there.get().unwrap().lock().unwrap();
        let now = clock.load(Ordering::Relaxed);
        plant.run(nodes, now);
        while requests.run_one(plant, nodes, now) {}
    });
    let ends = [0, 1].map(|node| End { node, port: 1 });
    let plant = Plant::new(&[ends], 1).unwrap();
    let nodes = vec![station(7), station(8)];
    assert!(running.set(Mutex::new((plant, nodes, requests))).is_ok());
    handle
}

async fn served(plant: Option<PlantHandle>) -> UpstreamChannelsClient<Channel> {
    let options = ServerOptions {
        plant,
        ..ServerOptions::default()
    };
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let server = Server::bind_with(any.into(), Vec::new(), &options)
        .await
        .unwrap();
    let address = server.local_address().clone();
    tokio::spawn(server.serve(std::future::pending()));
    let client = UpstreamChannelsClient::connect(format!("http://{address}"));
    client.await.unwrap()
}

fn setting(value: mac::setting::Value) -> mac::Setting {
    mac::Setting { value: Some(value) }
}

/// A channel with a call and a best-effort flow.
fn request() -> mac::ConfigureRequest {
    let flow = |sid, kind: &str, settings: &[(&str, u64)]| mac::ServiceFlow {
        channel: "us1".into(),
        device_id: 7,
        port: 1,
        queue_id: sid,
        sid,
        scheduling_type: kind.into(),
        settings: settings
            .iter()
            .map(|(key, value)| ((*key).into(), *value))
            .collect(),
    };
    let call = [
        ("grant_interval_ns", 20_000_000),
        ("grant_jitter_ns", 1_000_000),
        ("grant_size", 242),
    ];
    let settings = [
        ("map_frames", setting(mac::setting::Value::Number(7))),
        ("piggyback", setting(mac::setting::Value::Flag(true))),
        (
            "contention_place",
            setting(mac::setting::Value::Word("head".into())),
        ),
        ("capacity", setting(mac::setting::Value::Absent(true))),
    ];
    mac::ConfigureRequest {
        channels: vec![mac::Channel {
            name: "us1".into(),
            number: 1,
            profile: "docsis-3.1".into(),
            settings: settings
                .into_iter()
                .map(|(key, value)| (key.into(), value))
                .collect(),
            map_traffic: Some(mac::MapTraffic {
                message: 46,
                element: 4,
            }),
        }],
        granted_ports: vec![mac::GrantedPort {
            device_id: 7,
            port: 1,
            primary_queue_id: 1,
        }],
        service_flows: vec![
            flow(1, "best-effort", &[("max_sustained_rate", 20_000_000)]),
            flow(2, "ugs", &call),
        ],
        removed: Vec::new(),
        complete: true,
        capacities: Vec::new(),
    }
}

fn of_flow(change: impl FnOnce(&mut mac::ServiceFlow)) -> mac::ConfigureRequest {
    let mut request = request();
    change(&mut request.service_flows[1]);
    request
}

fn of_channel(change: impl FnOnce(&mut mac::Channel)) -> mac::ConfigureRequest {
    let mut request = request();
    change(&mut request.channels[0]);
    request
}

/// A call that takes more than others leave.
fn congested(rate: u64, variation_percent: u32) -> mac::ConfigureRequest {
    let mut request = of_flow(|flow| {
        flow.settings.insert("grant_size".into(), 5_000);
    });
    request.capacities = vec![mac::ChannelCapacity {
        channel: "us1".into(),
        rate,
        variation_percent,
    }];
    request
}

/// Packets wait while MAPs are copied, so nobody gets all that are kept.
#[tokio::test]
async fn an_answer_has_a_few_maps_however_many_are_asked_for() {
    let clock = Arc::new(AtomicU64::new(5));
    let mut client = served(Some(plant_by(Arc::clone(&clock)))).await;
    client.configure(request()).await.unwrap();
    clock.store(1_000_000_000, Ordering::Relaxed);
    for (asked, told) in [(0, 0), (5, 5), (u32::MAX, 16)] {
        let answer = client.get(mac::GetRequest { maps: asked }).await.unwrap();
        let channel = &answer.get_ref().channels[0];
        assert!(channel.counters.as_ref().unwrap().maps > 100);
        assert_eq!(channel.maps.len(), told);
    }
}

#[tokio::test]
async fn a_request_is_carried_out_again_and_again() {
    let mut client = served(Some(plant())).await;
    for _ in 0..3 {
        client.configure(request()).await.unwrap();
    }
    let removed = mac::ConfigureRequest {
        removed: vec![mac::RemovedServiceFlow {
            channel: "us1".into(),
            sid: 2,
        }],
        ..mac::ConfigureRequest::default()
    };
    client.configure(removed.clone()).await.unwrap();
    let answer = client.get(mac::GetRequest { maps: 5 }).await.unwrap();
    let [channel] = &answer.get_ref().channels[..] else {
        panic!("{answer:?}");
    };
    assert_eq!((channel.name.as_str(), channel.number), ("us1", 1));
    assert_eq!(channel.profile, "docsis-3.1");
    let [flow] = &channel.flows[..] else {
        panic!("{channel:?}");
    };
    assert_eq!(
        (flow.device_id, flow.port, flow.queue_id, flow.sid),
        (7, 1, 1, 1)
    );
    assert_eq!(channel.maps_late.as_ref().unwrap().count, 0);
    let refused = client.configure(removed).await.unwrap_err();
    assert_eq!(refused.code(), Code::NotFound);
    assert_eq!(refused.message(), "channel \"us1\" has no SID 2");
}

#[tokio::test]
async fn a_switch_without_an_rf_link_says_so() {
    let refused = served(None).await.configure(request()).await.unwrap_err();
    assert_eq!(refused.code(), Code::FailedPrecondition);
    assert!(refused.message().contains("--rf-link"), "{refused}");
}

#[tokio::test]
async fn what_cannot_be_is_refused_by_name() {
    let long = "x".repeat(65);
    let many: HashMap<String, u64> = (0..65).map(|key| (key.to_string(), 1)).collect();
    let mut crowd = request();
    crowd.service_flows = vec![crowd.service_flows[0].clone(); 4097];
    let absent = mac::Setting { value: None };
    let cases = [
        (
            of_flow(|flow| flow.sid = 0),
            Code::InvalidArgument,
            "SID 0 is not one",
        ),
        (
            of_flow(|flow| flow.sid = 70_000),
            Code::InvalidArgument,
            "SID 70000 is not one",
        ),
        (
            of_flow(|flow| flow.port = 70_000),
            Code::InvalidArgument,
            "port 70000",
        ),
        (
            of_flow(|flow| flow.device_id = 9),
            Code::NotFound,
            "there is no device 9",
        ),
        (
            of_flow(|flow| flow.channel = "us2".into()),
            Code::NotFound,
            "there is no channel \"us2\"",
        ),
        (
            of_flow(|flow| flow.channel = long),
            Code::InvalidArgument,
            "channel has 65 bytes",
        ),
        (
            of_flow(|flow| flow.settings = many),
            Code::InvalidArgument,
            "there are 65 settings",
        ),
        (
            of_flow(|flow| flow.scheduling_type = "best".into()),
            Code::InvalidArgument,
            "channel \"us1\", SID 2: scheduling_type is \"best\"",
        ),
        (
            of_flow(|flow| {
                flow.settings.insert("grant_size".into(), 1_000_000);
            }),
            Code::FailedPrecondition,
            "channel \"us1\", SID 2: ",
        ),
        (
            of_channel(|one| one.map_traffic.as_mut().unwrap().element = 65_536),
            Code::InvalidArgument,
            "channel \"us1\" has MAPs of 46 bytes and 65536 for each",
        ),
        (
            of_channel(|one| one.number = 256),
            Code::InvalidArgument,
            "channel \"us1\" has number 256",
        ),
        (
            of_channel(|one| one.name.clear()),
            Code::InvalidArgument,
            "a channel has no name",
        ),
        (
            of_channel(|one| one.profile = "docsis-4.0".into()),
            Code::InvalidArgument,
            "channel \"us1\": there is no channel profile \"docsis-4.0\"",
        ),
        (
            of_channel(|one| {
                one.settings.insert("tries".into(), absent);
            }),
            Code::InvalidArgument,
            "the setting tries has no value",
        ),
        (
            of_channel(|one| {
                let zero = setting(mac::setting::Value::Number(0));
                one.settings.insert("map_minislots".into(), zero);
            }),
            Code::InvalidArgument,
            "channel \"us1\": map_minislots",
        ),
        (
            congested(1_000_000, 20),
            Code::FailedPrecondition,
            "channel \"us1\": ",
        ),
        (
            congested(1_000_000, 300),
            Code::InvalidArgument,
            "channel \"us1\": variation_percent",
        ),
        (
            crowd,
            Code::ResourceExhausted,
            "the request has 4097 service_flows",
        ),
    ];
    let mut client = served(Some(plant())).await;
    for (request, code, words) in cases {
        let refused = client.configure(request).await.unwrap_err();
        assert_eq!(refused.code(), code, "{refused}");
        assert!(refused.message().starts_with(words), "{refused}");
    }
    // Nothing was done of any of them: the port is not granted yet.
    let mut early = request();
    early.granted_ports.clear();
    let refused = client.configure(early).await.unwrap_err();
    assert!(refused.message().contains("grant it first"), "{refused}");
    client.configure(request()).await.unwrap();
}
