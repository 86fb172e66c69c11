# SPDX-License-Identifier: Apache-2.0
"""P4Runtime: connection and arbitration, pipelines, entities by name, packet I/O."""

import os

# gRPC's core would log on its own that a switch went away; this package says so
# in words. Read by grpc when it is first imported.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")
