// SPDX-License-Identifier: Apache-2.0
// Feature: header unions. At most one member is valid: extracting or setting
// one makes the others invalid; validity of the union; copies; a stack of them.
#include <core.p4>
#include <v1model.p4>

header type_t { bit<8> first; bit<8> second; bit<8> action_; bit<8> seen; }
header short_t { bit<8> value; }
header long_t { bit<16> value; }
header_union either_t { short_t narrow; long_t wide; }
struct headers_t { type_t type; either_t either; either_t[2] stack; }
struct metadata_t { }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.type);
        transition select(hdr.type.first) { 1: narrow; 2: wide; default: items; }
    }
    state narrow { packet.extract(hdr.either.narrow); transition items; }
    state wide { packet.extract(hdr.either.wide); transition items; }
    state items {
        transition select(hdr.type.second) { 1: narrow_item; 2: wide_item; default: accept; }
    }
    state narrow_item { packet.extract(hdr.stack.next.narrow); transition accept; }
    state wide_item { packet.extract(hdr.stack.next.wide); transition accept; }
}
control V(inout headers_t hdr, inout metadata_t meta) { apply { } }
control C(inout headers_t hdr, inout metadata_t meta) { apply { } }

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = 1;
        if (hdr.type.action_ == 1) {
            hdr.either.narrow.setValid();
            hdr.either.narrow.value = 0x77;
        } else if (hdr.type.action_ == 2) {
            hdr.either.wide.setInvalid();
        } else if (hdr.type.action_ == 3) {
            hdr.either = hdr.stack[0];
        }
        hdr.type.seen = 0;
        if (hdr.either.isValid()) { hdr.type.seen = hdr.type.seen | 0x01; }
        if (hdr.either.narrow.isValid()) { hdr.type.seen = hdr.type.seen | 0x02; }
        if (hdr.either.wide.isValid()) { hdr.type.seen = hdr.type.seen | 0x04; }
        if (hdr.stack[0].wide.isValid()) { hdr.type.seen = hdr.type.seen | 0x08; }
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) { apply { } }
control D(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.type);
        packet.emit(hdr.either);
        packet.emit(hdr.stack);
    }
}

V1Switch(P(), V(), I(), E(), C(), D()) main;
