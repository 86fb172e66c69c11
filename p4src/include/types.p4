// SPDX-License-Identifier: Apache-2.0
// Types, sizes and constants that more than one file uses.

typedef bit<9>  port_t;          // v1model's width
typedef bit<48> mac_t;
typedef bit<16> modem_t;         // number of a modem; 0 is "none"
typedef bit<16> service_flow_t;  // index of a service flow; 0 is "none"
typedef bit<16> queue_t;         // index of a queue: the service flow's, or a sub-queue's
typedef bit<32> bytes_t;         // frame or queue length, see frame_length()
typedef bit<48> time_us_t;       // microseconds since the switch started
typedef bit<32> delay_us_t;      // a duration in microseconds
typedef bit<32> prob_t;          // probability, unsigned fixed point Q4.28
typedef bit<64> tokens_t;        // 1/8,000,000 byte: one bit/s earns one a microsecond

typedef bit<8>  queue_manager_t; // who decides early drops of a service flow: queue_managers.p4

// Counts, modulo 256, what has managed a service flow before. What keeps state of
// a queue starts afresh when a frame brings a later number than the one it saw last.
typedef bit<8>  generation_t;

// Of two generations less than this apart the one ahead is the later one.
const generation_t GENERATIONS_AHEAD = 128;

// standard_metadata.instance_type in egress, on the embedded target: the traffic manager has
// taken the frame out of its queue, and it goes nowhere.
const bit<32> SUPPRESSED = 7;

// The largest frame, to the end of its CRC: CoDel's maxpacket, and what a shaped
// service flow needs tokens for.
const bytes_t MAX_PACKET = 1522;

// DOCSIS counts a frame to the end of its CRC, and Ethernet has none below 64 bytes;
// v1model's packet_length is without the CRC.
const bytes_t CRC_BYTES = 4;
const bytes_t MIN_FRAME = 64;

bytes_t frame_length(in bit<32> packet_length) {
    return packet_length < MIN_FRAME - CRC_BYTES ? MIN_FRAME : packet_length + CRC_BYTES;
}

// The bytes in a queue, of its counts modulo 2^32; 0 where more has left than came.
bytes_t queued_bytes(in bytes_t enqueued, in bytes_t dequeued) {
    bytes_t difference = enqueued - dequeued;
    return difference[31:31] == 1 ? 32w0 : difference;
}

const modem_t NO_MODEM = 0;
const service_flow_t NO_SERVICE_FLOW = 0;

// The port of packet-in and packet-out (--cpu-port); 0 would mean "none".
const port_t CPU_PORT = 255;
const bit<32> PORTS = 512;

// What the pipeline knows of a frame besides its headers.
struct metadata_t {
    // Whose rules classify it: the modem of its CPE port, or of the station that
    // a CMTS sends it to.
    modem_t        modem;
    service_flow_t service_flow;
    // The traffic manager's queue at the egress port; 0 is the port's own,
    // unshaped queue. Read by name on the embedded target.
    bit<16>        queue_id;
    port_t         rf_port;       // where the service flow is queued
    bit<1>         to_rf;         // towards the RF port: needs a service flow
    bit<1>         flooded;       // copied by multicast group
    bit<1>         is_llc;        // a length and IEEE 802.2 LLC instead of an EtherType
    bit<1>         has_ports;     // of TCP or UDP
    bit<16>        ether_type;    // behind one VLAN tag the inner one, of SNAP the protocol
    bit<8>         llc_dsap;      // 0 where the frame has no such field, as the following
    bit<16>        l4_src_port;
    bit<16>        l4_dst_port;
    bit<8>         ip_protocol;
    bit<8>         ip_tos;
    queue_manager_t queue_manager;  // of the service flow
    generation_t   generation;
    bit<1>         flow_queuing;  // the service flow has sub-queues
    // Among the service flow's, from 0; 0 where it has none. Read by name on the embedded target.
    bit<16>        sub_queue;
    // Where the state of its queue is: the service flow, or SERVICE_FLOWS + its sub-queue's index.
    queue_t        queue;
    // Bytes enqueued in its queue so far, this frame among them: see resynchronize.p4.
    bytes_t        enqueued;
    // Of a service flow with sub-queues: the index of its first, and how many it has.
    bit<32>        first_queue;
    bit<32>        queues;
    // Where its session shares a sub-queue: who does, see flow_queue.p4.
    bit<32>        sharers;
    // At the RF port the TOS byte becomes (byte & tos_and) | tos_or.
    bit<8>         tos_and;
    bit<8>         tos_or;
    // Of a frame that a grant of a request/grant MAC let go, what MAPs gave its service flow so
    // far (000, appendix A). Written by name by the embedded target in front of egress, read by
    // requests.p4, and 0 where there is no such MAC, as on BMv2.
    bit<1>         granted;           // there is one
    bytes_t        granted_bytes;     // modulo 2^32
    bytes_t        acked_req_bytes;   // requested and acknowledged, not granted, after the last MAP
    bit<32>        requests_met;      // MAPs, modulo 2^32, after which there were none of those
}

// What DOCSIS provisions for a service flow's queue (table service_flow).
struct queue_config_t {
    bytes_t    buffer_size;
    bytes_t    max_frame;
    delay_us_t latency_target;
    delay_us_t controller_timeout;
}
