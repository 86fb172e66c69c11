// SPDX-License-Identifier: Apache-2.0
//
// Exercise 8: flow queues and fairness.
//
// Frames from port 1 wait in queue 1 of port 2, which has FLOW_QUEUES sub-queues; frames
// from port 2 pass to port 1 at once. The traffic manager serves sub-queues that have
// frames by deficit round robin, in equal bytes. The program chooses the sub-queue, and
// says how much of the buffer one flow may fill.

#include <core.p4>
#include <v1model.p4>

typedef bit<32> bytes_t;     // length of a frame, to the end of its FCS

const bit<9>  ACCESS_PORT  = 1;
const bit<9>  NETWORK_PORT = 2;
const bytes_t FCS_BYTES = 4;
const bytes_t MIN_FRAME = 64;

const bit<32> FLOW_QUEUES = 32;        // the traffic manager has as many sub-queues
const bytes_t FLOW_LIMIT  = 30000;     // what one of them may hold

const bit<16> ETHERTYPE_IPV4 = 0x0800;
const bit<8>  PROTOCOL_TCP   = 6;
const bit<8>  PROTOCOL_UDP   = 17;
const bit<3>  MORE_FRAGMENTS = 1;     // of ipv4_t's flags

// By sub-queue.
register<bytes_t>(FLOW_QUEUES) enqueued_bytes;   // modulo 2^32, written in ingress
register<bytes_t>(FLOW_QUEUES) dequeued_bytes;   // modulo 2^32, written in egress

header ethernet_t {
    bit<48> dst_addr;
    bit<48> src_addr;
    bit<16> ether_type;
}

header ipv4_t {
    bit<4>  version;
    bit<4>  ihl;
    bit<8>  tos;
    bit<16> total_len;
    bit<16> identification;
    bit<3>  flags;
    bit<13> frag_offset;
    bit<8>  ttl;
    bit<8>  protocol;
    bit<16> checksum;
    bit<32> src_addr;
    bit<32> dst_addr;
}

// What TCP and UDP begin with.
header ports_t {
    bit<16> src_port;
    bit<16> dst_port;
}

struct headers_t {
    ethernet_t ethernet;
    ipv4_t     ipv4;
    ports_t    ports;
}

struct metadata_t {
    bit<16> queue_id;    // the traffic manager's queue at the egress port
    bit<16> sub_queue;   // and its part, from 0
}

// Length of a frame as DOCSIS counts it.
bytes_t frame_length(in bit<32> packet_length) {
    return packet_length < MIN_FRAME - FCS_BYTES ? MIN_FRAME : packet_length + FCS_BYTES;
}

parser LabParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                 inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ETHERTYPE_IPV4: parse_ipv4;
            default:        accept;
        }
    }

    // (1) Which frames have ports? Fragments behind the first have none, and so the first
    // goes without them, too: all are to stay together. And ipv4_t has no room for options.
    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.ihl, hdr.ipv4.flags, hdr.ipv4.frag_offset, hdr.ipv4.protocol) {
            (5, 2, 0, PROTOCOL_TCP): parse_ports;
            (5, 2, 0, PROTOCOL_UDP): parse_ports;
            default:                 accept;
        }
    }

    state parse_ports {
        packet.extract(hdr.ports);
        transition accept;
    }
}

control LabIngress(inout headers_t hdr, inout metadata_t meta,
                   inout standard_metadata_t standard_metadata) {
    apply {
        if (standard_metadata.ingress_port == ACCESS_PORT) {
            standard_metadata.egress_spec = NETWORK_PORT;
            meta.queue_id = 1;

            // (2) The sub-queue of the frame's flow, from 0 to FLOW_QUEUES - 1.
            bit<32> index;
            hash(index, HashAlgorithm.crc32, (bit<32>)0,
                 { hdr.ipv4.src_addr, hdr.ipv4.dst_addr, hdr.ipv4.protocol,
                   hdr.ports.src_port, hdr.ports.dst_port },
                 FLOW_QUEUES);
            meta.sub_queue = (bit<16>)index;

            // (3) A flow that fills its part of the buffer loses its own frames.
            bytes_t packet_size = frame_length(standard_metadata.packet_length);
            bytes_t enqueued;
            bytes_t dequeued;
            enqueued_bytes.read(enqueued, index);
            dequeued_bytes.read(dequeued, index);
            if (enqueued - dequeued + packet_size > FLOW_LIMIT) {
                mark_to_drop(standard_metadata);
            } else {
                enqueued_bytes.write(index, enqueued + packet_size);
            }
        } else {
            standard_metadata.egress_spec = ACCESS_PORT;
        }
    }
}

control LabEgress(inout headers_t hdr, inout metadata_t meta,
                  inout standard_metadata_t standard_metadata) {
    apply {
        if (meta.queue_id == 1) {
            // (4) A frame has left its sub-queue.
            bit<32> index = (bit<32>)meta.sub_queue;
            bytes_t dequeued;
            dequeued_bytes.read(dequeued, index);
            dequeued_bytes.write(index, dequeued + frame_length(standard_metadata.packet_length));
        }
    }
}

control LabVerifyChecksum(inout headers_t hdr, inout metadata_t meta) { apply { } }

control LabComputeChecksum(inout headers_t hdr, inout metadata_t meta) { apply { } }

control LabDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.ports);
    }
}

V1Switch(LabParser(), LabVerifyChecksum(), LabIngress(), LabEgress(),
         LabComputeChecksum(), LabDeparser()) main;
