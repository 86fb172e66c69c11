// SPDX-License-Identifier: Apache-2.0
//
// Packet-out and packet-in. If the target has P4Runtime registers, the controller
// reads and writes those. Otherwise it asks here, in band. The registers' owners are
// the same: UPDATE writes the controller's, and PROVISION is only for a service flow
// that carries no traffic yet. A reply carries the switch's clock, from which
// the controller learns it on every target. A request for an operation or a service
// flow that does not exist reaches no register: it is answered with REFUSED, and
// counted as malformed.

control ControllerRequest(inout headers_t hdr, inout metadata_t meta,
                          inout standard_metadata_t standard_metadata) {
    apply {
        bit<32> sf = (bit<32>)hdr.packet_out.service_flow;

        hdr.packet_in.setValid();
        hdr.packet_in.op = hdr.packet_out.op;
        hdr.packet_in.padding = 0;
        hdr.packet_in.ingress_port = standard_metadata.ingress_port;
        hdr.packet_in.request_id = hdr.packet_out.request_id;
        hdr.packet_in.service_flow = hdr.packet_out.service_flow;
        hdr.packet_in.timestamp = standard_metadata.ingress_global_timestamp;
        standard_metadata.egress_spec = CPU_PORT;
        if ((bit<8>)hdr.packet_out.op > (bit<8>)controller_op_t.PROVISION
            || sf >= SERVICE_FLOWS) {
            hdr.packet_in.op = controller_op_t.REFUSED;
            sf_received.count((bit<32>)NO_SERVICE_FLOW);
            sf_drop_malformed.count((bit<32>)NO_SERVICE_FLOW);
            exit;
        }

        if (hdr.packet_out.op == controller_op_t.UPDATE) {
            aqm_drop_prob.write(sf, hdr.packet_out.drop_prob);
            aqm_qdelay_old.write(sf, hdr.packet_out.qdelay_old);
            aqm_burst_allowance.write(sf, hdr.packet_out.burst_allowance);
            aqm_control_state.write(sf, hdr.packet_out.control_state);
            controller_heartbeat.write(0, hdr.packet_out.heartbeat);
        } else if (hdr.packet_out.op == controller_op_t.PROVISION) {
            aqm_accu_prob.write(sf, 0);
            aqm_data_state.write(sf, 0);
            aqm_drop_prob.write(sf, 0);
            aqm_qdelay_old.write(sf, 0);
            aqm_burst_allowance.write(sf, 0);
            aqm_control_state.write(sf, 0);
            // A law may read these before the first frame has started them afresh.
            pie_avg_dq_time.write(sf, 0);
            red_avg.write(sf, 0);
            pie_002_enqueued.write(sf, 0);
            pie_002_dequeued.write(sf, 0);
            msr_tokens.write(sf, hdr.packet_out.msr_tokens);
            msr_updated.write(sf, standard_metadata.ingress_global_timestamp);
        }

        sf_enqueued_bytes.read(hdr.packet_in.enqueued_bytes, sf);
        sf_dequeued_bytes.read(hdr.packet_in.dequeued_bytes, sf);
        msr_tokens.read(hdr.packet_in.msr_tokens, sf);
        msr_updated.read(hdr.packet_in.msr_updated, sf);
        aqm_accu_prob.read(hdr.packet_in.accu_prob, sf);
        aqm_data_state.read(hdr.packet_in.data_state, sf);
        aqm_drop_prob.read(hdr.packet_in.drop_prob, sf);
        aqm_qdelay_old.read(hdr.packet_in.qdelay_old, sf);
        aqm_burst_allowance.read(hdr.packet_in.burst_allowance, sf);
        aqm_control_state.read(hdr.packet_in.control_state, sf);
        controller_heartbeat.read(hdr.packet_in.heartbeat, 0);
        pie_avg_dq_time.read(hdr.packet_in.avg_dq_time, sf);
        sf_requests_met.read(hdr.packet_in.requests_met, sf);
        red_avg.read(hdr.packet_in.red_avg, sf);
        pie_002_arrivals.read(hdr.packet_in.arrivals, sf);
        pie_002_enqueued.read(hdr.packet_in.enqueued_packets, sf);
        pie_002_dequeued.read(hdr.packet_in.dequeued_packets, sf);
        pie_002_departure_rate.read(hdr.packet_in.departure_rate, sf);
        sf_granted_bytes.read(hdr.packet_in.granted_bytes, sf);
        sf_acked_req_bytes.read(hdr.packet_in.acked_req_bytes, sf);
    }
}
