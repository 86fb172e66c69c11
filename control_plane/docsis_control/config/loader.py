# SPDX-License-Identifier: Apache-2.0
"""Reads topologies and service tiers."""

from pathlib import Path
from typing import Final

from docsis_control.config.errors import ConfigError, Problem
from docsis_control.config.models import ServiceTier, Topology
from docsis_control.config.yaml_file import Document, plain, quoted, read, validate

TIERS: Final = "tiers"
"""Folder of the service tiers, beside the topologies."""
PROJECT_TIERS: Final = Path(__file__).resolve().parents[3] / "topologies" / TIERS
"""The project's own tiers, for topologies that lie elsewhere."""


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
    """Reads a topology and the service tier that it names.

    Args:
        file: The topology's YAML file.
        tier: Name of a tier that replaces the file's: a file, without .yaml, in tiers/
            beside the topology or else in topologies/tiers/ of the project.

    Raises:
        ConfigError: With the file, the line and the key.
    """
    file = Path(file)
    document = read(file)
    data = plain(document.root)
    assert isinstance(data, dict)
    named = tier if tier is not None else data.get("tier")
    # A run's record holds the tier itself in place of its name.
    if tier is not None or not isinstance(data.get("tier", {}), dict):
        data["tier"] = _named_tier(document, named, from_file=tier is None)
    return validate(document, Topology, data)


def _named_tier(document: Document, name: object, *, from_file: bool) -> ServiceTier:
    def problem(message: str) -> ConfigError:
        if from_file:
            return ConfigError([document.problem(("tier",), message)])
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
