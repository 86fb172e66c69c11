#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Builds the virtual world and makes its Python module importable in .venv.
#
# Usage: world-module.sh VENV

set -eu
venv=$1
cd "$(dirname "$0")/../.."
package=$PWD/switch/crates/docsis-world/python
built=${CARGO_TARGET_DIR:-$PWD/switch/target}/release/libdocsis_world.so
(cd switch && cargo build --release --locked --quiet --package docsis-world)
# One that a running program has loaded is replaced, never written over.
cp "$built" "$package/docsis_world/.new.so"
mv "$package/docsis_world/.new.so" "$package/docsis_world/_world.abi3.so"
site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
echo "$package" >"$site/docsis_world.pth"
"$venv/bin/python" -c 'import docsis_world'
