// SPDX-License-Identifier: Apache-2.0
//
// A copy of the Maximum Sustained Traffic Rate's token bucket, computed as the
// traffic manager does: tokens = min(B, tokens + dt * R) - size. The traffic
// manager decides when a frame leaves. This copy is a register, which any P4Runtime
// client can read, and the control law needs it.

// Owner: egress. In 1/8,000,000 byte, so that a bit/s earns one a microsecond
// and nothing is rounded.
register<tokens_t>(SERVICE_FLOWS) msr_tokens;
// Owner: egress. When msr_tokens was last brought up to date.
register<time_us_t>(SERVICE_FLOWS) msr_updated;

const tokens_t TOKENS_PER_BYTE = 8000000;
// A bucket of 2^32 bytes holds less than 2^56 of them.
const tokens_t MORE_THAN_ANY_BUCKET = 1 << 56;

// `spent`: what is left would not send a frame of the largest size.
control TokenBucket(in metadata_t meta, in bytes_t packet_size, in time_us_t now, out bool spent) {
    bit<40> rate;    // Maximum Sustained Traffic Rate, bit/s, below 2^34
    bytes_t burst;   // Maximum Traffic Burst

    action set_bucket(bit<40> max_sustained_rate, bytes_t max_burst) {
        rate = max_sustained_rate;
        burst = max_burst;
    }

    action no_bucket() {
        rate = 0;
        burst = 0;
    }

    table msr_bucket {
        key = { meta.service_flow: exact @name("service_flow"); }
        actions = { set_bucket; @defaultonly no_bucket; }
        default_action = no_bucket();
        size = SERVICE_FLOWS;
    }

    apply {
        spent = false;
        if (msr_bucket.apply().hit) {
            tokens_t tokens;
            time_us_t updated;
            msr_tokens.read(tokens, (bit<32>)meta.service_flow);
            msr_updated.read(updated, (bit<32>)meta.service_flow);

            // In two steps of 24 bits of time, so that the products stay within 64 bits.
            time_us_t dt = now - updated;
            tokens_t steps = (tokens_t)dt[47:24] * (tokens_t)rate;
            if (steps >= MORE_THAN_ANY_BUCKET >> 24) {
                tokens = MORE_THAN_ANY_BUCKET;
            } else {
                tokens = tokens + (steps << 24) + (tokens_t)dt[23:0] * (tokens_t)rate;
            }
            tokens_t depth = (tokens_t)burst * TOKENS_PER_BYTE;
            if (tokens > depth) {
                tokens = depth;
            }
            tokens_t cost = (tokens_t)packet_size * TOKENS_PER_BYTE;
            // The traffic manager counts nanoseconds, this microseconds: the
            // difference may leave this a few bytes short.
            if (tokens > cost) {
                tokens = tokens - cost;
            } else {
                tokens = 0;
            }
            spent = tokens < (tokens_t)MAX_PACKET * TOKENS_PER_BYTE;
            msr_tokens.write((bit<32>)meta.service_flow, tokens);
            msr_updated.write((bit<32>)meta.service_flow, now);
        }
    }
}
