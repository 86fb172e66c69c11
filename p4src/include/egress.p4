// SPDX-License-Identifier: Apache-2.0
//
// The way of a frame after the traffic manager let it go: account for what
// left the service flow's queue and its token bucket, and mark it.

control FrameEgress(inout headers_t hdr, inout metadata_t meta,
               inout standard_metadata_t standard_metadata) {
    TokenBucket() token_bucket;
    TosOverwrite() tos_overwrite;

    apply {
        if (standard_metadata.egress_port == CPU_PORT) {
            hdr.packet_out.setInvalid();
            exit;
        }

        port_sent.count((bit<32>)standard_metadata.egress_port);
        if (meta.service_flow == NO_SERVICE_FLOW) {
            if (meta.flooded == 0) {
                sf_forwarded.count((bit<32>)NO_SERVICE_FLOW);
            }
        } else if (standard_metadata.egress_port == meta.rf_port) {
            // A flooded frame's copies to other ports were never in this queue.
            bytes_t dequeued;
            bytes_t length = standard_metadata.packet_length;
            sf_dequeued_bytes.read(dequeued, (bit<32>)meta.service_flow);
            sf_dequeued_bytes.write((bit<32>)meta.service_flow, dequeued + length);
            sf_forwarded.count((bit<32>)meta.service_flow);
            token_bucket.apply(meta, length, standard_metadata.egress_global_timestamp);
            tos_overwrite.apply(hdr, meta);
        }
    }
}
