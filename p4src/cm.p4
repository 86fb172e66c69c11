// SPDX-License-Identifier: Apache-2.0
//
// Cable modem: CPE ports on one side (CMCI), the RF port on the other.
// Upstream frames are classified into service flows, policed and queued
// towards the RF port; downstream frames are bridged to the CPE.

#include <core.p4>
#include <v1model.p4>

// A DOCSIS 3.1 modem supports at least 32 upstream service flows; index 0
// stands for "no service flow", so there is room for 63.
const bit<32> SERVICE_FLOWS = 64;
const bit<32> CLASSIFIERS   = 64;
const bit<32> STATIONS      = 256;

#include "include/types.p4"
#include "include/headers.p4"
#include "include/parser.p4"
#include "include/counters.p4"
#include "include/bridge.p4"
#include "include/classifier.p4"
#include "include/service_flow.p4"
#include "include/docsis_pie.p4"
#include "include/token_bucket.p4"
#include "include/controller_io.p4"
#include "include/ingress.p4"
#include "include/egress.p4"

V1Switch(FrameParser(), NoVerifyChecksum(), FrameIngress(), FrameEgress(),
         NoComputeChecksum(), FrameDeparser()) main;
