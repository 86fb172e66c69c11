// SPDX-License-Identifier: Apache-2.0
// Parser and extern features that cm.p4 does not use, or uses only in part.
#include <core.p4>
#include <v1model.p4>

error { BadMarker }

header first_t { bit<8> kind; bit<4> nibble; bit<12> rest; }
header tail_t { bit<8> length; varbit<64> data; bit<8> end; }
header item_t { bit<8> more; bit<8> value; }
header report_t {
    bit<32> parser_error; bit<32> packet_length; bit<8> ahead; bit<16> hash; bit<72> stored;
    bit<16> drawn; bit<32> deq_timedelta; bit<8> copied;
}
struct headers_t { first_t first; item_t item; tail_t tail; first_t copy; report_t report; }
struct metadata_t { bit<8> ahead; @name("queue_id") bit<16> queue_id; }

register<bit<72>>(4) wide_register;
counter(4, CounterType.packets_and_bytes) seen;

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start {
        meta.ahead = packet.lookahead<bit<16>>()[7:0];
        packet.extract(hdr.first);
        transition select(hdr.first.kind, hdr.first.nibble) {
            (0x10 &&& 0xf0, 3):  skip;
            (0x20, _):           loop;
            (0x30, 0..3):        variable;
            (0x40, _):           marker;
            default:             accept;
        }
    }
    state skip { packet.advance(16); transition accept; }
    // Not a loop over a stack: the last item stays.
    state loop {
        packet.extract(hdr.item);
        transition select(hdr.item.more) { 0: accept; default: loop; }
    }
    state variable {
        packet.extract(hdr.tail, (bit<32>)packet.lookahead<bit<8>>() << 3);
        transition accept;
    }
    state marker { verify(hdr.first.rest == 0xabc, error.BadMarker); transition accept; }
}
control NoChecksum(inout headers_t hdr, inout metadata_t meta) { apply { } }

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = 1;
        sm.priority = 5;
        meta.queue_id = 7;
        seen.count((bit<32>)hdr.first.nibble);
        log_msg("kind {} nibble {}", {hdr.first.kind, hdr.first.nibble});
        assert(hdr.first.kind != 0xee);
        if (hdr.first.kind == 0xdd) {
            mark_to_drop(sm);
            exit;
        }
        if (hdr.first.kind == 0xcc) {
            sm.mcast_grp = 9;
        }
        hdr.report.setValid();
        hdr.report.parser_error = (bit<32>)(sm.parser_error == error.BadMarker ? 32w100 : 32w0)
            + (bit<32>)(sm.parser_error == error.PacketTooShort ? 32w200 : 32w0);
        hdr.report.packet_length = sm.packet_length;
        hdr.report.ahead = meta.ahead;
        hash(hdr.report.hash, HashAlgorithm.crc16, 16w0, { hdr.first.kind, hdr.first.nibble, hdr.first.rest },
             32w65536);
        bit<72> old;
        wide_register.read(old, 2);
        wide_register.write(2, (old << 8) | (bit<72>)hdr.first.kind);
        wide_register.read(hdr.report.stored, 2);
        wide_register.write(77, 1);
        random(hdr.report.drawn, 16w100, 16w200);
        hdr.copy = hdr.first;
        if (hdr.first.nibble == 1) {
            hdr.copy.nibble = 15;
        }
        if (hdr.first.nibble == 2) {
            hdr.tail.end = 0x99;
            hdr.copy.setInvalid();
        }
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.report.deq_timedelta = sm.deq_timedelta;
        hdr.report.copied = (bit<8>)sm.egress_rid + (sm.instance_type == 5 ? 8w100 : 8w0);
        if (sm.egress_port == 3) { mark_to_drop(sm); }
    }
}
control D(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.report);
        packet.emit(hdr.copy);
        packet.emit(hdr.first);
        packet.emit(hdr.item);
        packet.emit(hdr.tail);
    }
}

V1Switch(P(), NoChecksum(), I(), E(), NoChecksum(), D()) main;
