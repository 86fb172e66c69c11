#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Generates the Python stubs of the switch's own gRPC services.
#
# Usage: proto-stubs.sh VENV

set -eu
venv=$1
cd "$(dirname "$0")/../.."
out=control_plane/docsis_control/gen
echo "set-up: generating $out from switch/proto"
mkdir -p "$out"
"$venv/bin/python" -m grpc_tools.protoc --proto_path=switch/proto \
    --python_out="$out" --pyi_out="$out" --grpc_python_out="$out" \
    docsis/tm/v1/traffic_manager.proto docsis/switch/v1/switch.proto \
    docsis/mac/v1/channel_state.proto docsis/mac/v1/upstream_channels.proto
# Regular packages, so that tools find them without namespace rules.
for package in docsis docsis/tm docsis/tm/v1 docsis/mac docsis/mac/v1 docsis/switch docsis/switch/v1; do
    : >"$out/$package/__init__.py"
done
