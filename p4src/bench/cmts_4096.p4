// SPDX-License-Identifier: Apache-2.0
//
// Benchmark: the CMTS with 4,096 service flows, to load the control plane. Everything
// else is cmts.p4's.

#include <core.p4>
#include <v1model.p4>

const bit<32> SERVICE_FLOWS = 4096;
const bit<32> CLASSIFIERS   = 8192;
const bit<32> STATIONS      = 4096;

#include "../include/types.p4"
#include "../include/headers.p4"
#include "../include/parser.p4"
#include "../include/counters.p4"
#include "../include/bridge.p4"
#include "../include/classifier.p4"
#include "../include/service_flow.p4"
#include "../include/docsis_pie.p4"
#include "../include/token_bucket.p4"
#include "../include/controller_io.p4"
#include "../include/ingress.p4"
#include "../include/egress.p4"

V1Switch(FrameParser(), NoVerifyChecksum(), FrameIngress(), FrameEgress(),
         NoComputeChecksum(), FrameDeparser()) main;
