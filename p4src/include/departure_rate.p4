// SPDX-License-Identifier: Apache-2.0
//
// How long DQ_THRESHOLD bytes take to leave the queue: deque() of RFC 8033,
// appendix B, with its names. It keeps the time and not the rate, so it need not divide:
//
//   delay of a backlog = backlog * avg_dq_time / DQ_THRESHOLD
//
// PIE's control path computes that every interval, CoDel-DT for every frame.

// Owner of all: egress.
register<bytes_t>(SERVICE_FLOWS) pie_dq_count;
// Microseconds; 0 is "not in a measurement".
register<time_us_t>(SERVICE_FLOWS) pie_measurement_start;
// In 1/256 us, below 2^36; 0 is "not measured yet".
register<bit<48>>(SERVICE_FLOWS) pie_avg_dq_time;
register<generation_t>(SERVICE_FLOWS) pie_generation;
// When pie_generation came, microseconds.
register<time_us_t>(SERVICE_FLOWS) pie_generation_start;

const bytes_t DQ_THRESHOLD = 16384;
const bit<8>  DQ_THRESHOLD_LOG2 = 14;
// The average's weight is DQ_THRESHOLD / 2^16, a quarter.
const bit<8>  DQ_WEIGHT_LOG2 = 2;
const bit<8>  DQ_TIME_FRACTION = 8;
// Four minutes for 16 KB; no service is slower.
const time_us_t LONGEST_DQ_TIME = (1 << 28) - 1;
// The longest backlog that a delay is predicted for.
const bytes_t LONGEST_BACKLOG = (1 << 28) - 1;

// `arrival`: when the frame came to the switch. Where sub-queues take turns, frames of the
// generation before still leave among those of this one. They are departures like any
// other; a generation that is not ahead of the one seen is new only if the frame came
// after that one did: then so many have passed that the number has gone round.
control DepartureRate(in metadata_t meta, in bytes_t packet_size, in bytes_t backlog,
                      in time_us_t arrival, in time_us_t now) {
    apply {
        bytes_t dq_count;
        time_us_t measurement_start;
        bit<48> avg_dq_time;
        generation_t generation;
        pie_dq_count.read(dq_count, (bit<32>)meta.service_flow);
        pie_measurement_start.read(measurement_start, (bit<32>)meta.service_flow);
        pie_avg_dq_time.read(avg_dq_time, (bit<32>)meta.service_flow);
        pie_generation.read(generation, (bit<32>)meta.service_flow);
        if (generation != meta.generation) {
            time_us_t generation_start;
            pie_generation_start.read(generation_start, (bit<32>)meta.service_flow);
            if (meta.generation - generation < GENERATIONS_AHEAD || arrival > generation_start) {
                measurement_start = 0;
                avg_dq_time = 0;
                pie_generation.write((bit<32>)meta.service_flow, meta.generation);
                pie_generation_start.write((bit<32>)meta.service_flow, now);
            }
        }

        if (measurement_start != 0) {
            dq_count = dq_count + packet_size;
            if (dq_count >= DQ_THRESHOLD) {
                time_us_t dq_time = now - measurement_start;
                if (dq_time > LONGEST_DQ_TIME) {
                    dq_time = LONGEST_DQ_TIME;
                }
                dq_time = dq_time << DQ_TIME_FRACTION;
                if (avg_dq_time == 0) {
                    avg_dq_time = dq_time;
                } else {
                    avg_dq_time = avg_dq_time - (avg_dq_time >> DQ_WEIGHT_LOG2)
                        + (dq_time >> DQ_WEIGHT_LOG2);
                }
                measurement_start = 0;
            }
        }

        if (measurement_start == 0 && backlog >= DQ_THRESHOLD) {
            measurement_start = now;
            dq_count = 0;
        }

        pie_dq_count.write((bit<32>)meta.service_flow, dq_count);
        pie_measurement_start.write((bit<32>)meta.service_flow, measurement_start);
        pie_avg_dq_time.write((bit<32>)meta.service_flow, avg_dq_time);
    }
}

// The delay that a backlog will take to leave, microseconds; 0 before anything was measured
// in this generation: until its first frame leaves the average is another manager's.
control PredictedDelay(in metadata_t meta, in bytes_t backlog, out bit<32> delay) {
    apply {
        bit<48> avg_dq_time;
        generation_t generation;
        pie_avg_dq_time.read(avg_dq_time, (bit<32>)meta.service_flow);
        pie_generation.read(generation, (bit<32>)meta.service_flow);
        if (generation != meta.generation) {
            avg_dq_time = 0;
        }
        // More than 2^28 bytes count as so many, so that the product stays within 64 bits.
        bytes_t counted = backlog;
        if (counted > LONGEST_BACKLOG) {
            counted = LONGEST_BACKLOG;
        }
        bit<64> predicted = ((bit<64>)counted * (bit<64>)avg_dq_time)
            >> (DQ_THRESHOLD_LOG2 + DQ_TIME_FRACTION);
        delay = 0xffffffff;
        if (predicted < 0xffffffff) {
            delay = predicted[31:0];
        }
    }
}
