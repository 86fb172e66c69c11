// SPDX-License-Identifier: Apache-2.0
//
// Exercise 6: the data path of DOCSIS-PIE, drop_early() of RFC 8034, appendix A.
//
// Frames from port 1 wait in queue 1 of port 2; frames from port 2 pass to port 1 at once.
// A controller computes the drop probability and writes it into a register every 16 ms.
// Here somebody else plays the controller: the program reads what it wrote, and decides
// for each frame whether it is dropped at the tail of the queue.

#include <core.p4>
#include <v1model.p4>

typedef bit<32> bytes_t;      // length of a frame, to the end of its FCS
typedef bit<32> prob_t;       // probability, unsigned fixed point Q4.28: 1 << 28 is 1
typedef bit<32> delay_us_t;   // a duration in microseconds

const bit<9>     ACCESS_PORT  = 1;
const bit<9>     NETWORK_PORT = 2;
const bytes_t    FCS_BYTES = 4;
const bytes_t    MIN_FRAME = 64;

// RFC 8034, A.1.
const bytes_t    MEAN_PKTSIZE = 1024;          // 2^10
const delay_us_t LATENCY_TARGET = 10000;
const prob_t     PROB_LOW      = 228170138;    // 0.85
const prob_t     PROB_HIGH     = 2281701376;   // 8.5
const prob_t     PROB_SUPPRESS = 53687091;     // 0.2

// Written by the controller.
register<prob_t>(1)     drop_prob_;
register<delay_us_t>(1) qdelay_old_;        // queue delay at its last update
register<delay_us_t>(1) burst_allowance_;   // what is left of it

// Written by this program.
register<prob_t>(1)     accu_prob_;
register<bytes_t>(1)    enqueued_bytes;     // modulo 2^32, written in ingress
register<bytes_t>(1)    dequeued_bytes;     // modulo 2^32, written in egress

struct headers_t { }
struct metadata_t {
    bit<16> queue_id;   // the traffic manager's queue at the egress port
}

// Length of a frame as DOCSIS counts it.
bytes_t frame_length(in bit<32> packet_length) {
    return packet_length < MIN_FRAME - FCS_BYTES ? MIN_FRAME : packet_length + FCS_BYTES;
}

parser LabParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                 inout standard_metadata_t standard_metadata) {
    state start { transition accept; }
}

// RFC 8034 A.3: true where the frame is to be dropped. `backlog`: bytes that wait already.
control DropEarly(in bytes_t packet_size, in bytes_t backlog, out bool drop) {
    apply {
        drop = false;

        prob_t drop_prob;
        prob_t accu_prob;
        delay_us_t qdelay_old;
        delay_us_t burst_allowance;
        drop_prob_.read(drop_prob, 0);
        accu_prob_.read(accu_prob, 0);
        qdelay_old_.read(qdelay_old, 0);
        burst_allowance_.read(burst_allowance, 0);

        // (1) While the burst allowance lasts, nothing is dropped and nothing accumulates.
        if (burst_allowance == 0) {
            if (drop_prob == 0) {
                accu_prob = 0;
            }

            // (2) p1, the probability of a frame of this size, PROB_LOW at the most. The
            // product needs more than 32 bits.
            bit<64> scaled = ((bit<64>)drop_prob * (bit<64>)packet_size) >> 10;
            prob_t p1 = PROB_LOW;
            if (scaled < (bit<64>)PROB_LOW) {
                p1 = scaled[31:0];
            }

            // (3) Accumulate. Beyond PROB_HIGH more would change nothing, and wrap around.
            if (accu_prob < PROB_HIGH) {
                accu_prob = accu_prob + p1;
            }

            // (4) When the AQM keeps still.
            bool suppressed =
                (qdelay_old < LATENCY_TARGET >> 1 && drop_prob < PROB_SUPPRESS)
                || backlog <= 2 * MEAN_PKTSIZE;

            // (5) The decision, de-randomised.
            if (!suppressed && accu_prob >= PROB_LOW) {
                drop = accu_prob >= PROB_LOW + (1 << 28);
            }
            if (drop) {
                accu_prob = 0;
            }
            accu_prob_.write(0, accu_prob);
        }
    }
}

control LabIngress(inout headers_t hdr, inout metadata_t meta,
                   inout standard_metadata_t standard_metadata) {
    DropEarly() drop_early;

    apply {
        if (standard_metadata.ingress_port == ACCESS_PORT) {
            standard_metadata.egress_spec = NETWORK_PORT;
            meta.queue_id = 1;

            // The backlog is the bytes that were queued less those that have left, modulo 2^32.
            bytes_t packet_size = frame_length(standard_metadata.packet_length);
            bytes_t enqueued;
            bytes_t dequeued;
            enqueued_bytes.read(enqueued, 0);
            dequeued_bytes.read(dequeued, 0);

            bool drop;
            drop_early.apply(packet_size, enqueued - dequeued, drop);
            if (drop) {
                mark_to_drop(standard_metadata);
            } else {
                enqueued_bytes.write(0, enqueued + packet_size);
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
            bytes_t dequeued;
            dequeued_bytes.read(dequeued, 0);
            dequeued_bytes.write(0, dequeued + frame_length(standard_metadata.packet_length));
        }
    }
}

control LabVerifyChecksum(inout headers_t hdr, inout metadata_t meta) { apply { } }

control LabComputeChecksum(inout headers_t hdr, inout metadata_t meta) { apply { } }

control LabDeparser(packet_out packet, in headers_t hdr) { apply { } }

V1Switch(LabParser(), LabVerifyChecksum(), LabIngress(), LabEgress(),
         LabComputeChecksum(), LabDeparser()) main;
