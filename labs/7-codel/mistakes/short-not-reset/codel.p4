// SPDX-License-Identifier: Apache-2.0
//
// Exercise 7: CoDel (RFC 8289), at the head of the queue.
//
// Frames from port 1 wait in queue 1 of port 2; frames from port 2 pass to port 1 at once.
// Egress sees a frame when it has come to the head of the queue, and may drop it: then the
// traffic manager offers the next one at the same time, and nothing is sent in between.
//
// RFC 8289's deque() takes frames from the queue in a loop until it has one to send. Here
// each frame comes by itself, so what deque() knows from one frame to the next is in
// registers, and each frame goes through the program once.

#include <core.p4>
#include <v1model.p4>

typedef bit<48> time_us_t;    // microseconds since the switch started, modulo 2^48
typedef bit<32> delay_us_t;   // a duration in microseconds

const bit<9>     ACCESS_PORT  = 1;
const bit<9>     NETWORK_PORT = 2;

// RFC 8289, 4.2 and 4.3.
const delay_us_t TARGET   = 5000;
const delay_us_t INTERVAL = 100000;
// The greatest count for which the table inv_sqrt has a value.
const bit<32>    LARGEST_COUNT = 65535;

// Written in egress.
register<time_us_t>(1) first_above_time_;   // 0: not above the target
register<time_us_t>(1) drop_next_;
register<bit<32>>(1)   count_;              // drops since the dropping state began
register<bit<32>>(1)   lastcount_;          // count_ when the dropping state began
register<bit<1>>(1)    dropping_;

struct headers_t { }
struct metadata_t {
    bit<16> queue_id;   // the traffic manager's queue at the egress port
}

parser LabParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                 inout standard_metadata_t standard_metadata) {
    state start { transition accept; }
}

control LabIngress(inout headers_t hdr, inout metadata_t meta,
                   inout standard_metadata_t standard_metadata) {
    apply {
        if (standard_metadata.ingress_port == ACCESS_PORT) {
            standard_metadata.egress_spec = NETWORK_PORT;
            meta.queue_id = 1;
        } else {
            standard_metadata.egress_spec = ACCESS_PORT;
        }
    }
}

control CoDel(inout standard_metadata_t standard_metadata) {
    bit<32> count;
    bit<32> inverse;   // 1 / sqrt(count), unsigned fixed point Q1.31

    action set_inverse(bit<32> inverse_square_root) {
        inverse = inverse_square_root;
    }

    // P4 has no square root: whoever runs the switch fills this table.
    table inv_sqrt {
        key = { count: range @name("count"); }
        actions = { set_inverse; @defaultonly NoAction; }
        default_action = NoAction();
        size = 512;
    }

    apply {
        time_us_t now = standard_metadata.egress_global_timestamp;
        delay_us_t sojourn_time = standard_metadata.deq_timedelta;

        time_us_t first_above_time;
        time_us_t drop_next;
        bit<1> dropping;
        first_above_time_.read(first_above_time, 0);
        drop_next_.read(drop_next, 0);
        count_.read(count, 0);
        dropping_.read(dropping, 0);
        inverse = 0;

        // (1) dodequeue(). Has the sojourn time been above the target for an interval?
        bool ok_to_drop = false;
        if (sojourn_time < TARGET) {
            first_above_time = 0;
        } else if (first_above_time == 0) {
            first_above_time = now + (time_us_t)INTERVAL;
        } else if (now >= first_above_time) {
            ok_to_drop = standard_metadata.deq_qdepth > 1;
        }

        // (2) deque(). Where control_law() counts from, 0 for not at all.
        time_us_t law_from = 0;
        if (dropping == 1) {
            if (!ok_to_drop) {
                dropping = 0;
            } else if (now >= drop_next) {
                mark_to_drop(standard_metadata);
                if (count < LARGEST_COUNT) {
                    count = count + 1;
                }
                law_from = drop_next;
            }
        } else if (ok_to_drop) {
            mark_to_drop(standard_metadata);
            dropping = 1;

            // (3) A dropping state that follows soon goes on where the last one ended.
            bit<32> lastcount;
            lastcount_.read(lastcount, 0);
            bit<32> delta = count - lastcount;
            count = 1;
            if (delta > 1 && delta <= LARGEST_COUNT
                && (drop_next > now || now - drop_next < (time_us_t)INTERVAL << 4)) {
                count = delta;
            }
            lastcount_.write(0, count);
            law_from = now;
        }

        // (4) control_law().
        if (law_from != 0) {
            inv_sqrt.apply();
            bit<64> wait = ((bit<64>)INTERVAL * (bit<64>)inverse) >> 31;
            drop_next = law_from + (time_us_t)wait;
        }

        first_above_time_.write(0, first_above_time);
        drop_next_.write(0, drop_next);
        count_.write(0, count);
        dropping_.write(0, dropping);
    }
}

control LabEgress(inout headers_t hdr, inout metadata_t meta,
                  inout standard_metadata_t standard_metadata) {
    CoDel() codel;

    apply {
        if (meta.queue_id == 1) {
            codel.apply(standard_metadata);
        }
    }
}

control LabVerifyChecksum(inout headers_t hdr, inout metadata_t meta) { apply { } }

control LabComputeChecksum(inout headers_t hdr, inout metadata_t meta) { apply { } }

control LabDeparser(packet_out packet, in headers_t hdr) { apply { } }

V1Switch(LabParser(), LabVerifyChecksum(), LabIngress(), LabEgress(),
         LabComputeChecksum(), LabDeparser()) main;
