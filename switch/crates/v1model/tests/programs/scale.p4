// SPDX-License-Identifier: Apache-2.0
// Large tables of each kind, of which a packet looks up the one that its first
// byte names; for measurements and for the comparison with a naive search.
#include <core.p4>
#include <v1model.p4>

header key_t { bit<8> kind; bit<128> a; bit<128> b; bit<16> c; bit<16> d; }
struct headers_t { key_t key; }
struct metadata_t { }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start { packet.extract(hdr.key); transition accept; }
}
control NoChecksum(inout headers_t hdr, inout metadata_t meta) { apply { } }

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    action set(bit<16> value) { hdr.key.c = value; }

    table exact_narrow {
        key = { hdr.key.a[47:0]: exact @name("a"); }
        actions = { set; NoAction; }
        default_action = NoAction();
        size = 65536;
    }
    table exact_wide {
        key = { hdr.key.a: exact; hdr.key.c: exact; }
        actions = { set; NoAction; }
        default_action = NoAction();
        size = 65536;
    }
    table lpm_narrow {
        key = { hdr.key.a[31:0]: lpm @name("a"); }
        actions = { set; NoAction; }
        default_action = NoAction();
        size = 65536;
    }
    table lpm_wide {
        key = { hdr.key.a: lpm; }
        actions = { set; NoAction; }
        default_action = NoAction();
        size = 65536;
    }
    table filter {
        key = { hdr.key.a[31:0]: ternary @name("a"); hdr.key.b[31:0]: ternary @name("b");
                hdr.key.c[7:0]: optional @name("c"); hdr.key.c: range; hdr.key.d: range; }
        actions = { set; NoAction; }
        default_action = NoAction();
        size = 65536;
    }
    table ranges {
        key = { hdr.key.a: range; hdr.key.d: exact; }
        actions = { set; NoAction; }
        default_action = NoAction();
        size = 65536;
    }

    apply {
        sm.egress_spec = 1;
        if (hdr.key.kind == 1) { exact_narrow.apply(); }
        else if (hdr.key.kind == 2) { exact_wide.apply(); }
        else if (hdr.key.kind == 3) { lpm_narrow.apply(); }
        else if (hdr.key.kind == 4) { lpm_wide.apply(); }
        else if (hdr.key.kind == 5) { filter.apply(); }
        else if (hdr.key.kind == 6) { ranges.apply(); }
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) { apply { } }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.key); } }

V1Switch(P(), NoChecksum(), I(), E(), NoChecksum(), D()) main;
