// SPDX-License-Identifier: Apache-2.0
// One table of every kind on fields of the frame; each writes what it found
// into the result header.
#include <core.p4>
#include <v1model.p4>

header key_t { bit<16> a; bit<8> b; bit<32> address; bit<128> wide; bit<16> port; }
header found_t { bit<16> exact_one; bit<16> exact_many; bit<16> lpm; bit<16> wide_lpm;
                 bit<16> mixed; bit<16> const_entries; bit<8> chosen; }
struct headers_t { key_t key; found_t found; }
struct metadata_t { }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start { packet.extract(hdr.key); transition accept; }
}
control NoChecksum(inout headers_t hdr, inout metadata_t meta) { apply { } }

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    direct_counter(CounterType.packets_and_bytes) mixed_counter;

    action set_exact_one(bit<16> value) { hdr.found.exact_one = value; }
    action set_exact_many(bit<16> value) { hdr.found.exact_many = value; }
    action set_lpm(bit<16> value) { hdr.found.lpm = value; }
    action set_wide_lpm(bit<16> value) { hdr.found.wide_lpm = value; }
    action set_mixed(bit<16> value) { hdr.found.mixed = value; mixed_counter.count(); }
    action set_const(bit<16> value) { hdr.found.const_entries = value; }
    action other() { }

    table exact_one {
        key = { hdr.key.a: exact; }
        actions = { set_exact_one; }
        default_action = set_exact_one(0xffff);
        size = 64;
    }
    table exact_many {
        key = { hdr.key.a: exact; hdr.key.wide: exact; }
        actions = { set_exact_many; NoAction; }
        default_action = NoAction();
        size = 64;
    }
    table lpm {
        key = { hdr.key.b: exact; hdr.key.address: lpm; }
        actions = { set_lpm; NoAction; }
        default_action = NoAction();
        size = 64;
    }
    table wide_lpm {
        key = { hdr.key.wide: lpm; }
        actions = { set_wide_lpm; NoAction; }
        const default_action = NoAction();
        size = 64;
    }
    table mixed {
        key = { hdr.key.a: ternary; hdr.key.b: optional; hdr.key.address: lpm;
                hdr.key.wide: ternary; hdr.key.port: range; }
        actions = { set_mixed; other; }
        default_action = other();
        counters = mixed_counter;
        size = 64;
    }
    table const_entries {
        key = { hdr.key.a: ternary; hdr.key.port: range; }
        actions = { set_const; NoAction; }
        default_action = NoAction();
        const entries = {
            (0x0100 &&& 0xff00, 10..20): set_const(1);
            (0x0100 &&& 0xff00, _): set_const(2);
            (_, 10..20): set_const(3);
        }
    }

    apply {
        hdr.found.setValid();
        exact_one.apply();
        exact_many.apply();
        if (lpm.apply().hit) { hdr.found.chosen = hdr.found.chosen | 1; }
        wide_lpm.apply();
        switch (mixed.apply().action_run) {
            set_mixed: { hdr.found.chosen = hdr.found.chosen | 2; }
            default: { hdr.found.chosen = hdr.found.chosen | 4; }
        }
        const_entries.apply();
        sm.egress_spec = 1;
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) { apply { } }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.found); } }

V1Switch(P(), NoChecksum(), I(), E(), NoChecksum(), D()) main;
