// SPDX-License-Identifier: Apache-2.0
// Feature: match kinds. One table each for exact, lpm, ternary, range and
// optional keys, one with const entries that mix kinds; each writes its mark.
#include <core.p4>
#include <v1model.p4>

header probe_t { bit<8> which; bit<16> key; bit<8> second; bit<8> mark; }
struct headers_t { probe_t probe; }
struct metadata_t { }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start { packet.extract(hdr.probe); transition accept; }
}
control V(inout headers_t hdr, inout metadata_t meta) { apply { } }
control C(inout headers_t hdr, inout metadata_t meta) { apply { } }

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    action mark(bit<8> value) { hdr.probe.mark = value; }
    action missed() { hdr.probe.mark = 0xee; }

    table exact_table {
        key = { hdr.probe.key: exact; hdr.probe.second: exact; }
        actions = { mark; missed; }
        default_action = missed();
    }
    table lpm_table {
        key = { hdr.probe.key: lpm; }
        actions = { mark; missed; }
        default_action = missed();
    }
    table ternary_table {
        key = { hdr.probe.key: ternary; hdr.probe.second: ternary; }
        actions = { mark; missed; }
        default_action = missed();
    }
    table range_table {
        key = { hdr.probe.key: range; hdr.probe.second: exact; }
        actions = { mark; missed; }
        default_action = missed();
    }
    table optional_table {
        key = { hdr.probe.key: optional; hdr.probe.second: optional; }
        actions = { mark; missed; }
        default_action = missed();
    }
    table const_table {
        key = { hdr.probe.key: ternary; hdr.probe.second: range; hdr.probe.isValid(): exact; }
        actions = { mark; missed; }
        const default_action = missed();
        const entries = {
            (0x0100 &&& 0xff00, 0..9, true): mark(1);
            (0x0100 &&& 0xff00, _, true): mark(2);
            (_, 200..255, true): mark(3);
        }
    }

    apply {
        sm.egress_spec = 1;
        if (hdr.probe.which == 0) { exact_table.apply(); }
        else if (hdr.probe.which == 1) { lpm_table.apply(); }
        else if (hdr.probe.which == 2) { ternary_table.apply(); }
        else if (hdr.probe.which == 3) { range_table.apply(); }
        else if (hdr.probe.which == 4) { optional_table.apply(); }
        else { const_table.apply(); }
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) { apply { } }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.probe); } }

V1Switch(P(), V(), I(), E(), C(), D()) main;
