// SPDX-License-Identifier: Apache-2.0
//! What the traffic manager says of grants, by the names of metadata fields.

use crate::common::pipeline;
use v1model::trace::{TraceEvent, TraceSink};
use v1model::*;

/// A packet that is traced runs other instructions.
struct Unheard;

impl TraceSink for Unheard {
    fn begin(&mut self, _now_ns: u64, _port: u16, _frame: &[u8]) -> Option<u64> {
        Some(1)
    }

    fn copy(&mut self, of: u64) -> u64 {
        of
    }

    fn event(&mut self, _packet: u64, _now_ns: u64, _event: &TraceEvent<'_>) {}
}

const PAYLOAD: &[u8] = &[0xaa, 0xbb];

/// What egress reports of a packet.
fn report(p: &mut Pipeline, packet: &mut Packet, grants: Option<Grants>) -> (u8, u32, u32, u16) {
    let metadata = EgressMetadata {
        port: 2,
        grants,
        ..EgressMetadata::default()
    };
    let mut out = Vec::new();
    let fate = p.egress(0, &metadata, packet, &mut out).fate;
    assert_eq!(fate, EgressFate::Send);
    let (report, payload) = out.split_at(11);
    assert_eq!(payload, PAYLOAD);
    let word = |at: usize| u32::from_be_bytes(report[at..at + 4].try_into().unwrap());
    let met = u16::from_be_bytes(report[9..].try_into().unwrap());
    (report[0], word(1), word(5), met)
}

fn arrived(p: &mut Pipeline) -> Packet {
    let mut packet = Packet::new();
    let fate = p.ingress(0, 1, PAYLOAD, &mut packet).fate;
    assert_eq!(fate, Fate::Unicast { port: 2 });
    packet
}

#[test]
fn egress_reads_what_a_packet_was_granted_and_no_other_packet_does() {
    let mut p = pipeline("grants.json");
    let grants = Grants {
        granted_bytes: u32::MAX,
        acked_req_bytes: 0x8000_0001,
        requests_met: 0x1_0002,
    };
    for traced in [false, true] {
        p.set_trace(traced.then(|| Box::new(Unheard) as Box<dyn TraceSink + Send>));
        let (mut first, mut second) = (arrived(&mut p), arrived(&mut p));
        let said = (1, u32::MAX, 0x8000_0001, 2);
        assert_eq!(report(&mut p, &mut first, Some(grants)), said, "{traced}");
        assert_eq!(report(&mut p, &mut second, None), (0, 0, 0, 0));
        let mut third = arrived(&mut p);
        let nothing = Some(Grants::default());
        assert_eq!(report(&mut p, &mut third, nothing), (1, 0, 0, 0));
        let mut fourth = arrived(&mut p);
        assert_eq!(report(&mut p, &mut fourth, None), (0, 0, 0, 0));
    }
}

#[test]
fn programs_without_the_fields_run_as_they_did() {
    let mut p = pipeline("features.json");
    let mut packet = Packet::new();
    p.ingress(0, 1, &[0x05, 0x60, 0], &mut packet);
    let mut copy = Packet::new();
    copy.copy_from(&packet);
    let egress = |p: &mut Pipeline, packet: &mut Packet, grants| {
        let metadata = EgressMetadata {
            port: 2,
            grants,
            ..EgressMetadata::default()
        };
        let mut out = Vec::new();
        let fate = p.egress(0, &metadata, packet, &mut out).fate;
        (fate, out)
    };
    let granted = egress(&mut p, &mut packet, Some(Grants::default()));
    assert_eq!(granted, egress(&mut p, &mut copy, None));
}
