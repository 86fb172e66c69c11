// SPDX-License-Identifier: Apache-2.0
// Room for every modem of a topology, on the modems' switch and on the CMTS.

// Index 0 stands for "no service flow": 4,095 of them, such as 64 modems of 63.
const bit<32> SERVICE_FLOWS = 4096;
const bit<32> CLASSIFIERS   = 8192;
const bit<32> STATIONS      = 8192;
// Sub-queues that the service flows with flow queues have among them: 32 of 256, or 256 of 32.
const bit<32> SUB_QUEUES    = 8192;
// State of a queue: of a service flow's at the service flow's index, of sub-queues behind those.
const bit<32> QUEUES        = SERVICE_FLOWS + SUB_QUEUES;
// What v1model's port numbers leave: 9 bits, of which 0, the CPU's port and the drop port are no
// interfaces. Every modem except number 0 has at least one of its own; 0 stands for "none": the RF
// port, the CMTS's network ports and what it floods.
const bit<32> MODEMS        = 512;
const bit<32> INTERFACES    = 512;
