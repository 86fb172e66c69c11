// SPDX-License-Identifier: Apache-2.0
// Header stacks and unions: what the parser fills, what actions move about.
#include <core.p4>
#include <v1model.p4>

header command_t { bit<8> op; bit<8> index; }
header label_t { bit<7> value; bit<1> bottom; }
header option_type_t { bit<8> kind; }
header short_t { bit<8> kind; bit<8> value; }
header long_t { bit<8> kind; bit<24> value; }
header_union option_t { short_t short; long_t long; }
header report_t { bit<32> parser_error; bit<32> last; bit<8> found; bit<8> equal; }
struct headers_t {
    report_t report; command_t command; label_t[3] labels; option_t[2] options; label_t single; option_t choice;
}
struct metadata_t { bit<32> last; }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.command);
        transition labels;
    }
    state labels {
        packet.extract(hdr.labels.next);
        transition select(hdr.labels.last.bottom) { 0: labels; 1: labelled; }
    }
    state labelled {
        meta.last = hdr.labels.lastIndex;
        transition options;
    }
    state options {
        transition select(packet.lookahead<option_type_t>().kind) {
            1: short;
            2: long;
            3: one;
            default: accept;
        }
    }
    state short { packet.extract(hdr.options.next.short); transition options; }
    state long { packet.extract(hdr.options.next.long); transition options; }
    state one { packet.extract(hdr.choice.short); transition accept; }
}
control NoChecksum(inout headers_t hdr, inout metadata_t meta) { apply { } }

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    action found() { hdr.report.equal = hdr.report.equal + 0x40; }
    // A key whose place only the packet tells.
    table values {
        key = { hdr.labels[hdr.command.index].value: exact; }
        actions = { found; NoAction; }
        const default_action = NoAction();
        const entries = { 0x7f: found(); }
    }
    apply {
        sm.egress_spec = 1;
        hdr.report.setValid();
        hdr.report.parser_error = (bit<32>)(sm.parser_error == error.StackOutOfBounds ? 32w3 : 32w0)
            + (bit<32>)(sm.parser_error == error.NoMatch ? 32w2 : 32w0)
            + (bit<32>)(sm.parser_error == error.PacketTooShort ? 32w1 : 32w0);
        hdr.report.last = meta.last;
        bit<8> op = hdr.command.op;
        bit<2> i = hdr.command.index[1:0];
        if (op == 1) { hdr.labels.push_front(1); hdr.labels[0].setValid(); hdr.labels[0].value = 0x55; }
        if (op == 2) { hdr.labels.pop_front(1); }
        if (op == 3) { hdr.labels[i].value = hdr.labels[i].value + 1; }
        if (op == 4) { hdr.labels[i].setInvalid(); }
        if (op == 5) { hdr.single = hdr.labels[i]; }
        if (op == 6) { hdr.labels[i] = { 7w0x11, 1w1 }; }
        if (op == 7) { hdr.choice.long.setValid(); hdr.choice.long.value = 0xabcdef; }
        if (op == 8) { hdr.options.pop_front(1); }
        if (op == 9) { hdr.options[1] = hdr.options[0]; }
        if (op == 10) { hdr.labels.push_front(5); }
        if (op == 11) { hdr.choice = hdr.options[0]; }
        hdr.report.found = hdr.labels[i].isValid() ? 8w1 : 8w0;
        if (hdr.labels[0] == hdr.labels[1]) { hdr.report.equal = 1; }
        values.apply();
        if (hdr.choice.isValid()) { hdr.report.equal = hdr.report.equal + 2; }
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) { apply { } }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr); } }

V1Switch(P(), NoChecksum(), I(), E(), NoChecksum(), D()) main;
