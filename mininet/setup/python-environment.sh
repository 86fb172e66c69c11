#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Makes .venv from requirements.lock, with this project importable in it; or only the part that
# cargo reads, the P4Runtime protocol's files, so that it need not wait for the rest.
#
# Usage: python-environment.sh PYTHON VENV [protocol]

set -eu
python=$1
venv=$2
only=${3:-}
cd "$(dirname "$0")/../.."

version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])') || {
    echo "set-up: $python does not run; give a Python 3.11, 3.12 or 3.13 with make PYTHON=..." >&2
    exit 1
}
case $version in
3.11 | 3.12 | 3.13) ;;
*)
    echo "set-up: $python is Python $version; give a Python 3.11, 3.12 or 3.13 with make PYTHON=..." >&2
    exit 1
    ;;
esac

# An environment that points to a Python that is gone cannot be mended, and one of another version
# would keep that version's packages.
made=$("$venv/bin/python" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) || made=
if [ "$made" != "$version" ]; then
    echo "set-up: making $venv with $("$python" --version)"
    rm -rf "$venv"
    "$python" -m venv "$venv"
fi

pip() {
    PIP_DISABLE_PIP_VERSION_CHECK=1 "$venv/bin/python" -m pip "$@"
}
if [ "$only" = protocol ]; then
    pip install --quiet --progress-bar off --no-deps "$(grep '^finsy==' requirements.lock)"
    exit 0
fi

echo "set-up: installing Python packages from requirements.lock"
# The lock is complete, so there is nothing to resolve. What a first run imports is a small part, so it
# does not wait for the byte code of all.
pip install --quiet --progress-bar off --no-deps --no-compile --requirement requirements.lock
pip install --quiet --no-deps --no-build-isolation --editable .

site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
# The stubs generated below import each other by the package of their .proto.
echo "$PWD/control_plane/docsis_control/gen" >"$site/docsis_p4_generated.pth"
