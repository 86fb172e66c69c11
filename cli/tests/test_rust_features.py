# SPDX-License-Identifier: Apache-2.0
"""The switch and the virtual world, each built without the other, share what cargo has compiled."""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

SWITCH = Path(__file__).resolve().parents[2] / "switch"


def _packages(*crates: str, options: Sequence[str] = ()) -> set[str]:
    """What cargo compiles for these crates: name, version and features, as cargo tells them."""
    cargo = shutil.which("cargo")
    assert cargo is not None, "set-up has compiled the switch with it"
    tree = subprocess.run(
        [
            cargo,
            *("tree", "--locked", "--offline", "--edges", "normal,build", "--prefix", "none"),
            *("--no-dedupe", "--format", "{p} [{f}]"),
            *options,
            *(word for crate in crates for word in ("--package", crate)),
        ],
        cwd=SWITCH,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return set(tree.stdout.split("\n")) - {""}


@pytest.mark.parametrize("options", [(), ("--no-default-features",)])
def test_no_dependency_is_compiled_twice(options: Sequence[str]) -> None:
    """A feature that one of them asks for alone would compile what depends on it a second time."""
    switch, world = (_packages(name, options=options) for name in ("docsis-switch", "docsis-world"))
    both = _packages("docsis-switch", "docsis-world", options=options)
    assert len(switch & world) > 100, "they share what they are made of"
    assert switch | world == both


def test_the_demo_compiles_no_tls() -> None:
    """`make demo` builds its switch with these options; the whole one has TLS."""
    tls = {"ring", "rustls", "tokio-rustls"}
    for options, wanted in (((), tls), (("--no-default-features",), set())):
        built = {line.split()[0] for line in _packages("docsis-switch", options=options)}
        assert tls & built == wanted
