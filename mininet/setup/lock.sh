#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Resolves pyproject.toml and requirements.in into requirements.lock.
#
# Usage: lock.sh PYTHON

set -eu
python=$1
cd "$(dirname "$0")/../.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

"$python" -m venv "$scratch/venv"
"$scratch/venv/bin/python" - >"$scratch/direct.in" <<'PYTHON'
import tomllib
with open("pyproject.toml", "rb") as file:
    print("\n".join(tomllib.load(file)["project"]["dependencies"]))
PYTHON
# PTF asks for these, for transports that are not used here; some have no wheel
# for Python 3.11 and would want a compiler.
unused='pip|wheel|netifaces|pynng|cffi|pycparser|getmac|scapy-helper|tabulate|pyperclip'
"$scratch/venv/bin/pip" install --quiet -r "$scratch/direct.in" -r requirements.in
{
    sed -n '/^#/p;/^#/!q' requirements.lock
    "$scratch/venv/bin/pip" freeze --all | grep -viE "^($unused)=="
} >"$scratch/requirements.lock"
cp "$scratch/requirements.lock" requirements.lock
