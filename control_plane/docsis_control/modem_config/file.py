# SPDX-License-Identifier: Apache-2.0
"""Configuration files, binary and YAML: checked when read, and each had from the other.

A file that breaks a rule is refused as a whole, with every fault at its line and key
or at its TLV and byte.
"""

import hmac
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.scalarstring import DoubleQuotedScalarString

from docsis_control.config.errors import ConfigError, Problem
from docsis_control.config.yaml_file import Document, Location, explain, parse, plain, validate
from docsis_control.modem_config import mic
from docsis_control.modem_config.aggregate import Places, decode, format_hex, tlv_path
from docsis_control.modem_config.document import AUTO, NONE, ModemConfiguration
from docsis_control.modem_config.rules import Channel, Limits, Violation, check, check_lengths
from docsis_control.modem_config.tlv import (
    CM_MIC,
    CMTS_MIC,
    MIC_LENGTH,
    PAD,
    Image,
    Tlv,
    TlvError,
    place,
    read_image,
    usual_padding,
    write_image,
)


@dataclass(frozen=True)
class Decoded:
    """A file as it was read.

    Attributes:
        configuration: The configuration.
        warnings: Sentences on faults in correct TLVs that a modem or CMTS would refuse.
    """

    configuration: ModemConfiguration
    warnings: tuple[str, ...] = ()


def from_bytes(
    data: bytes,
    file: Path,
    *,
    secret: bytes | None = None,
    limits: Limits | None = None,
    channel: Channel | None = None,
) -> Decoded:
    """Reads a binary configuration file.

    A CM MIC that is right becomes `auto`, which is the default; so does a CMTS MIC that
    is right for `secret`. Any other is kept as it is.

    Args:
        file: Its place in errors.

    Raises:
        ConfigError: It cannot be used; the key of a problem names the TLV and the byte.
    """
    places = Places()
    try:
        image = read_image(data)
        content = [tlv for tlv in image.tlvs if tlv.type not in (PAD, CM_MIC, CMTS_MIC)]
        fields = decode(ModemConfiguration, content, places)
        warnings = _read_mics(image, fields, places, secret)
    except TlvError as error:
        problem = Problem(file, 0, place(error.path, error.offset), error.message)
        raise ConfigError([problem]) from None
    order = [tlv.type for tlv in image.tlvs]
    fields.pop("tlv_order", None)
    if PAD in order or order != sorted(order, key=ModemConfiguration.rank):
        fields["tlv_order"] = order
    end = len(data) - image.padding
    if image.padding != usual_padding(end):
        fields["padding"] = image.padding
    try:
        configuration = ModemConfiguration.model_validate(fields)
    except ValidationError as error:
        faults = [
            Violation(location, sentence)
            for _, location, sentence in explain(ModemConfiguration, error)
        ]
        raise _refused(file, faults, places) from None
    violations = check(configuration, limits, channel)
    if violations:
        raise _refused(file, violations, places)
    return Decoded(configuration, warnings)


def _refused(file: Path, faults: list[Violation], places: Places) -> ConfigError:
    problems = []
    for fault in faults:
        path, offset = places.of(fault.location)
        key = ".".join(map(str, fault.location))
        problems.append(Problem(file, 0, place(path, offset), f"{key}: {fault.message}"))
    return ConfigError(problems)


def _read_mics(
    image: Image, fields: dict[str, Any], places: Places, secret: bytes | None
) -> tuple[str, ...]:
    warnings = []
    for kind, key in ((CM_MIC, "cm_mic"), (CMTS_MIC, "cmts_mic")):
        there = [tlv for tlv in image.tlvs if tlv.type == kind]
        if len(there) > 1:
            raise TlvError(str(kind), there[1].offset, f"{key} is given twice")
        if not there:
            if kind == CM_MIC:
                fields[key] = NONE
                warnings.append("there is no CM MIC, TLV 6; a modem refuses the file")
            continue
        found = there[0]
        if len(found.value) != MIC_LENGTH:
            raise TlvError(
                str(kind), found.offset, f"holds {len(found.value)} bytes; a MIC has {MIC_LENGTH}"
            )
        places.tlvs[(key,)] = str(kind), found.offset
        fields[key] = format_hex(found.value)
        if kind == CM_MIC:
            right = found.value == mic.cm_mic(image.tlvs)
            wrong = "the CM MIC, TLV 6, does not fit the file; a modem refuses it"
        elif secret is not None:
            right = hmac.compare_digest(found.value, mic.cmts_mic(image.tlvs, secret))
            wrong = "the CMTS MIC, TLV 7, does not fit the file and the shared secret"
        else:
            continue
        if not right:
            warnings.append(wrong)
        elif kind == CMTS_MIC:
            fields[key] = AUTO
        else:
            del fields[key]
    return tuple(warnings)


