// SPDX-License-Identifier: Apache-2.0
//
// Exercise 3: a token bucket.
//
// The switch is a wire between port 1 and port 2 with a policer at each end: a frame that
// the bucket of its ingress port has tokens for passes, any other frame is dropped. Over
// every interval of t seconds at most t * rate / 8 + burst bytes pass, and a sender that
// always has something to send gets all of that but for one frame.

#include <core.p4>
#include <v1model.p4>

typedef bit<48> time_us_t;   // microseconds since the switch started, modulo 2^48
typedef bit<32> bytes_t;     // length of a frame, to the end of its FCS
typedef bit<64> tokens_t;    // 1/8,000,000 byte: one bit/s earns one a microsecond

const bit<32>  PORTS = 512;
const tokens_t TOKENS_PER_BYTE = 8000000;
const bytes_t  FCS_BYTES = 4;
const bytes_t  MIN_FRAME = 64;   // Ethernet pads what is shorter

// 2^17 us (131 ms) of refill fit into tokens_t.
const time_us_t LONGEST_REFILL = 1 << 17;

// By ingress port. All registers are 0 when the switch starts.
register<tokens_t>(PORTS)  bucket_tokens;    // at the time in bucket_updated
register<time_us_t>(PORTS) bucket_updated;   // when the last frame was judged
register<bit<1>>(PORTS)    bucket_started;   // 1: the two others hold something

struct headers_t { }
struct metadata_t { }

parser LabParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                 inout standard_metadata_t standard_metadata) {
    state start { transition accept; }
}

control LabIngress(inout headers_t hdr, inout metadata_t meta,
                   inout standard_metadata_t standard_metadata) {
    bit<40> rate;     // bit/s
    bytes_t burst;    // depth of the bucket

    action set_bucket(bit<40> rate_bps, bytes_t burst_bytes) {
        rate = rate_bps;
        burst = burst_bytes;
    }

    table policer {
        key = { standard_metadata.ingress_port: exact @name("ingress_port"); }
        actions = { set_bucket; @defaultonly NoAction; }
        default_action = NoAction();
        size = PORTS;
    }

    apply {
        standard_metadata.egress_spec = standard_metadata.ingress_port ^ 3;
        rate = 0;
        burst = 0;
        if (policer.apply().hit) {
            bit<32> index = (bit<32>)standard_metadata.ingress_port;
            time_us_t now = standard_metadata.ingress_global_timestamp;
            tokens_t tokens;
            time_us_t updated;
            bit<1> started;
            bucket_tokens.read(tokens, index);
            bucket_updated.read(updated, index);
            bucket_started.read(started, index);

            // (1) How long is the frame, as Ethernet counts it?
            bytes_t frame = standard_metadata.packet_length + FCS_BYTES;
            if (frame < MIN_FRAME) {
                frame = MIN_FRAME;
            }

            // (2) Refill. Modulo 2^48 the difference is right behind a wrap, too.
            time_us_t elapsed = now - updated;
            if (elapsed > LONGEST_REFILL) {
                elapsed = LONGEST_REFILL;
            }
            tokens = tokens + (tokens_t)elapsed * (tokens_t)rate;

            // (3) The bucket holds its depth at the most, and is full at first.
            tokens_t depth = (tokens_t)burst * TOKENS_PER_BYTE;
            if (started == 0 || tokens > depth) {
                tokens = depth;
            }

            // (4) A frame passes when there are tokens for all of it, and only then pays.
            tokens_t cost = (tokens_t)frame * TOKENS_PER_BYTE;
            if (tokens >= cost) {
                tokens = tokens - cost;
            } else {
                mark_to_drop(standard_metadata);
            }

            // (5) What the next frame has to know.
            bucket_tokens.write(index, tokens);
            bucket_updated.write(index, now);
            bucket_started.write(index, 1);
        }
    }
}

control LabEgress(inout headers_t hdr, inout metadata_t meta,
                  inout standard_metadata_t standard_metadata) { apply { } }

control LabVerifyChecksum(inout headers_t hdr, inout metadata_t meta) { apply { } }

control LabComputeChecksum(inout headers_t hdr, inout metadata_t meta) { apply { } }

control LabDeparser(packet_out packet, in headers_t hdr) { apply { } }

V1Switch(LabParser(), LabVerifyChecksum(), LabIngress(), LabEgress(),
         LabComputeChecksum(), LabDeparser()) main;
