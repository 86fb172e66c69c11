#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Gives folders that root has made in a user's clone to the user who called sudo, so
# that make works there without sudo afterwards. Follows no symbolic link: the Python
# environment has some that lead into the system.
#
# Usage: give-back.sh FOLDER..., each relative to the clone

set -eu
cd "$(dirname "$0")/../.."
if [ "$(id -u)" != 0 ] || [ -z "${SUDO_UID:-}" ] || [ "$(stat -c %u .)" != "$SUDO_UID" ]; then
    exit 0
fi
for folder in "$@"; do
    if [ -e "$folder" ] || [ -L "$folder" ]; then
        chown -R -P -h "$SUDO_UID:${SUDO_GID:-}" -- "$folder"
    fi
done
