#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Installs Debian packages, those that are missing: all that the testbed and its
# tests need; only what makes the Python environment (python); only that and what
# the testbed is built with, and virtual time runs with (build); only those and what
# runs in Mininet need (run); or besides all of them the browser that plays videos
# (video).
# Starts no service and enables none.
#
# Usage: debian-packages.sh PYTHON [python|build|run|video]
# OS_RELEASE names another file than /etc/os-release, and POLICY_RC_D another than
# /usr/sbin/policy-rc.d; tests give them.

set -eu
python=$1
only=${2:-}
missing=

# invoke-rc.d and deb-systemd-invoke ask this file whether a package may start
# its service: 101 is no. An administrator's own file, without the mark, rules.
policy=${POLICY_RC_D:-/usr/sbin/policy-rc.d}
mark="# Written by set-up of docsis-p4, which removes it as soon as its packages are installed."

if [ "$(id -u)" = 0 ]; then
    # Set-up calls this script from several targets at a time, and several clones may be set
    # up on one machine, and apt-get does not wait for another one.
    exec 9<"${policy%/*}"
    flock 9
    # Nobody else has the lock, so that whoever wrote this was killed.
    if grep -qsxF "$mark" "$policy"; then
        rm -f "$policy"
    fi
fi

# Ubuntu's packages chromium and chromium-driver only install a snap, which brings
# snapd along, has no chromium on root's PATH and cannot be started by tests.
system=$(sed -n 's/^ID=//p' "${OS_RELEASE:-/etc/os-release}" 2>/dev/null | tr -d '"') || system=
if [ "$system" = ubuntu ]; then
    browser=snap
else
    browser=package
fi

# need PACKAGE COMMAND: the package is wanted when the command is not there.
need() {
    if ! PATH="$PATH:/usr/sbin:/sbin" command -v "$2" >/dev/null 2>&1; then
        missing="$missing $1"
    fi
}

if [ "$only" != python ] && [ "$only" != build ]; then
    need mininet mnexec
    need iperf3 iperf3
    need irtt irtt
    need tcpdump tcpdump
    need kmod modprobe
    need iputils-ping ping
    need iproute2 ip
    need procps ps
    # A file, not a command: Mininet's Python package.
    [ -f /usr/lib/python3/dist-packages/mininet/__init__.py ] || missing="$missing mininet"
fi
if [ "$only" != python ] && [ "$only" != build ] && [ "$only" != run ]; then
    # Students' programs are graded in its sandbox.
    need bubblewrap bwrap
    # Only tests call these: they look at what was set with a program that is not ours.
    need ethtool ethtool
    need snmp snmpwalk
    # And the live page's, which look at it in a browser without a window; they are
    # skipped where there is none. It is larger than all the rest.
    if [ "$browser" = package ]; then
        need chromium chromium
        need chromium-driver chromedriver
    fi
fi
if [ "$only" = video ]; then
    if [ "$browser" = snap ] && ! command -v chromium >/dev/null 2>&1; then
        echo "set-up: Ubuntu has Chromium only as a snap; put a chromium that is no snap on PATH for adaptive videos in Mininet" >&2
        exit 1
    fi
    need chromium chromium
fi
if [ "$only" != python ]; then
    need gcc cc
    # Files, not commands: libc's start files for the linker.
    [ -f /usr/include/stdlib.h ] || missing="$missing libc6-dev"
fi
# Debian's Python leaves ensurepip to a package of its own; pyenv's has it.
"$python" -c 'import ensurepip, venv' 2>/dev/null || missing="$missing python3-venv"

if [ -z "$missing" ]; then
    exit 0
fi
if [ "$(id -u)" != 0 ]; then
    echo "set-up: these Debian packages are missing:$missing; run make as root, or install them yourself" >&2
    exit 1
fi
if ! command -v apt-get >/dev/null 2>&1; then
    echo "set-up: these programs' Debian packages are missing:$missing; this system has no apt-get, install them yourself" >&2
    exit 1
fi

if [ ! -e "$policy" ]; then
    # Without a trap of its own a signal ends the shell at once, and EXIT is not looked at.
    trap 'rm -f "$policy"' EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM
    printf '#!/bin/sh\n%s\nexit 101\n' "$mark" >"$policy"
    chmod 755 "$policy"
fi

# Services that these packages bring; whatever was enabled before stays so.
services="irtt.service iperf3.service"
enabled_before=
for service in $services; do
    if [ -e "/etc/systemd/system/multi-user.target.wants/$service" ]; then
        enabled_before="$enabled_before $service"
    fi
done

echo "set-up: installing Debian packages:$missing"
export DEBIAN_FRONTEND=noninteractive
# A machine that has just started updates itself, and holds apt's locks for minutes.
# apt-get waits for that of dpkg if it is told to, but never for that of its lists.
update() {
    words=$(LC_ALL=C apt-get -o DPkg::Lock::Timeout=300 update -q 2>&1 >&3)
}
tries=60
until update 3>&1; do
    case $words in
    *"Could not get lock"*) ;;
    *) tries=0 ;;
    esac
    if [ "$tries" = 0 ]; then
        printf '%s\n' "$words" >&2
        echo "set-up: apt-get update failed; mend what it says, and run make again" >&2
        exit 1
    fi
    [ "$tries" != 60 ] || echo "set-up: another program updates the lists of packages; waiting up to 5 minutes for it"
    tries=$((tries - 1))
    sleep 5
done
[ -z "$words" ] || printf '%s\n' "$words" >&2
# Recommended packages of mininet are Open vSwitch and its services: not used here.
# shellcheck disable=SC2086 # a list of words
apt-get -o DPkg::Lock::Timeout=300 install -q -y --no-install-recommends $missing

for service in $services; do
    case " $enabled_before " in
    *" $service "*) ;;
    *)
        link=/etc/systemd/system/multi-user.target.wants/$service
        if [ -L "$link" ]; then
            echo "set-up: $service stays disabled; the testbed starts its own"
            rm -f "$link"
        fi
        ;;
    esac
done
