// SPDX-License-Identifier: Apache-2.0
//
// A modem bridges whatever Ethernet frame it gets; headers are parsed only to
// classify. A frame that ends inside a header it announces, or whose IPv4
// header length is impossible, is malformed and dropped in ingress. Fragments
// after the first have no layer 4, and neither have IPv6 packets whose first
// next header is an extension: they are classified without ports. If the two bytes
// of an EtherType are below 1536, they are a length, with LLC behind it
// (IEEE 802.3, 3.2.6); LLC with SNAP has an EtherType after all (RFC 1042).

const bit<16> ETHERTYPE_VLAN = 0x8100;
const bit<16> ETHERTYPE_ARP  = 0x0806;
const bit<16> ETHERTYPE_IPV4 = 0x0800;
const bit<16> ETHERTYPE_IPV6 = 0x86dd;

// DSAP, SSAP and control of SNAP, and the organization whose protocols are EtherTypes.
const bit<48> SNAP_ETHERTYPE = 0xaaaa03000000;

const bit<8> PROTOCOL_ICMP   = 1;
const bit<8> PROTOCOL_TCP    = 6;
const bit<8> PROTOCOL_UDP    = 17;
const bit<8> PROTOCOL_ICMPV6 = 58;

error { BadIpv4Header }

parser FrameParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                   inout standard_metadata_t standard_metadata) {
    state start {
        transition select(standard_metadata.ingress_port) {
            CPU_PORT: parse_packet_out;
            default:  parse_ethernet;
        }
    }

    state parse_packet_out {
        packet.extract(hdr.packet_out);
        transition select(hdr.packet_out.op) {
            controller_op_t.TRANSMIT: parse_ethernet;
            default:                  accept;
        }
    }

    state parse_ethernet {
        packet.extract(hdr.ethernet);
        meta.ether_type = hdr.ethernet.ether_type;
        transition select(hdr.ethernet.ether_type) {
            ETHERTYPE_IPV4:    parse_ipv4;
            ETHERTYPE_IPV6:    parse_ipv6;
            ETHERTYPE_ARP:     parse_arp;
            ETHERTYPE_VLAN:    parse_vlan;
            0x000 &&& 0xfc00:  parse_llc;
            0x400 &&& 0xfe00:  parse_llc;
            default:           accept;
        }
    }

    state parse_vlan {
        packet.extract(hdr.vlan);
        meta.ether_type = hdr.vlan.ether_type;
        transition select(hdr.vlan.ether_type) {
            ETHERTYPE_IPV4:    parse_ipv4;
            ETHERTYPE_IPV6:    parse_ipv6;
            ETHERTYPE_ARP:     parse_arp;
            0x000 &&& 0xfc00:  parse_llc;
            0x400 &&& 0xfe00:  parse_llc;
            default:           accept;
        }
    }

    // Looked at and left with the payload: nothing else needs these bytes.
    state parse_llc {
        meta.is_llc = 1;
        meta.ether_type = 0;
        meta.llc_dsap = packet.lookahead<bit<24>>()[23:16];
        transition select(meta.llc_dsap) {
            0xaa:    parse_snap;
            default: accept;
        }
    }

    state parse_snap {
        bit<64> snap = packet.lookahead<bit<64>>();
        transition select(snap[63:16]) {
            SNAP_ETHERTYPE: parse_snap_ether_type;
            default:        accept;
        }
    }

    state parse_snap_ether_type {
        meta.is_llc = 0;
        meta.llc_dsap = 0;
        meta.ether_type = packet.lookahead<bit<64>>()[15:0];
        transition accept;
    }

    state parse_arp {
        packet.extract(hdr.arp);
        transition accept;
    }

    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        verify(hdr.ipv4.ihl >= 5, error.BadIpv4Header);
        meta.ip_protocol = hdr.ipv4.protocol;
        meta.ip_tos = hdr.ipv4.tos;
        transition select(hdr.ipv4.ihl) {
            5:       parse_ipv4_payload;
            default: parse_ipv4_options;
        }
    }

    state parse_ipv4_options {
        packet.extract(hdr.ipv4_options, ((bit<32>)hdr.ipv4.ihl - 5) << 5);
        transition parse_ipv4_payload;
    }

    state parse_ipv4_payload {
        transition select(hdr.ipv4.frag_offset, hdr.ipv4.protocol) {
            (0, PROTOCOL_TCP):  parse_tcp;
            (0, PROTOCOL_UDP):  parse_udp;
            (0, PROTOCOL_ICMP): parse_icmp;
            default:            accept;
        }
    }

    state parse_ipv6 {
        packet.extract(hdr.ipv6);
        meta.ip_protocol = hdr.ipv6.next_header;
        meta.ip_tos = hdr.ipv6.traffic_class;
        transition select(hdr.ipv6.next_header) {
            PROTOCOL_TCP:    parse_tcp;
            PROTOCOL_UDP:    parse_udp;
            PROTOCOL_ICMPV6: parse_icmp;
            default:         accept;
        }
    }

    state parse_tcp {
        packet.extract(hdr.tcp);
        meta.has_ports = 1;
        meta.l4_src_port = hdr.tcp.src_port;
        meta.l4_dst_port = hdr.tcp.dst_port;
        transition accept;
    }

    state parse_udp {
        packet.extract(hdr.udp);
        meta.has_ports = 1;
        meta.l4_src_port = hdr.udp.src_port;
        meta.l4_dst_port = hdr.udp.dst_port;
        transition accept;
    }

    state parse_icmp {
        packet.extract(hdr.icmp);
        transition accept;
    }
}

// Hosts check. The one field that changes takes its checksum along (tos_overwrite.p4).
control NoVerifyChecksum(inout headers_t hdr, inout metadata_t meta) { apply { } }
control NoComputeChecksum(inout headers_t hdr, inout metadata_t meta) { apply { } }

control FrameDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.packet_in);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.vlan);
        packet.emit(hdr.arp);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.ipv4_options);
        packet.emit(hdr.ipv6);
        packet.emit(hdr.tcp);
        packet.emit(hdr.udp);
        packet.emit(hdr.icmp);
    }
}
