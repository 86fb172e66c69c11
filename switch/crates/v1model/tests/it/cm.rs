// SPDX-License-Identifier: Apache-2.0
//! The cable modem's program: frames pass unchanged, requests are answered,
//! malformed frames are dropped and counted.

use crate::common::{Reader, call, insert, pass, project, table};
use proptest::prelude::*;
use std::sync::{Arc, OnceLock};
use v1model::*;

const CPU_PORT: u16 = 255;
/// The port towards the cable; what comes from there is bridged to the CPE.
const RF_PORT: u16 = 1;
const CPE_PORT: u16 = 2;
const CPE_MAC: u128 = 0x0200_0000_0101;

/// A modem that bridges downstream frames for one CPE.
fn modem() -> Pipeline {
    static PROGRAM: OnceLock<Arc<Program>> = OnceLock::new();
    let program = PROGRAM.get_or_init(|| project("cm.json").program().clone());
    let mut p = Pipeline::new(program.clone(), 1);
    let key = |values: &[u128]| EntryKey {
        matches: values.iter().copied().map(Match::Exact).collect(),
        priority: 0,
    };
    let interface = table(&p, "interface");
    let provision = call(&p, interface, "provision", &[0, 0, 0]);
    insert(&mut p, interface, &key(&[u128::from(RF_PORT)]), &provision).unwrap();
    let station = table(&p, "station");
    let forward = call(&p, station, "forward", &[u128::from(CPE_PORT), 0, 0]);
    insert(&mut p, station, &key(&[0, CPE_MAC]), &forward).unwrap();
    p
}

fn count(p: &Pipeline, name: &str, index: usize) -> u64 {
    let id = p
        .program()
        .counter(name)
        .unwrap_or_else(|| panic!("no counter {name}"));
    p.counter(id, index).unwrap().packets
}

fn layer4(protocol: u8) -> BoxedStrategy<Vec<u8>> {
    let length = match protocol {
        6 => 20,
        17 => 8,
        _ => 4,
    };
    prop::collection::vec(any::<u8>(), length..length + 40).boxed()
}

fn ipv4() -> impl Strategy<Value = Vec<u8>> {
    let protocol = prop_oneof![Just(6u8), Just(17), Just(1), any::<u8>()];
    (protocol, 0usize..11, any::<[u8; 20]>()).prop_flat_map(|(protocol, options, fixed)| {
        let options = prop::collection::vec(any::<u8>(), 4 * options);
        (Just(protocol), Just(fixed), options, layer4(protocol)).prop_map(
            |(protocol, mut header, options, payload)| {
                header[0] = 0x40 | (5 + options.len() as u8 / 4);
                header[9] = protocol;
                [&header[..], &options[..], &payload[..]].concat()
            },
        )
    })
}

fn ipv6() -> impl Strategy<Value = Vec<u8>> {
    let next = prop_oneof![Just(6u8), Just(17), Just(58), any::<u8>()];
    (next, any::<[u8; 32]>(), any::<[u8; 8]>()).prop_flat_map(|(next, addresses, mut fixed)| {
        fixed[0] = 0x60 | (fixed[0] & 0x0f);
        fixed[6] = next;
        layer4(next).prop_map(move |payload| [&fixed[..], &addresses[..], &payload[..]].concat())
    })
}

