// SPDX-License-Identifier: Apache-2.0
//
// CMTS: network ports on one side (NSI), the RF port on the other.
// Downstream frames are classified into the modems' service flows, policed
// and queued towards the RF port; upstream frames are bridged to the network.

#include <core.p4>
#include <v1model.p4>

#include "include/sizes.p4"
#include "include/types.p4"
#include "include/headers.p4"
#include "include/parser.p4"
#include "include/counters.p4"
#include "include/bridge.p4"
#include "include/classifier.p4"
#include "include/service_flow.p4"
#include "include/control_law.p4"
#include "include/docsis_pie.p4"
#include "include/pie.p4"
#include "include/departure_rate.p4"
#include "include/ramp.p4"
#include "include/adaptive_red.p4"
#include "include/codel.p4"
#include "include/lred.p4"
#include "include/flow_queue.p4"
#include "include/queue_managers.p4"
#include "include/resynchronize.p4"
#include "include/token_bucket.p4"
#include "include/requests.p4"
#include "include/tos_overwrite.p4"
#include "include/controller_io.p4"
#include "include/ingress.p4"
#include "include/egress.p4"

V1Switch(FrameParser(), NoVerifyChecksum(), FrameIngress(), FrameEgress(),
         NoComputeChecksum(), FrameDeparser()) main;