def from_yaml(
    text: str, file: Path, *, limits: Limits | None = None, channel: Channel | None = None
) -> ModemConfiguration:
    """Reads the YAML of a configuration file.

    Args:
        file: Its place in errors.

    Raises:
        ConfigError: It cannot be used; problems have lines, keys, and the TLV in brackets.
    """
    document = parse(text, file)
    try:
        configuration = validate(document, ModemConfiguration, plain(document.root))
    except ConfigError as error:
        raise ConfigError([_with_tlv(problem) for problem in error.problems]) from None
    violations = [*check_lengths(configuration), *check(configuration, limits, channel)]
    if violations:
        raise ConfigError([_at_line(document, violation) for violation in violations])
    return configuration


def _at_line(document: Document, violation: Violation) -> Problem:
    return _with_tlv(document.problem(violation.location, violation.message))


def _with_tlv(problem: Problem) -> Problem:
    parts = problem.key.split(".")
    location: Location = tuple(int(part) if part.isdigit() else part for part in parts)
    path = tlv_path(ModemConfiguration, location)
    if not path:
        return problem
    return Problem(problem.file, problem.line, problem.key, f"{problem.message} (TLV {path})")


def to_bytes(
    configuration: ModemConfiguration, file: Path, *, secret: bytes | None = None
) -> bytes:
    """The binary configuration file.

    Args:
        file: Place of the configuration in errors.
        secret: Shared with the CMTS, for the CMTS MIC.

    Raises:
        ConfigError: The CMTS MIC is wanted, and there is no secret; or it is given, and
            does not fit the secret that is.
    """
    tlvs = configuration.to_tlvs()
    if configuration.cmts_mic == AUTO and secret is None:
        raise ConfigError(
            [
                Problem(
                    file, 0, "cmts_mic", "auto needs the shared secret, which is not given (TLV 7)"
                )
            ]
        )
    if configuration.cmts_mic is None and secret is not None:
        tlvs.append(Tlv(CMTS_MIC, bytes(MIC_LENGTH)))
    if configuration.cm_mic == AUTO:
        tlvs = _with_digest(tlvs, CM_MIC, mic.cm_mic(tlvs))
    if secret is not None and configuration.cmts_mic != NONE:
        digest = mic.cmts_mic(tlvs, secret)
        given = configuration.cmts_mic
        if given not in (None, AUTO, format_hex(digest)):
            message = "does not fit the file and the shared secret; write auto instead (TLV 7)"
            raise ConfigError([Problem(file, 0, "cmts_mic", message)])
        tlvs = _with_digest(tlvs, CMTS_MIC, digest)
    length = len(write_image(Image(tuple(tlvs), 0)))
    padding = configuration.padding
    return write_image(Image(tuple(tlvs), usual_padding(length) if padding is None else padding))


def _with_digest(tlvs: list[Tlv], kind: int, digest: bytes) -> list[Tlv]:
    return [Tlv(kind, digest) if tlv.type == kind else tlv for tlv in tlvs]


def to_plain(configuration: ModemConfiguration) -> dict[str, Any]:
    """Turns a configuration into what an operator would write, as YAML or JSON has it."""
    shown = _arranged(configuration.model_dump(exclude_unset=True))
    assert isinstance(shown, dict)
    return shown


def _arranged(node: object) -> object:
    if isinstance(node, dict):
        last = [key for key in ("other_tlvs", "tlv_order") if key in node]
        keys = [key for key in node if key not in last] + last
        return {key: _arranged(node[key]) for key in keys}
    if isinstance(node, tuple | list):
        return [_arranged(entry) for entry in node]
    # Older YAML takes digits between colons for a number of base 60.
    if isinstance(node, str) and node.count(":") == 5:
        return DoubleQuotedScalarString(node)
    return node


def to_yaml(configuration: ModemConfiguration) -> str:
    """The YAML of a configuration file."""
    yaml = YAML()
    yaml.indent(mapping=2, sequence=4, offset=2)
    yaml.width = 100
    text = StringIO()
    yaml.dump(to_plain(configuration), text)
    return text.getvalue()
