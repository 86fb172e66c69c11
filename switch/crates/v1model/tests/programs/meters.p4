// SPDX-License-Identifier: Apache-2.0
// Meters and idle timeouts: an indirect meter of bytes, a direct meter of
// packets that belongs to a table's entries, a table whose entries age.
#include <core.p4>
#include <v1model.p4>

header key_t { bit<8> index; bit<8> station; }
header found_t { bit<8> indirect; bit<8> direct; bit<8> aged; }
struct headers_t { key_t key; found_t found; }
struct metadata_t { bit<8> color; }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start { packet.extract(hdr.key); transition accept; }
}
control NoChecksum(inout headers_t hdr, inout metadata_t meta) { apply { } }

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    meter(4, MeterType.bytes) by_index;
    direct_meter<bit<8>>(MeterType.packets) by_station;

    action read_meter() { by_station.read(meta.color); }
    action set_aged(bit<8> value) { hdr.found.aged = value; }

    table station {
        key = { hdr.key.station: exact; }
        actions = { read_meter; NoAction; }
        default_action = NoAction();
        meters = by_station;
        size = 16;
    }
    table ageing {
        key = { hdr.key.station: ternary; }
        actions = { set_aged; NoAction; }
        default_action = NoAction();
        support_timeout = true;
        size = 16;
    }

    apply {
        sm.egress_spec = 1;
        hdr.found.setValid();
        hdr.found.indirect = 9;
        meta.color = 9;
        by_index.execute_meter((bit<32>)hdr.key.index, hdr.found.indirect);
        station.apply();
        hdr.found.direct = meta.color;
        ageing.apply();
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) { apply { } }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.found); } }

V1Switch(P(), NoChecksum(), I(), E(), NoChecksum(), D()) main;
