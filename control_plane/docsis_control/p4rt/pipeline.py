# SPDX-License-Identifier: Apache-2.0
"""Compiled P4 programs: P4Info and the target's JSON, checked against each other."""

import functools
import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from finsy import P4Schema
from finsy.proto import p4i
from google.protobuf import text_format

from docsis_control.project_files import ROOT

BUILD_FOLDER: Final = ROOT / "p4src" / "build"
"""The project's folder of p4c's output."""

_MOST_KEPT: Final = 4
"""Programs; a testbed has two."""


class PipelineError(Exception):
    """A compiled program that cannot be used; the message says which file and why."""


@dataclass(frozen=True)
class Pipeline:
    """A compiled program.

    Attributes:
        name: Name of the program, such as "cm".
        p4info: Its P4Info.
        device_config: The target's JSON, as in the file.
        schema: Names of the P4Info to their descriptions.
        cookie: A hash of both files.
    """

    name: str
    p4info: Any
    device_config: bytes
    schema: Any
    cookie: int


def load_pipeline(program: str, folder: Path = BUILD_FOLDER) -> Pipeline:
    """Reads FOLDER/PROGRAM.p4info.txtpb and FOLDER/PROGRAM.json.

    Files with the same content may be the same object, which nobody changes.

    Raises:
        PipelineError: A file is missing or broken, or the two do not belong together.
    """
    info_file = folder / f"{program}.p4info.txtpb"
    json_file = folder / f"{program}.json"
    return _parsed(program, info_file, _read(info_file), json_file, _read(json_file))


# A P4Info in text takes a tenth of a second, and a process needs the same one again and again.
@functools.lru_cache(maxsize=_MOST_KEPT)
def _parsed(
    program: str, info_file: Path, info_text: bytes, json_file: Path, device_config: bytes
) -> Pipeline:
    try:
        p4info = text_format.Parse(info_text.decode("utf-8"), p4i.P4Info())
    except (text_format.ParseError, UnicodeDecodeError) as error:
        raise PipelineError(f"{info_file}: is not a P4Info: {error}; run make p4") from None
    try:
        config = json.loads(device_config)
    except ValueError as error:
        raise PipelineError(f"{json_file}: is not JSON: {error}; run make p4") from None
    if not isinstance(config, dict):
        raise PipelineError(f"{json_file}: is not a pipeline's JSON; run make p4")
    _check_match(info_file, json_file, p4info, config)
    digest = hashlib.sha256(info_text + b"\0" + device_config).digest()
    return Pipeline(
        name=program,
        p4info=p4info,
        device_config=device_config,
        schema=_schema(p4info),
        cookie=int.from_bytes(digest[:8], "big"),
    )


def _schema(p4info: Any) -> Any:
    schema = P4Schema()
    schema.set_p4info(p4info)
    return schema


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        reason = error.strerror or "cannot be read"
        raise PipelineError(
            f"{file}: {reason}; the compiled pipeline belongs there, run make p4"
        ) from None


def _check_match(info_file: Path, json_file: Path, p4info: Any, config: dict[str, Any]) -> None:
    """Every table and register of the P4Info must be in the JSON."""
    in_json = {
        "table": {
            table.get("name")
            for pipeline in config.get("pipelines", ())
            for table in pipeline.get("tables", ())
        },
        "register": {array.get("name") for array in config.get("register_arrays", ())},
    }
    in_info: dict[str, Iterable[Any]] = {"table": p4info.tables, "register": p4info.registers}
    for kind, entities in in_info.items():
        for entity in entities:
            if entity.preamble.name not in in_json[kind]:
                raise PipelineError(
                    f'{info_file}: the {kind} "{entity.preamble.name}" is not in {json_file}; '
                    "the two files are of different builds, run make p4"
                )
