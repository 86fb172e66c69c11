# SPDX-License-Identifier: Apache-2.0
"""docs/modem-configuration.md lists every key, as the models have it."""

from collections.abc import Iterator
from pathlib import Path

from docsis_control.modem_config import ModemConfiguration
from docsis_control.modem_config.aggregate import Aggregate, keys
from docsis_control.modem_config.classifiers import Classifier
from docsis_control.modem_config.service_flows import DownstreamServiceFlow, UpstreamServiceFlow

DOCS = Path(__file__).resolve().parents[2] / "docs" / "modem-configuration.md"


def rows(model: type[Aggregate], types: str, prefix: str = "") -> Iterator[tuple[str, str]]:
    """TLV, and the row of the table without it, of every key of a model."""
    for key in sorted(keys(model), key=lambda key: key.wire.type):
        form = key.wire.codec.form if key.wire.codec else "TLVs"
        tlv = f"{types}{key.wire.type}"
        yield tlv, f"`{prefix}{key.name}` | {key.wire.name} | {form} |"
        if key.inner and not key.repeated:
            yield from rows(key.inner, f"{tlv}.", f"{prefix}{key.name}.")


def table() -> list[str]:
    """The rows of the documentation."""
    found = [f"| {tlv} | {row}" for tlv, row in rows(ModemConfiguration, "")]
    found += [f"| {tlv} | {row}" for tlv, row in rows(Classifier, "22/23.")]
    upstream = dict(rows(UpstreamServiceFlow, "."))
    downstream = dict(rows(DownstreamServiceFlow, "."))
    for tlv in sorted(upstream.keys() | downstream.keys(), key=_numbers):
        if upstream.get(tlv) == downstream.get(tlv):
            found.append(f"| 24/25{tlv} | {upstream[tlv]}")
            continue
        if tlv in upstream:
            found.append(f"| 24{tlv} | {upstream[tlv]}")
        if tlv in downstream:
            found.append(f"| 25{tlv} | {downstream[tlv]}")
    return found


def _numbers(tlv: str) -> list[int]:
    return [int(part) for part in tlv.split(".") if part]


def test_the_documentation_lists_every_key() -> None:
    there = [line for line in DOCS.read_text().splitlines() if line.startswith("| ")]
    rows_there = [line for line in there if line[2].isdigit()]
    # cm_mic and cmts_mic, 6 and 7, and the end of data are described beside the table.
    assert rows_there == table()


if __name__ == "__main__":
    print("\n".join(table()))
