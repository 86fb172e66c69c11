# SPDX-License-Identifier: Apache-2.0
"""Reads topologies, service tiers, and what a topology names."""

from pathlib import Path
from typing import Any, Final

from docsis_control.config.errors import ConfigError, Problem
from docsis_control.config.models import KeyedError, ServiceTier
from docsis_control.config.yaml_file import Document, Location, plain, quoted, read, validate
from docsis_control.modem_config.document import AUTO, NONE, ModemConfiguration
from docsis_control.modem_config.file import from_bytes, from_yaml
from docsis_control.modem_config.rules import Limits
from docsis_control.modem_config.service_classes import load_service_classes
from docsis_control.project_files import ROOT
from docsis_control.topology.channel_forms import write_out_channels
from docsis_control.topology.models import Topology
from docsis_control.topology.neighbourhood import write_out
from docsis_control.topology.services import check_services

TIERS: Final = "tiers"
"""Folder of the service tiers, beside the topologies."""
PROJECT_TIERS: Final = ROOT / "topologies" / TIERS
"""The project's own tiers, for topologies that lie elsewhere."""

_LARGEST: Final = 1 << 20
"""Bytes of a configuration file that are read."""


def load_tier(file: Path) -> ServiceTier:
    """Reads a service tier.

    Raises:
        ConfigError: With the file, the line and the key.
    """
    document = read(file)
    tier = validate(document, ServiceTier, plain(document.root))
    if tier.name != file.stem:
        raise ConfigError(
            [document.problem(("name",), f'"{tier.name}" must be the file\'s name, "{file.stem}"')]
        )
    return tier


def load_topology(file: Path | str, tier: str | None = None) -> Topology:
    """Reads a topology and what it names: tiers, configuration files, service classes.

    Args:
        file: The topology's YAML file.
        tier: Name of a tier that replaces the topology's: a file, without .yaml, in tiers/
            beside the topology or else in topologies/tiers/ of the project. Modems that have
            a tier or a configuration of their own keep it.

    Raises:
        ConfigError: With the file, the line and the key.
    """
    return topology_of(read(Path(file)), tier)


def topology_of(document: Document, tier: str | None = None) -> Topology:
    """Returns the topology that a document describes; see `load_topology`.

    Raises:
        ConfigError: With the document, the line and the key.
    """
    data = plain(document.root)
    assert isinstance(data, dict)
    channels = write_out_channels(document, data)
    neighbourhood = write_out(document, data)

    def where(location: Location) -> Location:
        return neighbourhood(channels(location))

    named = tier if tier is not None else data.get("tier")
    # A run's record holds the tier itself in place of its name.
    if tier is not None or not isinstance(named, dict | None):
        data["tier"] = named_tier(document, named, ("tier",) if tier is None else None)
    modems = data.get("modems")
    # A file that many modems name is read once.
    loaded: dict[tuple[object, ...], Any] = {}
    for index, modem in enumerate(modems if isinstance(modems, list) else ()):
        if isinstance(modem, dict):
            _resolve(document, modem, where(("modems", index)), loaded)
    classes = data.get("service_classes")
    if isinstance(classes, str):
        data["service_classes"] = load_service_classes(document.file.parent / classes)
    topology = validate(document, Topology, data, where)
    try:
        check_services(topology)
    except KeyedError as error:
        location = tuple(int(p) if p.isdigit() else p for p in error.key.split("."))
        raise ConfigError([document.problem(where(location), str(error))]) from None
    return topology


def _resolve(
    document: Document, modem: dict[str, Any], at: Location, loaded: dict[tuple[object, ...], Any]
) -> None:
    """Puts a modem's tier and configuration file in place of their names."""
    tier = modem.get("tier")
    if not isinstance(tier, dict | None):
        key: tuple[object, ...] = ("tier", str(tier))
        if key not in loaded:
            loaded[key] = named_tier(document, tier, (*at, "tier"))
        modem["tier"] = loaded[key]
    name = modem.get("configuration")
    if isinstance(name, str):
        limits = Limits(
            _number(modem, "service_flows", Limits.service_flows),
            _number(modem, "classifiers", Limits.classifiers),
        )
        key = ("configuration", name, limits)
        if key not in loaded:
            loaded[key] = _load_configuration(
                document.file.parent / name, document.problem((*at, "configuration"), ""), limits
            )
        modem["configuration"] = loaded[key]


def _number(modem: dict[str, Any], key: str, default: int) -> int:
    """A number that validation may still refuse."""
    value = modem.get(key, default)
    return value if isinstance(value, int) else default


def _load_configuration(file: Path, named: Problem, limits: Limits) -> ModemConfiguration:
    def problem(message: str) -> ConfigError:
        return ConfigError([Problem(named.file, named.line, named.key, message)])

    try:
        with file.open("rb") as stream:
            content = stream.read(_LARGEST + 1)
    except OSError as error:
        raise problem(f"{file} cannot be read: {error.strerror}") from None
    if len(content) > _LARGEST:
        raise problem(f"{file} is longer than {_LARGEST} bytes, so it is no modem's")
    if file.suffix == ".cfg":
        configuration = from_bytes(content, file, limits=limits).configuration
        # A CM MIC that fits the file was read as AUTO.
        if configuration.cm_mic not in (AUTO, NONE):
            raise problem(
                f"{file} is damaged or was changed: the CM MIC, TLV 6, does not fit it, so a modem "
                'refuses it; get it anew, or decode it, check it, set "cm_mic: auto" and encode it '
                "again (docsis-p4 config)"
            )
        return configuration
    if file.suffix not in (".yaml", ".yml", ".json"):
        raise problem(f"{file} ends neither in .cfg (binary) nor in .yaml")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        raise problem(f"{file} is not text; binary configuration files end in .cfg") from None
    return from_yaml(text, file, limits=limits)


def named_tier(document: Document, name: object, location: Location | None) -> ServiceTier:
    """Reads the tier that is named at a location, or on the command line.

    It is a file, without .yaml, in tiers/ beside the document or else in the project's own.

    Raises:
        ConfigError: There is none of the name, or it cannot be used.
    """

    def problem(message: str) -> ConfigError:
        if location is not None:
            return ConfigError([document.problem(location, message)])
        return ConfigError([Problem(document.file, 0, "tier", message)])

    if not isinstance(name, str) or not name:
        raise problem(f"must be the name of a service tier, not {quoted(name)}")
    folders = [document.file.parent / TIERS]
    if folders[0].resolve() != PROJECT_TIERS.resolve():
        folders.append(PROJECT_TIERS)
    known = [sorted(path.stem for path in folder.glob("*.yaml")) for folder in folders]
    for folder, names in zip(folders, known, strict=True):
        if name in names:
            return load_tier(folder / f"{name}.yaml")
    looked = "; ".join(
        f"{folder} has {', '.join(names) or 'none'}"
        for folder, names in zip(folders, known, strict=True)
    )
    raise problem(f'there is no service tier "{name}": {looked}')
