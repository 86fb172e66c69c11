// SPDX-License-Identifier: Apache-2.0
// Feature: control flow. hit and miss, switch on the action, exit from a
// table's action, return from an action and from a control.
#include <core.p4>
#include <v1model.p4>

header probe_t { bit<8> key; bit<8> trace; }
struct headers_t { probe_t probe; }
struct metadata_t { }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start { packet.extract(hdr.probe); transition accept; }
}
control V(inout headers_t hdr, inout metadata_t meta) { apply { } }
control C(inout headers_t hdr, inout metadata_t meta) { apply { } }

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    action first(bit<8> limit) {
        hdr.probe.trace = hdr.probe.trace | 0x01;
        if (limit < 5) { return; }
        hdr.probe.trace = hdr.probe.trace | 0x02;
    }
    action second() { hdr.probe.trace = hdr.probe.trace | 0x04; }
    action leave() { hdr.probe.trace = hdr.probe.trace | 0x08; exit; }
    table choose {
        key = { hdr.probe.key: exact; }
        actions = { first; second; leave; NoAction; }
        default_action = NoAction();
    }
    apply {
        sm.egress_spec = 1;
        if (hdr.probe.key == 0xff) { return; }
        switch (choose.apply().action_run) {
            first: { hdr.probe.trace = hdr.probe.trace | 0x10; }
            second:
            leave: { hdr.probe.trace = hdr.probe.trace | 0x20; }
            default: { hdr.probe.trace = hdr.probe.trace | 0x40; }
        }
        hdr.probe.trace = hdr.probe.trace | 0x80;
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    table known {
        key = { hdr.probe.key: exact; }
        actions = { NoAction; }
        const default_action = NoAction();
        const entries = { 1: NoAction(); }
    }
    apply {
        // exit in ingress does not keep egress from running.
        if (known.apply().hit) { hdr.probe.key = 0xaa; } else { hdr.probe.key = 0xbb; }
    }
}
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.probe); } }

V1Switch(P(), V(), I(), E(), C(), D()) main;
