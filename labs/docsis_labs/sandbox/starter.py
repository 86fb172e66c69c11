# SPDX-License-Identifier: Apache-2.0
"""The first program in a sandbox: takes the limits on itself, then becomes the program.

It has Python's standard library alone, and is started as
`python -I starter.py '{"processes": 1, ...}' PROGRAM ARGUMENT...`.
"""

import json
import os
import resource
import sys


def main() -> None:
    """Sets the limits, becomes another user where it may, and then the program."""
    limits = json.loads(sys.argv[1])
    program = sys.argv[2:]
    seconds = limits["processor_seconds"]
    for kind, soft, hard in (
        (resource.RLIMIT_CPU, seconds, seconds + 1),
        (resource.RLIMIT_AS, limits["memory"], limits["memory"]),
        (resource.RLIMIT_FSIZE, limits["file_bytes"], limits["file_bytes"]),
        (resource.RLIMIT_NOFILE, limits["open_files"], limits["open_files"]),
        (resource.RLIMIT_CORE, 0, 0),
        (resource.RLIMIT_MEMLOCK, 0, 0),
        (resource.RLIMIT_MSGQUEUE, 0, 0),
    ):
        resource.setrlimit(kind, (soft, hard))
    # The number of processes is counted by user, and root's are not: so it becomes somebody who
    # has no other process and owns no file.
    user = limits["user"]
    if user is not None:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    processes = limits["processes"]
    if processes is not None:
        resource.setrlimit(resource.RLIMIT_NPROC, (processes, processes))
    os.execv(program[0], program)


main()
