// SPDX-License-Identifier: Apache-2.0

header ethernet_t {
    mac_t   dst_addr;
    mac_t   src_addr;
    bit<16> ether_type;
}

header vlan_t {
    bit<3>  pcp;
    bit<1>  dei;
    bit<12> vid;
    bit<16> ether_type;
}

header arp_t {
    bit<16> hardware_type;
    bit<16> protocol_type;
    bit<8>  hardware_len;
    bit<8>  protocol_len;
    bit<16> operation;
    mac_t   sender_hardware;
    bit<32> sender_protocol;
    mac_t   target_hardware;
    bit<32> target_protocol;
}

header ipv4_t {
    bit<4>  version;
    bit<4>  ihl;
    bit<8>  tos;
    bit<16> total_len;
    bit<16> identification;
    bit<3>  flags;
    bit<13> frag_offset;
    bit<8>  ttl;
    bit<8>  protocol;
    bit<16> checksum;
    bit<32> src_addr;
    bit<32> dst_addr;
}

header ipv4_options_t {
    varbit<320> options;
}

header ipv6_t {
    bit<4>   version;
    bit<8>   traffic_class;
    bit<20>  flow_label;
    bit<16>  payload_len;
    bit<8>   next_header;
    bit<8>   hop_limit;
    bit<128> src_addr;
    bit<128> dst_addr;
}

header tcp_t {
    bit<16> src_port;
    bit<16> dst_port;
    bit<32> seq;
    bit<32> ack;
    bit<4>  data_offset;
    bit<4>  reserved;
    bit<8>  flags;
    bit<16> window;
    bit<16> checksum;
    bit<16> urgent;
}

header udp_t {
    bit<16> src_port;
    bit<16> dst_port;
    bit<16> length;
    bit<16> checksum;
}

header icmp_t {
    bit<8>  type;
    bit<8>  code;
    bit<16> checksum;
}

// Controller to switch, in front of every packet-out. TRANSMIT sends the rest
// as a frame; the other operations reach a service flow's state on targets
// whose P4Runtime server has no registers (see controller_io.p4).
enum bit<8> controller_op_t {
    TRANSMIT  = 0,
    READ      = 1,   // reply with the service flow's state
    UPDATE    = 2,   // write the control law's outputs, then reply
    PROVISION = 3,   // start the service flow afresh with msr_tokens, then reply
    REFUSED   = 255  // in a reply: no such operation or service flow, nothing was done
}

@controller_header("packet_out")
header packet_out_t {
    controller_op_t op;
    bit<7>          padding;
    port_t          egress_port;
    bit<32>         request_id;
    service_flow_t  service_flow;
    prob_t          drop_prob;
    delay_us_t      qdelay_old;
    delay_us_t      burst_allowance;
    bit<32>         control_state;
    time_us_t       heartbeat;
    tokens_t        msr_tokens;
}

// Switch to controller: the answer to READ, UPDATE and PROVISION, with the
// switch's clock (ingress timestamp of the request).
@controller_header("packet_in")
header packet_in_t {
    controller_op_t op;
    bit<7>          padding;
    port_t          ingress_port;
    bit<32>         request_id;
    service_flow_t  service_flow;
    time_us_t       timestamp;
    bytes_t         enqueued_bytes;
    bytes_t         dequeued_bytes;
    tokens_t        msr_tokens;
    time_us_t       msr_updated;
    prob_t          accu_prob;
    bit<32>         data_state;
    prob_t          drop_prob;
    delay_us_t      qdelay_old;
    delay_us_t      burst_allowance;
    bit<32>         control_state;
    time_us_t       heartbeat;
    bit<48>         avg_dq_time;
    bit<32>         requests_met;
    bit<48>         red_avg;
    bit<32>         arrivals;
    bit<32>         enqueued_packets;
    bit<32>         dequeued_packets;
    bit<48>         departure_rate;
    bytes_t         granted_bytes;
    bytes_t         acked_req_bytes;
}

struct headers_t {
    packet_out_t   packet_out;
    packet_in_t    packet_in;
    ethernet_t     ethernet;
    vlan_t         vlan;
    arp_t          arp;
    ipv4_t         ipv4;
    ipv4_options_t ipv4_options;
    ipv6_t         ipv6;
    tcp_t          tcp;
    udp_t          udp;
    icmp_t         icmp;
}
