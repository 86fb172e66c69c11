// SPDX-License-Identifier: Apache-2.0
// Entries that P4 gives: const ones, and others that the control plane may change.
#include <core.p4>
#include <v1model.p4>

header request_t { bit<16> type; bit<8> kind; bit<8> port; bit<32> address; }
// What each table found.
header report_t { bit<8> exact; bit<8> prefix; bit<8> ordered; bit<8> annotated; bit<8> fixed; }
struct headers_t { report_t report; request_t request; }
struct metadata_t { }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start { packet.extract(hdr.request); transition accept; }
}
control NoChecksum(inout headers_t hdr, inout metadata_t meta) { apply { } }

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    direct_counter(CounterType.packets) found;

    action set_exact(bit<8> value) { hdr.report.exact = value; }
    action set_prefix(bit<8> value) { hdr.report.prefix = value; }
    action set_ordered(bit<8> value) { hdr.report.ordered = value; found.count(); }
    action set_annotated(bit<8> value) { hdr.report.annotated = value; }
    action set_fixed(bit<8> value) { hdr.report.fixed = value; }

    table exact_one {
        key = { hdr.request.type: exact; }
        actions = { set_exact; NoAction; }
        default_action = NoAction();
        entries = {
            0x0800: set_exact(1);
            0x0806: set_exact(2);
        }
        size = 4;
    }

    table prefix {
        key = { hdr.request.address: lpm; }
        actions = { set_prefix; NoAction; }
        default_action = NoAction();
        entries = {
            0x0a000000 &&& 0xff000000: set_prefix(1);
            0x0a010000 &&& 0xffff0000: set_prefix(2);
        }
        size = 16;
    }

    // The first that matches: the entries' priorities are 3, 2 and 1.
    table ordered {
        key = {
            hdr.request.type: ternary;
            hdr.request.kind: optional;
            hdr.request.port: range;
        }
        actions = { set_ordered; NoAction; }
        default_action = NoAction();
        counters = found;
        entries = {
            (0x0800, 6, 10 .. 20): set_ordered(1);
            (0x0800 &&& 0xff00, _, 10 .. 30): set_ordered(2);
            (_, 17, _): set_ordered(3);
        }
        size = 8;
    }

    // As BMv2's annotation has it, the lowest number wins.
    table annotated {
        key = { hdr.request.type: ternary; }
        actions = { set_annotated; NoAction; }
        default_action = NoAction();
        entries = {
            0x0800 &&& 0xff00: set_annotated(1) @priority(30);
            0x0806: set_annotated(2) @priority(10);
            0x0806 &&& 0xff0f: set_annotated(3) @priority(20);
        }
        size = 8;
    }

    table fixed {
        key = { hdr.request.type: ternary; }
        actions = { set_fixed; NoAction; }
        default_action = NoAction();
        const entries = {
            0x0800: set_fixed(1);
            0x0800 &&& 0xff00: set_fixed(2);
        }
        size = 8;
    }

    apply {
        sm.egress_spec = 1;
        hdr.report.setValid();
        exact_one.apply();
        prefix.apply();
        ordered.apply();
        annotated.apply();
        fixed.apply();
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) { apply { } }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr); } }

V1Switch(P(), NoChecksum(), I(), E(), NoChecksum(), D()) main;
