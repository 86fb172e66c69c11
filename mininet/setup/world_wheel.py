# SPDX-License-Identifier: Apache-2.0
"""Packs the built extension module of the virtual world into a wheel.

    python world_wheel.py SHARED_LIBRARY FOLDER

cargo has built the library with the switch, so that nothing is compiled twice. Prints the wheel's
path. The wheel is of the distribution docsis-world; its version is the switch's.
"""

from __future__ import annotations

import base64
import hashlib
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
PACKAGE: Final = ROOT / "switch/crates/docsis-world/python/docsis_world"
TAG: Final = f"cp311-abi3-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"

_LONG_AGO: Final = (1980, 1, 1, 0, 0, 0)
"""The same library makes the same wheel."""


def _version() -> str:
    manifest = tomllib.loads((ROOT / "switch/Cargo.toml").read_text())
    return str(manifest["workspace"]["package"]["version"])


def pack(library: Path, folder: Path) -> Path:
    """Write the wheel.

    Args:
        library: The library that cargo built.
        folder: Gets the wheel; is made where it is missing.

    Returns:
        The wheel's path.
    """
    version = _version()
    information = f"docsis_world-{version}.dist-info"
    metadata = (
        f"Metadata-Version: 2.1\nName: docsis-world\nVersion: {version}\n"
        "Summary: P4 devices, links, hosts and their traffic in virtual time\n"
        "License: Apache-2.0\nRequires-Python: >=3.11\n"
    )
    kind = f"Wheel-Version: 1.0\nGenerator: world_wheel\nRoot-Is-Purelib: false\nTag: {TAG}\n"
    contents = {
        **{
            f"docsis_world/{name}": (PACKAGE / name).read_bytes()
            for name in ("__init__.py", "__init__.pyi", "py.typed")
        },
        "docsis_world/_world.abi3.so": library.read_bytes(),
        f"{information}/METADATA": metadata.encode(),
        f"{information}/WHEEL": kind.encode(),
    }
    record = f"{information}/RECORD"
    lines = [
        f"{name},sha256={_digest(content)},{len(content)}\n" for name, content in contents.items()
    ]
    contents[record] = "".join([*lines, f"{record},,\n"]).encode()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"docsis_world-{version}-{TAG}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as wheel:
        for name, content in contents.items():
            entry = zipfile.ZipInfo(name, _LONG_AGO)
            entry.external_attr = 0o644 << 16
            wheel.writestr(entry, content)
    return path


def _digest(content: bytes) -> str:
    digest = hashlib.sha256(content).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


if __name__ == "__main__":
    print(pack(Path(sys.argv[1]), Path(sys.argv[2])))
