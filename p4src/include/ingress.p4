// SPDX-License-Identifier: Apache-2.0
//
// Ingress gets the frames before they are queued. It bridges them. Frames to the RF port
// it also classifies and polices; it keeps to the buffer's limit and asks the queue manager.

const bit<2> NOT_DROPPED   = 0;
const bit<2> DROPPED_FULL  = 1;
const bit<2> DROPPED_EARLY = 2;

control FrameIngress(inout headers_t hdr, inout metadata_t meta,
                inout standard_metadata_t standard_metadata) {
    ControllerRequest() controller_request;
    Bridge() bridge;
    Classifier() classifier;
    ServiceFlowQueue() service_flow_queue;
    FlowQueue() flow_queue;
    SubQueueBytes() sub_queue_bytes;
    DropAtTail() drop_at_tail;
    Standstill() standstill;
    Enqueued() count_enqueued;

    action drop() {
        mark_to_drop(standard_metadata);
    }

    apply {
        // Nothing leaves by accident.
        drop();

        if (hdr.packet_out.isValid()) {
            if (hdr.packet_out.op != controller_op_t.TRANSMIT) {
                controller_request.apply(hdr, meta, standard_metadata);
                exit;
            }
            sf_received.count((bit<32>)NO_SERVICE_FLOW);
            standard_metadata.egress_spec = hdr.packet_out.egress_port;
            exit;
        }

        port_received.count((bit<32>)standard_metadata.ingress_port);
        if (standard_metadata.parser_error != error.NoError) {
            sf_received.count((bit<32>)NO_SERVICE_FLOW);
            sf_drop_malformed.count((bit<32>)NO_SERVICE_FLOW);
            exit;
        }

        bool routed;
        bridge.apply(hdr, meta, standard_metadata, routed);
        if (!routed) {
            sf_received.count((bit<32>)NO_SERVICE_FLOW);
            sf_drop_unroutable.count((bit<32>)NO_SERVICE_FLOW);
            drop();
            exit;
        }

        if (meta.to_rf == 0) {
            sf_received.count((bit<32>)NO_SERVICE_FLOW);
            if (meta.flooded == 1) {
                sf_flooded.count((bit<32>)NO_SERVICE_FLOW);
            }
            exit;
        }

        queue_config_t queue;
        bool provisioned;
        classifier.apply(hdr, meta);
        service_flow_queue.apply(meta, standard_metadata, queue, provisioned);
        sf_received.count((bit<32>)meta.service_flow);
        if (!provisioned) {
            sf_drop_no_classifier.count((bit<32>)meta.service_flow);
            drop();
            exit;
        }

        bytes_t length = frame_length(standard_metadata.packet_length);
        if (length > queue.max_frame) {
            sf_drop_policed.count((bit<32>)meta.service_flow);
            drop();
            exit;
        }

        bytes_t enqueued;
        bytes_t dequeued;
        sf_enqueued_bytes.read(enqueued, (bit<32>)meta.service_flow);
        sf_dequeued_bytes.read(dequeued, (bit<32>)meta.service_flow);
        bytes_t backlog = enqueued - dequeued;
        if (backlog[31:31] == 1) {
            // More has left than came: nothing is queued, whatever becomes of this frame.
            sf_resynchronized.count((bit<32>)meta.service_flow);
            enqueued = dequeued;
            backlog = 0;
            sf_enqueued_bytes.write((bit<32>)meta.service_flow, enqueued);
        }

        bytes_t own_depth = backlog;
        bit<2> dropped = NOT_DROPPED;
        meta.enqueued = enqueued + length;
        if (meta.flow_queuing == 1) {
            bytes_t own_limit;
            flow_queue.apply(hdr, meta, own_limit);
            // Unless it has no entry there: then it is a queue like any other.
            if (meta.flow_queuing == 1) {
                bytes_t own_enqueued;
                bytes_t own_dequeued;
                sub_queue_bytes.apply((bit<32>)meta.queue - SERVICE_FLOWS, own_enqueued, own_dequeued);
                own_depth = own_enqueued - own_dequeued;
                meta.enqueued = own_enqueued + length;
                if (own_depth + length > own_limit) {
                    dropped = DROPPED_FULL;
                }
            }
        }

        if (backlog + length > queue.buffer_size) {
            dropped = DROPPED_FULL;
        } else if (dropped == NOT_DROPPED && meta.queue_manager != DROP_TAIL
                   && meta.queue_manager != CODEL) {
            // CoDel drops at the head alone.
            bool drop_early;
            bool controller_silent;
            drop_at_tail.apply(meta, queue, length, backlog, own_depth,
                               standard_metadata.ingress_global_timestamp,
                               drop_early, controller_silent);
            if (controller_silent) {
                sf_controller_silent.count((bit<32>)meta.service_flow);
            }
            if (drop_early) {
                dropped = DROPPED_EARLY;
            }
        }

        if (dropped != NOT_DROPPED) {
            bool probe;
            bool vanished;
            standstill.apply(meta, enqueued, dequeued,
                             standard_metadata.ingress_global_timestamp, probe, vanished);
            if (vanished) {
                // Nothing is queued, whatever the books say.
                sf_resynchronized.count((bit<32>)meta.service_flow);
                enqueued = dequeued;
            } else if (!probe) {
                if (dropped == DROPPED_FULL) {
                    aqm_accu_prob.write((bit<32>)meta.service_flow, 0);
                    sf_drop_buffer_full.count((bit<32>)meta.service_flow);
                } else {
                    sf_drop_aqm.count((bit<32>)meta.service_flow);
                }
                drop();
                exit;
            }
            meta.enqueued = enqueued + length;
            if (meta.flow_queuing == 1) {
                bytes_t own_enqueued;
                bytes_t own_dequeued;
                sub_queue_bytes.apply((bit<32>)meta.queue - SERVICE_FLOWS, own_enqueued, own_dequeued);
                meta.enqueued = own_enqueued + length;
                meta.sharers = 0;
            }
        }

        count_enqueued.apply(meta);
        if (meta.flow_queuing == 1) {
            sf_enqueued_bytes.write((bit<32>)meta.service_flow, enqueued + length);
            queue_enqueued_bytes.write((bit<32>)meta.queue - SERVICE_FLOWS, meta.enqueued);
            if (meta.sharers != 0) {
                queue_shared_until.write((bit<32>)meta.queue - SERVICE_FLOWS, meta.enqueued);
                queue_sharers.write((bit<32>)meta.queue - SERVICE_FLOWS, meta.sharers);
            }
        } else {
            sf_enqueued_bytes.write((bit<32>)meta.service_flow, meta.enqueued);
        }
    }
}
