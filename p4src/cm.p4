// SPDX-License-Identifier: Apache-2.0
//
// Cable modems: CPE ports on one side (CMCI), the RF port, which is the cable,
// on the other. Each CPE port belongs to one of the modems. Upstream frames are
// classified into their modem's service flows, policed and queued towards the
// RF port; downstream frames are bridged to the CPE. The CMTS runs the same pipeline.

#include "include/pipeline.p4"
