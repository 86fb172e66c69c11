// SPDX-License-Identifier: Apache-2.0
// Feature: counters. An indirect array, and a direct counter of a table.
#include <core.p4>
#include <v1model.p4>

header probe_t { bit<8> index; bit<8> key; }
struct headers_t { probe_t probe; }
struct metadata_t { }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start { packet.extract(hdr.probe); transition accept; }
}
control V(inout headers_t hdr, inout metadata_t meta) { apply { } }
control C(inout headers_t hdr, inout metadata_t meta) { apply { } }

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    counter(8, CounterType.packets_and_bytes) by_index;
    direct_counter(CounterType.packets_and_bytes) by_entry;
    action go(bit<9> port) { sm.egress_spec = port; }
    action stop() { mark_to_drop(sm); }
    table decide {
        key = { hdr.probe.key: exact; }
        actions = { go; stop; }
        default_action = stop();
        counters = by_entry;
    }
    apply {
        // Cell 8 and beyond are not there: nothing is counted.
        by_index.count((bit<32>)hdr.probe.index);
        decide.apply();
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) { apply { } }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.probe); } }

V1Switch(P(), V(), I(), E(), C(), D()) main;
