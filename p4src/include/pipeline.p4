// SPDX-License-Identifier: Apache-2.0
//
// The pipeline of a DOCSIS bridge, which the cable modems' switch and the CMTS share:
// what it is made of, in which order, and its one instance. Frames towards the RF port,
// which is the cable, are classified into service flows, policed and queued; frames from
// it are bridged. Which of the two a switch is, its tables say (docs/p4-contract.md).

#include <core.p4>
#include <v1model.p4>

#include "sizes.p4"
#include "types.p4"
#include "headers.p4"
#include "parser.p4"
#include "counters.p4"
#include "bridge.p4"
#include "classifier.p4"
#include "service_flow.p4"
#include "control_law.p4"
#include "queue_managers.p4"
#include "resynchronize.p4"
#include "token_bucket.p4"
#include "requests.p4"
#include "tos_overwrite.p4"
#include "controller_io.p4"
#include "ingress.p4"
#include "egress.p4"

V1Switch(FrameParser(), NoVerifyChecksum(), FrameIngress(), FrameEgress(),
         NoComputeChecksum(), FrameDeparser()) main;
