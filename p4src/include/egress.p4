// SPDX-License-Identifier: Apache-2.0
//
// Egress gets the frames that the traffic manager takes out of their queues. It counts a
// frame as departed. A queue manager that decides at the head may drop the frame; otherwise
// egress takes its tokens out of the bucket, marks it and sends it on.

control FrameEgress(inout headers_t hdr, inout metadata_t meta,
               inout standard_metadata_t standard_metadata) {
    Order() order;
    Suppressed() suppressed;
    Resynchronize() resynchronize;
    DropAtHead() drop_at_head;
    TokenBucket() token_bucket;
    Requests() requests;
    TosOverwrite() tos_overwrite;

    apply {
        if (standard_metadata.egress_port == CPU_PORT) {
            exit;
        }

        if (meta.service_flow == NO_SERVICE_FLOW) {
            if (meta.flooded == 0) {
                sf_forwarded.count((bit<32>)NO_SERVICE_FLOW);
            }
        } else if (standard_metadata.egress_port == meta.rf_port) {
            // A flooded frame's copies to other ports were never in this queue.
            bytes_t length = frame_length(standard_metadata.packet_length);
            if (standard_metadata.instance_type == SUPPRESSED) {
                suppressed.apply(meta, length, standard_metadata.egress_global_timestamp);
                mark_to_drop(standard_metadata);
                exit;
            }
            bytes_t dequeued;
            bytes_t backlog = 0;
            sf_dequeued_bytes.read(dequeued, (bit<32>)meta.service_flow);
            dequeued = dequeued + length;

            bit<32> sub_queue = (bit<32>)meta.queue - SERVICE_FLOWS;
            bytes_t own_dequeued = dequeued;
            if (meta.flow_queuing == 1 || dequeued != meta.enqueued) {
                time_us_t since;
                order.apply(meta, standard_metadata.egress_global_timestamp, since);
                if (meta.flow_queuing == 1) {
                    queue_dequeued_bytes.read(own_dequeued, sub_queue);
                    own_dequeued = own_dequeued + length;
                }
                if (own_dequeued != meta.enqueued) {
                    bytes_t lost;
                    resynchronize.apply(meta, own_dequeued, since,
                                        standard_metadata.egress_global_timestamp, lost);
                    own_dequeued = own_dequeued + lost;
                    dequeued = dequeued + lost;
                }
                if (meta.flow_queuing == 1) {
                    queue_dequeued_bytes.write(sub_queue, own_dequeued);
                }
            }
            sf_dequeued_bytes.write((bit<32>)meta.service_flow, dequeued);

            if (meta.queue_manager != DROP_TAIL) {
                bytes_t enqueued;
                sf_enqueued_bytes.read(enqueued, (bit<32>)meta.service_flow);
                backlog = queued_bytes(enqueued, dequeued);
                // DOCSIS-PIE drops at the tail alone.
                if (meta.queue_manager != DOCSIS_PIE) {
                    bytes_t own_depth = backlog;
                    if (meta.flow_queuing == 1) {
                        bytes_t own_enqueued;
                        queue_enqueued_bytes.read(own_enqueued, sub_queue);
                        own_depth = queued_bytes(own_enqueued, own_dequeued);
                    }
                    bool drop_head;
                    drop_at_head.apply(meta, length, backlog, own_depth,
                                       standard_metadata.deq_timedelta,
                                       standard_metadata.ingress_global_timestamp,
                                       standard_metadata.egress_global_timestamp, drop_head);
                    if (drop_head) {
                        // It costs no tokens: the traffic manager sends the next instead.
                        sf_drop_aqm.count((bit<32>)meta.service_flow);
                        mark_to_drop(standard_metadata);
                        exit;
                    }
                }
            }

            bool tokens_spent;
            sf_forwarded.count((bit<32>)meta.service_flow);
            token_bucket.apply(meta, length, standard_metadata.egress_global_timestamp,
                               tokens_spent);
            if (meta.queue_manager == DOCSIS_PIE) {
                requests.apply(meta, backlog, tokens_spent);
            }
            tos_overwrite.apply(hdr, meta);
        }
        port_sent.count((bit<32>)standard_metadata.egress_port);
    }
}
