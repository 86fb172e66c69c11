// SPDX-License-Identifier: Apache-2.0
//
// IP Type of Service (DSCP) Overwrite, TLV 24/25.23: the TOS byte of IPv4 or
// the traffic class of IPv6 becomes (byte & tos_and) | tos_or on the cable.
// Egress, so that copies to other ports stay as they are. 0xff and 0 leave
// every byte alone.

control TosOverwrite(inout headers_t hdr, in metadata_t meta) {
    // RFC 1624, equation 3: HC' = ~(~HC + ~m + m'), so that a wrong checksum
    // stays wrong by as much. Of the word that m is, the other byte cancels out.
    action adjust_checksum(bit<8> old_tos) {
        bit<32> sum = (bit<32>)~hdr.ipv4.checksum + (bit<32>)~(bit<16>)old_tos
            + (bit<32>)hdr.ipv4.tos;
        sum = (bit<32>)sum[15:0] + (bit<32>)sum[31:16];
        sum = (bit<32>)sum[15:0] + (bit<32>)sum[31:16];
        hdr.ipv4.checksum = ~sum[15:0];
    }

    apply {
        if (meta.tos_and != 0xff || meta.tos_or != 0) {
            if (hdr.ipv4.isValid()) {
                bit<8> old_tos = hdr.ipv4.tos;
                hdr.ipv4.tos = (old_tos & meta.tos_and) | meta.tos_or;
                if (hdr.ipv4.tos != old_tos) {
                    adjust_checksum(old_tos);
                }
            } else if (hdr.ipv6.isValid()) {
                hdr.ipv6.traffic_class = (hdr.ipv6.traffic_class & meta.tos_and) | meta.tos_or;
            }
        }
    }
}
