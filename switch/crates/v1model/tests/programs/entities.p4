// SPDX-License-Identifier: Apache-2.0
//
// One of every kind of object that P4Runtime can write or read, for the tests of
// the P4Runtime server. What it does with packets is as plain as that allows.

#include <core.p4>
#include <v1model.p4>

// The controller's port numbers have 32 bits.
@p4runtime_translation("docsis.test/port", 32)
type bit<9> port_id_t;

enum bit<8> kind_t {
    PLAIN  = 0,
    MARKED = 1
}

struct learn_t {
    bit<48> address;
    bit<9>  port;
}

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> type;
}

@controller_header("packet_in")
header packet_in_t {
    bit<9> ingress_port;
    bit<7> pad;
}

@controller_header("packet_out")
header packet_out_t {
    bit<9> egress_port;
    bit<7> pad;
}

struct headers_t {
    packet_in_t  packet_in;
    packet_out_t packet_out;
    ethernet_t   ethernet;
}

struct metadata_t {
    bit<2>    colour;
    bit<8>    trusted;
    port_id_t port;
}

const bit<9> CPU_PORT = 255;

parser TestParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                  inout standard_metadata_t standard) {
    value_set<bit<16>>(4) trusted_types;

    state start {
        transition select(standard.ingress_port) {
            CPU_PORT: parse_packet_out;
            default: parse_ethernet;
        }
    }
    state parse_packet_out {
        packet.extract(hdr.packet_out);
        transition parse_ethernet;
    }
    state parse_ethernet {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) {
            trusted_types: trust;
            default: accept;
        }
    }
    state trust {
        meta.trusted = 1;
        transition accept;
    }
}

control TestVerify(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control TestIngress(inout headers_t hdr, inout metadata_t meta,
                    inout standard_metadata_t standard) {
    register<bit<32>>(8) marks;
    register<int<16>>(4) offsets;
    register<kind_t>(2) kinds;
    register<bit<96>>(3) wide;
    counter(4, CounterType.packets_and_bytes) seen;
    meter(4, MeterType.bytes) rates;
    direct_counter(CounterType.packets_and_bytes) station_counter;
    direct_meter<bit<2>>(MeterType.packets) station_meter;

    action forward(bit<9> port) {
        standard.egress_spec = port;
    }
    action flood(bit<16> group) {
        standard.mcast_grp = group;
    }
    action drop() {
        mark_to_drop(standard);
    }
    action learn() {
        digest<learn_t>(0, {hdr.ethernet.src, standard.ingress_port});
    }
    action mirror() {
        clone(CloneType.I2E, 7);
    }
    action known() {
        station_counter.count();
        station_meter.read(meta.colour);
    }
    action to_port(port_id_t port) {
        meta.port = port;
        standard.egress_spec = (bit<9>)port;
    }

    table stations {
        key = { hdr.ethernet.src: exact; }
        actions = { known; @tableonly drop; @defaultonly learn; NoAction; }
        default_action = NoAction();
        counters = station_counter;
        meters = station_meter;
        support_timeout = true;
        size = 1024;
    }

    table filters {
        key = {
            hdr.ethernet.dst: ternary;
            hdr.ethernet.type: range;
            standard.ingress_port: optional;
        }
        actions = { drop; mirror; NoAction; }
        default_action = NoAction();
        size = 64;
    }

    action_profile(8) profile;
    table indirect {
        key = { hdr.ethernet.type: exact; }
        actions = { forward; drop; NoAction; }
        implementation = profile;
        size = 16;
    }

    @max_group_size(6)
    action_selector(HashAlgorithm.crc16, 32w16, 32w10) balancer;
    table balanced {
        key = {
            hdr.ethernet.dst: lpm;
            hdr.ethernet.src: selector;
        }
        actions = { forward; drop; NoAction; }
        implementation = balancer;
        size = 32;
    }

    table ports {
        key = { meta.port: exact; }
        actions = { to_port; NoAction; }
        default_action = NoAction();
        size = 16;
    }

    table fixed {
        key = { hdr.ethernet.type: exact; }
        actions = { flood; NoAction; }
        const default_action = NoAction();
        const entries = {
            0x8100: flood(1);
            0x88a8: flood(2);
        }
    }

    apply {
        if (hdr.packet_out.isValid()) {
            standard.egress_spec = hdr.packet_out.egress_port;
            hdr.packet_out.setInvalid();
        } else if (hdr.ethernet.isValid()) {
            bit<32> mark;
            int<16> offset;
            kind_t  kind;
            bit<96> all;
            marks.read(mark, 0);
            offsets.read(offset, 0);
            kinds.read(kind, 0);
            wide.read(all, 0);
            wide.write(0, all + 1);
            if (kind == kind_t.MARKED) {
                marks.write(1, mark + (bit<32>)(bit<16>)offset);
            }
            seen.count(1);
            rates.execute_meter(1, meta.colour);
            stations.apply();
            filters.apply();
            fixed.apply();
            indirect.apply();
            balanced.apply();
            ports.apply();
        }
    }
}

control TestEgress(inout headers_t hdr, inout metadata_t meta,
                   inout standard_metadata_t standard) {
    apply {
        if (standard.egress_port == CPU_PORT) {
            hdr.packet_in.setValid();
            hdr.packet_in.ingress_port = standard.ingress_port;
            hdr.packet_in.pad = 0;
        }
    }
}

control TestCompute(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.packet_in);
        packet.emit(hdr.ethernet);
    }
}

V1Switch(TestParser(), TestVerify(), TestIngress(), TestEgress(), TestCompute(),
         TestDeparser()) main;
