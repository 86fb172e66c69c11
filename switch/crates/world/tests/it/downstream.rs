// SPDX-License-Identifier: Apache-2.0
//! The downstream of a channel's CMTS: MAPs go before data and take their time of it, to the
//! nanosecond.

use crate::common::{MILLISECOND, SECOND};
use crate::plant::{CHANNEL, CMTS, SERVER, computer, downstream_to, plant};
use device::{Configuration, Framing, PortConfig, ServiceFlowConfig};
use world::mac_wire::Profile;
use world::{Flow, MapTraffic, UdpStreamOptions, World};

const RATE: u64 = 30_340_000;
const FRAME: usize = 1518;
const FRAMES: usize = 1000;
/// The server sends all at that time, when the port has saved up again what the MAP before took.
const BEGIN: u64 = 101 * MILLISECOND;

/// When each frame of a long download comes to the computer, ns.
fn download(maps: Option<MapTraffic>, framing: Framing) -> (World, Vec<u64>) {
    let profile = Profile::docsis_1_1_004(2 * MILLISECOND).unwrap();
    let mut world = plant(1, profile, 1, ServiceFlowConfig::default());
    downstream_to(&mut world, 0);
    let port = PortConfig {
        port: 1,
        rate: RATE,
        framing,
        ..PortConfig::default()
    };
    let request = Configuration {
        ports: vec![port],
        ..Configuration::default()
    };
    world
        .with_device(CMTS, |device, now| device.configure(now, &request).unwrap())
        .unwrap();
    world.meter(CMTS, 1, 10 * MILLISECOND).unwrap();
    let twice = world.meter(CMTS, 1, SECOND).unwrap_err().to_string();
    assert!(twice.contains("already"), "{twice}");
    assert!(world.metered(CMTS, 2).is_err());
    if let Some(maps) = maps {
        world.set_map_traffic(CHANNEL, maps).unwrap();
    }
    let destination = computer(0);
    let flow = Flow {
        source: SERVER,
        destination: &destination,
        port: 9,
        one_in: 1,
        ..Flow::default()
    };
    let stream = UdpStreamOptions {
        times: world::Times::default(),
        frame_length: FRAME,
        interval: 0,
        train: 1,
        on_off: (0, 0),
        at: Some(vec![BEGIN; FRAMES]),
    };
    let stream = world.add_udp_stream(&flow, stream).unwrap();
    world.run_until(2 * SECOND).unwrap();
    let [_, received] = world.packet_records(stream).unwrap();
    let received = received
        .iter()
        .map(|&at| u64::try_from(at).unwrap())
        .collect();
    (world, received)
}

/// Time of so many bytes at the channel's rate, rounded up.
fn time_of(bytes: u64) -> u64 {
    (bytes * 8_000_000_000).div_ceil(RATE)
}

#[test]
fn maps_take_their_time_of_the_downstream() {
    let (_, without) = download(None, Framing::default());
    let longest = FRAMES as u64 * FRAME as u64;
    // The bucket has 1,522 bytes: the first frame goes at once.
    let at = |bytes: u64| BEGIN + time_of(bytes.saturating_sub(1522));
    assert_eq!(without[0], BEGIN);
    assert_eq!(without[FRAMES - 1], at(longest));

    // No element: each costs the same. A MAP is made at each multiple of 2 ms.
    let maps = MapTraffic {
        message: 1000,
        element: 0,
    };
    let (_, with) = download(Some(maps), Framing::default());
    let mut line = 0;
    for (number, &arrived) in with.iter().enumerate() {
        line += FRAME as u64;
        // Those that came while the frames before it were on the line.
        let before = |end: u64| (end / (2 * MILLISECOND) - BEGIN / (2 * MILLISECOND)) * 1000;
        let mut end = at(line);
        while end != at(line + before(end)) {
            end = at(line + before(end));
        }
        assert_eq!(arrived, end, "frame {number}");
    }
    let maps = (with[FRAMES - 1] - BEGIN) / (2 * MILLISECOND);
    assert!(maps > 200 && with[FRAMES - 1] - without[FRAMES - 1] >= time_of(maps * 1000));
}

/// 46 bytes and 4 for each element, and DOCSIS's MAC header and 188-byte packets around it.
#[test]
fn a_map_of_paper_004_takes_what_its_elements_say() {
    let framing = Framing {
        packet: 188,
        header: 4,
        frame_header: 6,
        own_packets: true,
    };
    let maps = MapTraffic {
        message: 46,
        element: 4,
    };
    let (_, without) = download(None, framing);
    let (world, with) = download(Some(maps), framing);
    // An idle MAP fits one packet. A frame takes nine, the bucket's depth is below that: what it
    // earns in the last nanosecond is lost.
    let frames = FRAMES as u64 - 1;
    assert_eq!(without[FRAMES - 1], BEGIN + frames * time_of(9 * 188));
    let taken = with[FRAMES - 1] - without[FRAMES - 1];
    let maps = with[FRAMES - 1] / (2 * MILLISECOND) - BEGIN / (2 * MILLISECOND);
    let (least, most) = (time_of(maps * 188) - maps, time_of(maps * 188) + frames);
    assert!(
        (least..=most).contains(&taken),
        "{taken} is not of {maps} MAPs"
    );
    // What the line carried, MAPs of two seconds and frames, whole packets.
    let line = world.device(CMTS).unwrap().line_bytes(1).unwrap();
    let packets = FRAMES as u64 * 9 + 2 * SECOND / (2 * MILLISECOND);
    assert!(
        line.is_multiple_of(188) && (line / 188).abs_diff(packets) <= 2,
        "{line}"
    );
    let [times, bytes] = world.metered(CMTS, 1).unwrap();
    assert_eq!(times.len(), 200);
    assert!(
        times
            .windows(2)
            .all(|two| two[1] - two[0] == 10 * MILLISECOND as i64)
    );
    assert!(bytes.windows(2).all(|two| two[0] <= two[1]));
    assert_eq!(bytes[199], i64::try_from(line).unwrap());
    // A full line carries its rate, but for what earned in a last nanosecond is lost.
    let full = (bytes[40] - bytes[20]) as u64;
    assert!((full * 8 * 5).abs_diff(RATE) < RATE / 500, "{full}");
}
