// SPDX-License-Identifier: Apache-2.0
//
// Exercise 8: flow queues and fairness.
//
// Frames from port 1 wait in queue 1 of port 2, which has FLOW_QUEUES sub-queues; frames
// from port 2 pass to port 1 at once. The traffic manager serves sub-queues that have
// frames by deficit round robin, in equal bytes. The program chooses the sub-queue, and
// says how much of the buffer one flow may fill.
//
// As it is, all flows wait in sub-queue 0. Make the TODOs true.

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

    // TODO 1: which frames have ports? Not all that are IPv4: mind the protocol, fragments
    // behind the first, and options, for which ipv4_t has no room.
    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        transition accept;
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

            // TODO 2: the sub-queue of the frame's flow, from 0 to FLOW_QUEUES - 1.
            bit<32> index = 0;
            meta.sub_queue = (bit<16>)index;

            // TODO 3: a flow that fills its part of the buffer loses its own frames. What a
            // sub-queue holds is what went in and has not come out, modulo 2^32.
            bytes_t packet_size = frame_length(standard_metadata.packet_length);
            bytes_t enqueued;
            bytes_t dequeued;
            enqueued_bytes.read(enqueued, index);
            dequeued_bytes.read(dequeued, index);
            enqueued_bytes.write(index, enqueued + packet_size);
        } else {
            standard_metadata.egress_spec = ACCESS_PORT;
        }
    }
}

control LabEgress(inout headers_t hdr, inout metadata_t meta,
                  inout standard_metadata_t standard_metadata) {
    apply {
        if (meta.queue_id == 1) {
            // TODO 4: a frame has left its sub-queue: write that down.
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
