# SPDX-License-Identifier: Apache-2.0
"""Fuzzes a target with atheris: `make fuzz TARGET=experiment MINUTES=10`. See README.md."""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Final

import atheris

ROOT: Final = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "experiments" / "tests"))

# What is instrumented tells the fuzzer which lines an input reached.
with atheris.instrument_imports(
    include=["docsis_control", "docsis_experiments", "fuzz_cases", "ruamel.yaml"]
):
    from fuzz_cases import TARGETS, RefusedSeed, used_seeds
    from fuzz_cases.mutation import mutated


def main(argv: list[str]) -> None:
    """Fuzzes until libFuzzer's options say that it is enough, or until something is found.

    Args:
        argv: The program, the target, and what libFuzzer takes: folders of inputs, options.
    """
    if len(argv) < 2 or argv[1] not in TARGETS:
        sys.exit(f"give one of these targets: {', '.join(TARGETS)}")
    name = argv[1]
    target = TARGETS[name]
    seeds = ROOT / "experiments" / "fuzz" / "corpus" / name
    seeds.mkdir(parents=True, exist_ok=True)
    try:
        for number, seed in enumerate(used_seeds(name)):
            (seeds / f"seed-{number}").write_bytes(seed)
    except RefusedSeed as error:
        sys.exit(str(error))

    def changed(data: bytes, most: int, seed: int) -> bytes:
        other = mutated(data, target.form, random.Random(seed))
        return other if len(other) <= most else data[:most]

    def tested(data: bytes) -> None:
        # Refused inputs stay in the corpus as well: how a refusal is reached is tested, too.
        target.case(data)

    atheris.Setup([argv[0], *argv[2:], str(seeds)], tested, custom_mutator=changed)
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv)
