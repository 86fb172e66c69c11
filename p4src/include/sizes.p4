// SPDX-License-Identifier: Apache-2.0
// Room for every modem of a topology, on the modems' switch and on the CMTS.

// Index 0 stands for "no service flow": 4,095 of them, such as 64 modems of 63.
const bit<32> SERVICE_FLOWS = 4096;
const bit<32> CLASSIFIERS   = 8192;
const bit<32> STATIONS      = 8192;
// Modem 0 stands for "none": the RF port, the CMTS's network ports and what it floods.
const bit<32> MODEMS        = 256;
const bit<32> INTERFACES    = 256;
