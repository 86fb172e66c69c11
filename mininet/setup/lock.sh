#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Resolves pyproject.toml and requirements.in into requirements.lock, and
# requirements-docs.in into requirements-docs.lock.
#
# Usage: lock.sh PYTHON

set -eu
python=$1
cd "$(dirname "$0")/../.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# freeze VENV LOCK UNUSED: writes LOCK anew behind its comments, without the packages UNUSED (a|b).
freeze() {
    {
        sed -n '/^#/p;/^#/!q' "$2"
        "$1/bin/pip" freeze --all | grep -viE "^($3)=="
    } >"$scratch/lock"
    cp "$scratch/lock" "$2"
}

"$python" -m venv "$scratch/venv"
"$scratch/venv/bin/python" - >"$scratch/direct.in" <<'PYTHON'
import tomllib
with open("pyproject.toml", "rb") as file:
    print("\n".join(tomllib.load(file)["project"]["dependencies"]))
PYTHON
"$scratch/venv/bin/pip" install --quiet -r "$scratch/direct.in" -r requirements.in
freeze "$scratch/venv" requirements.lock 'pip|wheel'

"$python" -m venv "$scratch/docs"
"$scratch/docs/bin/pip" install --quiet -r requirements-docs.in
freeze "$scratch/docs" requirements-docs.lock 'pip|setuptools|wheel'
