// SPDX-License-Identifier: Apache-2.0
//
// CMTS: network ports on one side (NSI), the RF port on the other. Downstream
// frames are classified into the modems' service flows, policed and queued
// towards the RF port; upstream frames are bridged to the network. The cable
// modems run the same pipeline.

#include "include/pipeline.p4"
