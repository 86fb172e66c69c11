# SPDX-License-Identifier: Apache-2.0
"""Submissions of exercise 5 that nobody wants, and what each of them is told."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

Maker = Callable[[Path], None]

HEAD: Final = "def queue_delay(a, b, c, d):\n"


def text(content: str) -> Maker:
    def make(folder: Path) -> None:
        (folder / "law.py").write_text(content)

    return make


def body(*lines: str) -> Maker:
    return text(HEAD + "".join(f"    {line}\n" for line in lines))


def link(folder: Path) -> None:
    (folder / "law.py").symlink_to("/etc/passwd")


def fifo(folder: Path) -> None:
    os.mkfifo(folder / "law.py")


def a_folder(folder: Path) -> None:
    (folder / "law.py").mkdir()


def huge(folder: Path) -> None:
    with (folder / "law.py").open("wb") as file:
        file.truncate(1 << 40)


def binary(folder: Path) -> None:
    (folder / "law.py").write_bytes(b"\xff\xfe\x00\x01")


def nothing(folder: Path) -> None:
    """The folder stays empty."""


HOSTILE: Final[Mapping[str, tuple[Maker, str]]] = {
    "loops": (body("while True: pass"), "too-slow"),
    "sleeps": (body("import time", "time.sleep(3600)"), "too-slow"),
    "loops-at-import": (text("while True: pass\n"), "too-slow"),
    "floods": (body("while True: print('x' * 1000)"), "too-much-output"),
    "floods-answers": (
        body(
            "import os",
            "while True:",
            "    for n in range(3, 9):",
            "        try:",
            "            os.write(n, b'[' * 60000)",
            "        except OSError: pass",
        ),
        "too-much-output",
    ),
    "forks": (body("import os", "while True: os.fork()"), "raises"),
    "starts-threads": (
        body("import threading", "threading.Thread(target=print).start()", "return 0"),
        "raises",
    ),
    "grows": (body("x = []", "while True: x.append(bytes(1 << 20))"), "too-much-memory"),
    "writes-outside": (body("open('/tmp/docsis-lab-was-here', 'w')"), "raises"),
    "writes-at-home": (body("open('/inside/law.py', 'w')"), "raises"),
    "reads-passwords": (body("return open('/etc/shadow').read()"), "raises"),
    "calls-home": (
        body("import socket", "socket.create_connection(('192.0.2.1', 80), 1)"),
        "raises",
    ),
    "kills": (body("import os", "os.kill(-1, 9)", "return 0"), ""),
    "exits": (body("import os", "os._exit(0)"), "ended"),
    "crashes": (body("import ctypes", "ctypes.string_at(0)"), "ended"),
    "forges": (
        body(
            "import os",
            "for n in range(3, 9):",
            "    try:",
            "        os.write(n, b'{\"values\": [0]}\\n')",
            "    except OSError: pass",
            "return 0",
        ),
        "",
    ),
    "nests": (body("x = []", "for _ in range(5000): x = [x]", "return x"), "bad-answer"),
    "not-a-number": (body("return float('nan')"), "bad-answer"),
    "huge-number": (body("return 10**400"), "wrong-queue-delay"),
    "does-not-compile": (text("def update(:\n"), "does-not-import"),
    "link": (link, "no-file"),
    "fifo": (fifo, "no-file"),
    "a-folder": (a_folder, "no-file"),
    "huge": (huge, "too-long"),
    "binary": (binary, "not-text"),
    "no-file": (nothing, "missing-file"),
}
"""How it is made, and the mistake that its first criterion names; "" where that is of no account:
it has no points, and that is all."""
