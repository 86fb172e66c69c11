// SPDX-License-Identifier: Apache-2.0
// Action profiles and selectors: a table with members only, and two tables
// that share a selector, which hashes the flow field of the frame.
#include <core.p4>
#include <v1model.p4>

header key_t { bit<8> host; bit<8> net; bit<16> flow; }
header found_t { bit<16> host; bit<16> net; bit<16> wide; bit<8> chosen; }
struct headers_t { key_t key; found_t found; }
struct metadata_t { }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start { packet.extract(hdr.key); transition accept; }
}
control NoChecksum(inout headers_t hdr, inout metadata_t meta) { apply { } }

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    action_profile(4) host_profile;
    action_selector(HashAlgorithm.crc16, 64, 16) paths;

    action set_host(bit<16> value) { hdr.found.host = value; }
    action set_net(bit<16> value, bit<16> wide) { hdr.found.net = value; hdr.found.wide = wide; }
    action discard() { mark_to_drop(sm); }

    table host {
        key = { hdr.key.host: exact; }
        actions = { set_host; discard; NoAction; }
        implementation = host_profile;
        size = 16;
    }
    table net {
        key = { hdr.key.net: exact; hdr.key.flow: selector; }
        actions = { set_net; discard; NoAction; }
        implementation = paths;
        size = 16;
    }
    // The same selector by another key.
    table net_by_mask {
        key = { hdr.key.net: ternary; hdr.key.flow: selector; }
        actions = { set_net; discard; NoAction; }
        implementation = paths;
        size = 16;
    }

    apply {
        sm.egress_spec = 1;
        hdr.found.setValid();
        if (host.apply().hit) { hdr.found.chosen = hdr.found.chosen | 1; }
        switch (net.apply().action_run) {
            set_net: { hdr.found.chosen = hdr.found.chosen | 2; }
            NoAction: { net_by_mask.apply(); hdr.found.chosen = hdr.found.chosen | 4; }
            default: { hdr.found.chosen = hdr.found.chosen | 8; }
        }
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) { apply { } }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.found); } }

V1Switch(P(), NoChecksum(), I(), E(), NoChecksum(), D()) main;
