#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Puts the extension module docsis_world, which cargo has built with the switch,
# into the Python environment. Does nothing where it is there already.
#
# Usage: world-module.sh VENV

set -eu
venv=$1
cd "$(dirname "$0")/../.."
target=${CARGO_TARGET_DIR:-switch/target}
library=$target/release/libdocsis_world.so
stub=switch/crates/docsis-world/python/docsis_world

if [ ! -f "$library" ]; then
    echo "set-up: $library is missing; run cargo build --release in switch/" >&2
    exit 1
fi
site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("platlib"))')
installed=$site/docsis_world
if cmp -s "$library" "$installed/_world.abi3.so" &&
    cmp -s "$stub/__init__.pyi" "$installed/__init__.pyi" &&
    cmp -s "$stub/__init__.py" "$installed/__init__.py"; then
    exit 0
fi
echo "set-up: installing the virtual world's Python module"
wheel=$("$venv/bin/python" mininet/setup/world_wheel.py "$library" "$target/wheels")
PIP_DISABLE_PIP_VERSION_CHECK=1 "$venv/bin/python" -m pip install \
    --quiet --no-deps --no-index --force-reinstall "$wheel"
