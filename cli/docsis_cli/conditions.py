# SPDX-License-Identifier: Apache-2.0
"""A classifier's conditions in few words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_PORTS: Final = {"start": "0", "end": "65535"}
"""A range of ports that has only one end has this for the other."""

_MASKS: Final = {
    "source_address": ("source_mask", "source_prefix_length"),
    "destination_address": ("destination_mask", "destination_prefix_length"),
}


def short(match: Mapping[str, str]) -> str:
    """Conditions by their keys in the configuration file, on one line.

    The keys lose their group, ranges and masks become one value: a port from 5060 to 5061 is
    dst_port=5060-5061, a ToS byte tos=0xb8-0xb8&0xfc, an address src_address=10.0.0.0/255.0.0.0.
    """
    values: dict[str, dict[str, str]] = {}
    for key, value in match.items():
        _, _, rest = key.partition(".")
        name, _, part = (rest or key).partition(".")
        values.setdefault(name, {})[part] = value
    words: dict[str, str] = {}
    for name, parts in values.items():
        _put(words, name, parts)
    for name, masks in _MASKS.items():
        for mask in masks:
            given = words.pop(mask, None)
            if given is not None and name in words:
                words[name] += f"/{given}"
    shown = " ".join(f"{_shorter(name)}={value}" for name, value in words.items())
    return shown or "all frames"


def _put(words: dict[str, str], name: str, parts: Mapping[str, str]) -> None:
    for end in _PORTS:
        if name.endswith(f"_port_{end}"):
            port = name.removesuffix(f"_{end}")
            low, high = words.get(port, "-".join(_PORTS.values())).split("-")
            words[port] = f"{parts['']}-{high}" if end == "start" else f"{low}-{parts['']}"
            return
    if "low" in parts:
        masked = f"&{parts['mask']}" if "mask" in parts else ""
        words[name] = f"{parts['low']}-{parts['high']}{masked}"
    elif "address" in parts:
        masked = f"&{parts['mask']}" if "mask" in parts else ""
        words[name] = f"{parts['address']}{masked}"
    elif "value" in parts:
        words[parts.get("kind", name)] = parts["value"]
    else:
        words[name] = next(iter(parts.values()))


def _shorter(name: str) -> str:
    return name.replace("destination", "dst").replace("source", "src")
