# SPDX-License-Identifier: Apache-2.0
"""Puts into a wheel what commands need beside the packages, so that they work without a clone.

These are the project's files that commands read (docsis_control/project_files.py looks for them),
and the stubs of the switch's own gRPC services, which are generated as set-up does in a clone.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FILES = (
    "topologies",
    "p4src",
    "docs/test-plan.md",
    "ptf_tests/suite",
    "switch/crates/v1model/tests/programs/entities.json",
    "switch/crates/v1model/tests/programs/entities.p4info.txtpb",
)
"""Files and folders of the clone that commands read."""

BESIDE = "docsis_p4_files"
"""Folder that has them, laid out as in the clone, beside the installed packages."""

PROTOCOLS = "switch/proto"
PACKAGE = "docsis_control/gen"


class WheelHook(BuildHookInterface):  # type: ignore[type-arg]
    """Names the files, and generates the stubs into a scratch folder."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Adds both to what the wheel has; an editable install uses what the clone has."""
        if version == "editable":
            return
        included = build_data["force_include"]
        for name in FILES:
            included[str(Path(self.root) / name)] = f"{BESIDE}/{name}"
        self._scratch = Path(tempfile.mkdtemp(prefix="docsis-p4-stubs-"))
        stubs = self._stubs(self._scratch / "gen")
        # The stubs import each other as docsis.*, so their folder goes on the path, too.
        path_file = self._scratch / "docsis_p4_generated.pth"
        path_file.write_text(f"{PACKAGE}\n")
        included[str(stubs)] = PACKAGE
        included[str(path_file)] = path_file.name

    def _stubs(self, stubs: Path) -> Path:
        """Generates the stubs into a new folder, which is returned."""
        from grpc_tools import protoc

        protocols = Path(self.root) / PROTOCOLS
        stubs.mkdir()
        arguments = [
            "protoc",
            f"--proto_path={protocols}",
            *(f"--{kind}_out={stubs}" for kind in ("python", "pyi", "grpc_python")),
            *sorted(str(path.relative_to(protocols)) for path in protocols.rglob("*.proto")),
        ]
        if protoc.main(arguments) != 0:
            raise RuntimeError(f"the stubs of {protocols} cannot be generated; protoc said why")
        for folder in (stubs / "docsis", *(stubs / "docsis").rglob("*/")):
            (folder / "__init__.py").touch()
        return stubs

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Removes the scratch folder."""
        if version != "editable":
            shutil.rmtree(self._scratch)
