#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Makes Debian's Mininet importable in .venv.
#
# Usage: mininet-package.sh VENV

set -eu
venv=$1
cd "$(dirname "$0")/../.."
site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
# Only Mininet from Debian's Python packages, not the other ones beside it.
ln -sfn /usr/lib/python3/dist-packages/mininet "$site/mininet"
"$venv/bin/python" -c 'import mininet.net' || {
    echo "set-up: Debian's Mininet cannot be imported from $site/mininet; reinstall the package mininet" >&2
    exit 1
}