/// Well-formed Ethernet frames for the CPE.
fn frame() -> impl Strategy<Value = Vec<u8>> {
    let inner = prop_oneof![
        ipv4().prop_map(|p| (0x0800u16, p)),
        ipv6().prop_map(|p| (0x86dd, p)),
        prop::collection::vec(any::<u8>(), 28..60).prop_map(|p| (0x0806, p)),
        prop::collection::vec(any::<u8>(), 0..1500).prop_map(|p| (0x88b5, p)),
    ];
    (inner, prop::option::of(any::<u16>()), any::<[u8; 6]>()).prop_map(
        |((ether_type, payload), vlan, source)| {
            let mut f = CPE_MAC.to_be_bytes()[10..].to_vec();
            f.extend(source);
            if let Some(tag) = vlan {
                f.extend(0x8100u16.to_be_bytes());
                f.extend(tag.to_be_bytes());
            }
            f.extend(ether_type.to_be_bytes());
            f.extend(payload);
            f
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn frames_leave_as_they_came(frame in frame()) {
        let mut p = modem();
        let (port, out) = pass(&mut p, RF_PORT, &frame).expect("forwarded");
        prop_assert_eq!(port, CPE_PORT);
        prop_assert_eq!(out, frame);
        prop_assert_eq!(count(&p, "sf_drop_malformed", 0), 0);
    }

    #[test]
    fn frames_leave_as_they_came_or_are_counted(frame in frame(), cut in any::<prop::sample::Index>()) {
        let mut p = modem();
        let cut = &frame[..cut.index(frame.len())];
        match pass(&mut p, RF_PORT, cut) {
            Some((_, out)) => prop_assert_eq!(out, cut),
            None => prop_assert_eq!(count(&p, "sf_drop_malformed", 0), 1),
        }
        prop_assert_eq!(count(&p, "port_received", usize::from(RF_PORT)), 1);
        prop_assert_eq!(p.out_of_range_accesses(), 0);
    }

    #[test]
    fn no_bytes_stop_the_switch(bytes in prop::collection::vec(any::<u8>(), 0..200), port in 0u16..512) {
        let mut p = modem();
        let mut packet = Packet::new();
        let mut out = Vec::new();
        if let Fate::Unicast { port } = p.ingress(5, port, &bytes, &mut packet).fate {
            let metadata = EgressMetadata { port, ..EgressMetadata::default() };
            p.egress(6, &metadata, &mut packet, &mut out);
        }
    }
}

#[test]
fn an_impossible_ipv4_header_length_is_malformed() {
    let mut p = modem();
    let mut frame = CPE_MAC.to_be_bytes()[10..].to_vec();
    frame.extend([2, 0, 0, 0, 0, 9, 0x08, 0x00, 0x44]);
    frame.resize(60, 0);
    assert_eq!(pass(&mut p, RF_PORT, &frame), None);
    assert_eq!(count(&p, "sf_drop_malformed", 0), 1);
}

/// What the traffic manager is told of a frame: BMv2's by priority, ours by queue.
#[test]
fn a_service_flow_has_a_queue_and_a_traffic_priority() {
    for (queue, priority) in [(7, 5), (300, 0), (8, 7)] {
        let mut p = modem();
        let mut provision = |name, key: &[u128], action: &str, args: &[u128]| {
            let id = table(&p, name);
            let action = call(&p, id, action, args);
            let matches = key.iter().copied().map(Match::Exact).collect();
            let key = EntryKey {
                matches,
                priority: 0,
            };
            insert(&mut p, id, &key, &action).unwrap();
        };
        let rf = u128::from(RF_PORT);
        provision(
            "interface",
            &[u128::from(CPE_PORT)],
            "provision",
            &[0, 1, 9],
        );
        provision("station", &[9, 1], "forward", &[rf, 1, 9]);
        provision("primary", &[9], "set_primary", &[4]);
        let args = [
            rf, queue, priority, 10_000, 1522, 0, 0, 0, 10_000, 0, 0xff, 0,
        ];
        provision("service_flow", &[4], "set_queue", &args);
        let mut frame = vec![0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 9, 0x88, 0xb5];
        frame.resize(60, 0);
        let mut packet = Packet::new();
        let fate = p.ingress(5, CPE_PORT, &frame, &mut packet).fate;
        assert_eq!(fate, Fate::Unicast { port: RF_PORT });
        assert_eq!(u128::from(p.queue_id(&packet)), queue);
        assert_eq!(u128::from(p.priority(&packet)), priority);
    }
}

/// A packet-out: op, port, request id, service flow and the rest of its header.
fn packet_out(op: u8, port: u16, request_id: u32, service_flow: u16, rest: &[u8]) -> Vec<u8> {
    let mut f = vec![op];
    f.extend(port.to_be_bytes());
    f.extend(request_id.to_be_bytes());
    f.extend(service_flow.to_be_bytes());
    f.extend(rest);
    f
}

#[test]
fn a_request_is_answered_with_the_state_and_the_clock() {
    let mut p = modem();
    let set = |p: &mut Pipeline, name: &str, value: u128| {
        let id = p.program().register(name).unwrap();
        p.set_register(id, Some(5), value).unwrap();
    };
    set(&mut p, "sf_enqueued_bytes", 1000);
    set(&mut p, "msr_tokens", 0x0123_4567_89ab_cdef);
    set(&mut p, "aqm_drop_prob", 77);
    // drop_prob, qdelay_old, burst_allowance, control_state, heartbeat, msr_tokens
    let rest = [0u8; 4 + 4 + 4 + 4 + 6 + 8];
    let request = packet_out(1, 0, 0xdead_beef, 5, &rest);
    let (port, reply) = pass(&mut p, CPU_PORT, &request).expect("a reply");
    assert_eq!(port, CPU_PORT);
    let mut r = Reader(&reply);
    assert_eq!(r.number(1), 1, "op");
    assert_eq!(r.number(2), u128::from(CPU_PORT), "ingress port");
    assert_eq!(r.number(4), 0xdead_beef, "request id");
    assert_eq!(r.number(2), 5, "service flow");
    assert_eq!(r.number(6), 1000, "timestamp in microseconds");
    assert_eq!(r.number(4), 1000, "enqueued bytes");
    assert_eq!(r.number(4), 0, "dequeued bytes");
    assert_eq!(r.number(8), 0x0123_4567_89ab_cdef, "tokens");
    r.number(6 + 4 + 4);
    assert_eq!(r.number(4), 77, "drop_prob");
}

#[test]
fn a_transmit_request_sends_the_frame_behind_it() {
    let mut p = modem();
    let frame = [&[2u8; 12][..], &[0x88, 0xb5, 1, 2, 3]].concat();
    let rest = [&[0u8; 30][..], &frame].concat();
    let request = packet_out(0, 3, 0, 0, &rest);
    assert_eq!(pass(&mut p, CPU_PORT, &request), Some((3, frame)));
}

/// Nothing that does not exist is asked for or written: the answer says so, and counts.
#[test]
fn a_request_for_what_is_not_there_is_refused() {
    const REFUSED: u128 = 255;
    for (op, service_flow) in [
        (4, 5),
        (77, 5),
        (254, 5),
        (255, 5),
        (1, 4096),
        (2, 4096),
        (3, 4096),
        (2, 0xffff),
    ] {
        let mut p = modem();
        let rest = [0xffu8; 4 + 4 + 4 + 4 + 6 + 8];
        let request = packet_out(op, 0, 0xdead_beef, service_flow, &rest);
        let (port, reply) = pass(&mut p, CPU_PORT, &request).expect("a reply");
        assert_eq!(port, CPU_PORT);
        let mut r = Reader(&reply);
        assert_eq!(r.number(1), REFUSED, "{op} of {service_flow}");
        assert_eq!(r.number(2), u128::from(CPU_PORT), "ingress port");
        assert_eq!(r.number(4), 0xdead_beef, "request id");
        assert_eq!(r.number(2), u128::from(service_flow));
        assert_eq!(r.number(6), 1000, "timestamp in microseconds");
        assert!(reply[15..].iter().all(|&byte| byte == 0), "no state");
        assert_eq!(p.out_of_range_accesses(), 0);
        let heartbeat = p.program().register("controller_heartbeat").unwrap();
        assert_eq!(p.register(heartbeat, 0).unwrap(), 0, "nothing was written");
        assert_eq!(count(&p, "sf_received", 0), 1);
        assert_eq!(count(&p, "sf_drop_malformed", 0), 1);
    }
    // The last of both are there.
    let mut p = modem();
    let request = packet_out(3, 0, 1, 4095, &[0u8; 30]);
    let (_, reply) = pass(&mut p, CPU_PORT, &request).expect("a reply");
    assert_eq!(reply[0], 3);
    assert_eq!(count(&p, "sf_drop_malformed", 0), 0);
}
