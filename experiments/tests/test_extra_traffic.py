# SPDX-License-Identifier: Apache-2.0
"""Traffic of a file beside that of an experiment."""

from __future__ import annotations

from pathlib import Path

import jsonschema
import pytest
import scenario_files

from docsis_control.config.errors import ConfigError
from docsis_experiments.experiment.document import write_scenario
from docsis_experiments.experiment.extra_traffic import json_schema, with_traffic
from docsis_experiments.experiment.loader import Loaded, load
from docsis_experiments.experiment.plan import plan_for

MORE = "traffic:\n  - {name: more, kind: transfer, mesh: true, start: 1 s}\n"


def together(folder: Path, text: str, *changes: tuple[str, str]) -> Loaded:
    file = folder / "more.yaml"
    file.write_text(text)
    return with_traffic(scenario_files.loaded(folder, *changes), file)


def test_it_is_played_and_what_is_published_is_not_judged(tmp_path: Path) -> None:
    alone = scenario_files.loaded(tmp_path)
    loaded = together(tmp_path, MORE)
    scenario = loaded.scenario
    assert [group.name for group in scenario.traffic] == ["call", "ftp", "game", "steady", "more"]
    assert scenario.expectations == ()
    assert scenario.scale == (
        "All of it. With the traffic of more.yaml beside it, so that what is published is not "
        "judged."
    )
    before, after = plan_for(alone.scenario, alone.topology), plan_for(scenario, loaded.topology)
    added = [planned for planned in after.flows if planned.group == "more"]
    assert [*before.flows, *added] == list(after.flows)
    # Each of two hosts to each of two servers.
    assert len({(planned.source, planned.destination) for planned in added}) == 4


def test_a_run_can_be_repeated_from_its_folder(tmp_path: Path) -> None:
    loaded = together(tmp_path, MORE)
    kept = tmp_path / "kept" / "scenario.yaml"
    kept.parent.mkdir()
    write_scenario(loaded.scenario, kept)
    assert load(kept, loaded.topology).scenario.traffic == loaded.scenario.traffic


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("traffic: []\n", r"more\.yaml:1: traffic: is empty"),
        (MORE.replace("transfer", "magic"), r"more\.yaml:2: traffic\.0\.kind: "),
        (MORE.replace("mesh", "mush"), r"more\.yaml:2: traffic\.0\.mush: unknown key"),
        (MORE.replace("more", "ftp"), r"more\.yaml:2: traffic\.0\.name: ftp: another group"),
        (MORE.replace("1 s", "10 s"), r"traffic\.0\.start: is after the measured time of 10 s"),
        (MORE.replace("start: 1 s", "hosts: [nobody]"), r'traffic\.0\.hosts\.0: home has no "nobo'),
        (f"direction: downstream\n{MORE}", r"more\.yaml:1: direction: small goes upstream, and"),
        (f"measured: 5 s\n{MORE}", r"more\.yaml:1: measured: unknown key"),
        ("- 1\n", "must be a mapping"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_place(
    text: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=message):
        together(tmp_path, text)


def test_every_service_flow_is_loaded_once(tmp_path: Path) -> None:
    every = "traffic:\n  - {name: NAME, kind: every-service-flow}\n"
    own = every.removeprefix("traffic:\n").replace("NAME", "load")
    change = ("traffic:\n", f"traffic:\n{own}")
    with pytest.raises(ConfigError, match=r"traffic\.0\.kind: the experiment's own traffic is in"):
        together(tmp_path, every.replace("NAME", "more"), change)


def test_files_have_a_schema() -> None:
    schema = json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate({"traffic": [{"name": "more", "kind": "transfer"}]}, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"traffic": [{"name": "more"}]}, schema)
