# SPDX-License-Identifier: Apache-2.0
"""Queue managements: the presets, files, and every way to get one wrong."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from docsis_control.config import BufferLimit, ConfigError
from docsis_control.config.models import KeyedError
from docsis_control.queue_managers import registration
from docsis_control.queue_managers.bounds import CONTROL_INTERVAL
from docsis_control.queue_managers.document import (
    changed,
    from_argument,
    from_file,
    from_mapping,
    json_schema,
    write,
)
from docsis_control.queue_managers.flow_queues import FlowQueues
from docsis_control.queue_managers.management import as_written
from docsis_control.queue_managers.managers.adaptive_red import AdaptiveRed
from docsis_control.queue_managers.managers.codel import Codel
from docsis_control.queue_managers.managers.codel_002 import Codel002
from docsis_control.queue_managers.managers.docsis_pie import DocsisPie
from docsis_control.queue_managers.managers.lred import Lred
from docsis_control.queue_managers.managers.pie import Pie
from docsis_control.queue_managers.managers.pie_002 import Pie002
from docsis_control.queue_managers.names import Preset, QueueManager
from docsis_control.queue_managers.presets import PRESETS, name_of, preset_of
from docsis_control.queue_managers.registry import ALGORITHMS

REGISTERED = Path(__file__).resolve().parents[2] / "p4src" / "include" / "queue_managers.p4"


@pytest.mark.parametrize("preset", Preset)
def test_a_preset_survives_a_file(preset: Preset, tmp_path: Path) -> None:
    management = PRESETS[preset]
    file = tmp_path / "manager.yaml"
    write(management, file)
    read = from_argument(str(file))
    assert read == management
    assert hash(read) == hash(management)
    assert preset_of(read) is preset
    assert from_argument(preset.value) is management
    jsonschema.validate(as_written(management), json_schema())


@pytest.mark.parametrize("preset", Preset)
def test_a_label_tells_the_parameters_that_there_are(preset: Preset) -> None:
    text = str(as_written(PRESETS[preset]))
    for number in re.findall(r"\d+", preset.label.replace("%", "")):
        said = number if "%" not in preset.label else f"{int(number) / 100:g}"
        assert re.search(rf"(?<![\d.]){re.escape(said)}(?!\d)", text), f"{preset.label}: {text}"


def test_names_labels_and_managements_are_all_different() -> None:
    assert len({preset.label for preset in Preset}) == len(Preset)
    assert len(set(PRESETS.values())) == len(PRESETS) == len(Preset)


def test_every_algorithm_has_the_pipelines_number() -> None:
    numbers = registration.numbers(REGISTERED.read_text("utf-8"))
    assert numbers == {manager.name: manager.value for manager in QueueManager}
    assert {manager.label for manager in QueueManager} == set(ALGORITHMS)
    for label, model in ALGORITHMS.items():
        assert model().queue_manager.label == label


def test_the_presets_are_those_of_the_papers() -> None:
    sfq_codel, sfq_pie = PRESETS[Preset.SFQ_CODEL], PRESETS[Preset.SFQ_PIE]
    assert isinstance(sfq_codel, Codel)
    assert (sfq_codel.target, sfq_codel.interval) == (50_000_000, 200_000_000)
    assert sfq_codel.flow_queues == FlowQueues(queues=32)
    assert isinstance(sfq_pie, Pie)
    assert (sfq_pie.target, sfq_pie.flow_queues) == (45_000_000, FlowQueues(queues=32))
    assert PRESETS[Preset.DRR].flow_queues == FlowQueues(queues=16, divided=True)
    assert PRESETS[Preset.SFQ].flow_queues == FlowQueues(queues=256, search=False)
    assert PRESETS[Preset.SFQ_SEARCH].flow_queues == FlowQueues(queues=256, search=True)
    lred = PRESETS[Preset.SFQ_LRED]
    assert isinstance(lred, Lred)
    assert (lred.min_threshold, lred.max_threshold) == (
        BufferLimit(time=700_000_000),
        BufferLimit(time=1_400_000_000),
    )
    red = PRESETS[Preset.ADAPTIVE_RED]
    assert isinstance(red, AdaptiveRed)
    assert (red.weight, red.min_threshold, red.max_threshold) == (0.002, 1 / 20, 1 / 2)
    codel = PRESETS[Preset.CODEL_002]
    assert isinstance(codel, Codel002)
    assert (codel.target, codel.interval) == (20_000_000, 100_000_000)
    pie = PRESETS[Preset.PIE_002]
    assert isinstance(pie, Pie002)
    assert (pie.alpha, pie.beta) == (0.25, 2.5)
    assert (pie.target, pie.update_interval, pie.max_burst) == (15_000_000, 16_000_000, 142_000_000)
    assert CONTROL_INTERVAL == 16_000_000


def test_the_defaults_are_those_of_the_presets() -> None:
    for preset in (
        Preset.DOCSIS_PIE_2014,
        Preset.PIE,
        Preset.PIE_002,
        Preset.ADAPTIVE_RED,
        Preset.CODEL,
        Preset.CODEL_DT,
        Preset.CODEL_002,
        Preset.LRED,
    ):
        management = PRESETS[preset]
        assert from_mapping({"algorithm": management.algorithm}) == management


WRONG = [
    ("pie", {"target": "0 ms"}, "target", "from 1 us to 10 s, not 0 ns"),
    ("pie", {"target": "1500 ns"}, "target", "whole microseconds"),
    ("pie", {"target": "11 s"}, "target", "not 11 s"),
    ("pie", {"target": 15}, "target", "15 has no unit"),
    ("pie", {"update_interval": "15 ms"}, "update_interval", "controller's interval is 16 ms"),
    ("pie", {"alpha": 0}, "alpha", "above 0"),
    ("pie", {"beta": float("nan")}, "beta", "not nan"),
    ("pie", {"alpha": True}, "alpha", "True is not possible"),
    ("pie", {"max_burst": "20 s"}, "max_burst", "not 20 s"),
    ("pie-002", {"target": "0 ms"}, "target", "from 1 us"),
    ("pie-002", {"alpha": 101}, "alpha", "at most 100"),
    ("pie-002", {"update_interval": "1 ms"}, "update_interval", "1 ms is too short"),
    ("pie-002", {"dq_threshold": 1}, "dq_threshold", "2 to 1024 packets, not 1"),
    ("pie-002", {"dq_threshold": 1025}, "dq_threshold", "2 to 1024 packets, not 1025"),
    ("pie", {"dq_threshold": 16}, "dq_threshold", "unknown key"),
    ("pie-002", {"flow_queues": {}}, "flow_queues", "do not go with pie-002: it tells"),
    ("codel-002", {"flow_queues": {}}, "flow_queues", "do not go with codel-002: what"),
    ("codel-002", {"target": "101 ms"}, "target", "above the interval of 100 ms"),
    ("codel", {"target": "0 ms"}, "target", "from 1 us"),
    ("codel", {"interval": "0 ms"}, "interval", "from 1 us"),
    ("codel", {"target": "200 ms"}, "target", "above the interval of 150 ms"),
    ("codel-dt", {"target": "0 ms"}, "target", "from 1 us"),
    ("docsis-pie", {"latency_target": "0 ms"}, "latency_target", "1 ms to 255 ms"),
    ("docsis-pie", {"latency_target": "256 ms"}, "latency_target", "1 ms to 255 ms"),
    ("docsis-pie", {"rate_tracking": "yes"}, "rate_tracking", "true or false"),
    ("adaptive-red", {"min_threshold": 0.5}, "min_threshold", "not below the max_threshold"),
    ("adaptive-red", {"min_threshold": 0}, "min_threshold", "above 0"),
    ("adaptive-red", {"max_threshold": 1.01}, "max_threshold", "at most 1"),
    ("adaptive-red", {"weight": 0}, "weight", "from 1.5"),
    ("adaptive-red", {"weight": 1}, "weight", "not 1"),
    ("adaptive-red", {"initial_max_probability": 1.5}, "initial_max_probability", "0.01 to 0.5"),
    ("adaptive-red", {"update_interval": "10 ms"}, "update_interval", "10 ms is too short"),
    ("adaptive-red", {"decrease": 1}, "decrease", "between 0 and 1"),
    ("lred", {"min_threshold": "400 ms"}, "min_threshold", "not below the max_threshold"),
    ("lred", {"min_threshold": "500 ms"}, "min_threshold", "not below the max_threshold"),
    ("lred", {"min_threshold": "0 ms"}, "min_threshold", "from 1 us"),
    ("lred", {"min_threshold": "50 KB"}, "max_threshold", "both be times, or both be sizes"),
    ("lred", {"min_threshold": "0 B", "max_threshold": "9 KB"}, "min_threshold", "from 1 B"),
    ("lred", {"max_probability": 1.1}, "max_probability", "from 0 to 1, not 1.1"),
    ("lred", {"min_probability": -0.1}, "min_probability", "from 0 to 1"),
    ("lred", {"min_probability": 0.2}, "min_probability", "above the max_probability of 0.05"),
    ("pie", {"flow_queues": {"queues": 257}}, "flow_queues.queues", "2 to 256 queues, not 257"),
    ("pie", {"flow_queues": {"queues": 1}}, "flow_queues.queues", "2 to 256 queues, not 1"),
    (
        "codel",
        {"flow_queues": {"queues": 30, "search": True}},
        "flow_queues.queues",
        "30 queues are no multiple of 4",
    ),
    ("lred", {"flow_queues": {"multiplier": 6}}, "flow_queues.multiplier", "must be odd, not 6"),
    ("lred", {"flow_queues": {"multiplier": 2**32 + 1}}, "flow_queues.multiplier", "from 1 to"),
    ("lred", {"flow_queues": {"queus": 4}}, "flow_queues.queus", 'did you mean "queues"?'),
    ("lred", {"flow_queues": {"round_robin": "bytes"}}, "flow_queues.round_robin", "deficit"),
    ("lred", {"flow_queues": 4}, "flow_queues", "must be a mapping"),
    ("docsis-pie", {"flow_queues": {}}, "flow_queues", "do not go with docsis-pie: it tells"),
    ("adaptive-red", {"flow_queues": {}}, "flow_queues", "do not go with adaptive-red: its"),
    ("codel-dt", {"flow_queues": {}}, "flow_queues", "do not go with codel-dt: it tells"),
    ("drop-tail", {"buffer": "1521 B"}, "buffer", "1522 B, the largest frame"),
    ("drop-tail", {"buffer": "3 GB"}, "buffer", "2147483647 B"),
    ("drop-tail", {"buffer": "0 ms"}, "buffer", "from 1 us"),
    ("drop-tail", {"target": "5 ms"}, "target", "unknown key"),
    ("pie", {"targett": "5 ms"}, "targett", 'unknown key; did you mean "target"?'),
]


@pytest.mark.parametrize(("algorithm", "values", "key", "message"), WRONG)
def test_what_is_wrong_is_refused_by_name(
    algorithm: str, values: dict[str, Any], key: str, message: str
) -> None:
    with pytest.raises(KeyedError) as refused:
        from_mapping({"algorithm": algorithm, **values})
    assert refused.value.key == key
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("algorithm: pie\nbuffer: 50 ms\ntarget: 0 ms\n", "3: target:", "from 1 us"),
        ("target: 5 ms\n", "1: algorithm:", "is missing: one of drop-tail,"),
        ("algorithm: red\n", "1: algorithm:", '"red" is no queue manager; there are drop-tail,'),
        ("algorithm: [pie]\n", "1: algorithm:", "is no queue manager"),
        (
            "algorithm: pie\nflow_queues:\n  queues: 6\n  search: true\n",
            "3: flow_queues.queues:",
            "no multiple of 4",
        ),
        ("algorithm: pie\ntarget: 5 ms\ntarget: 6 ms\n", "3: target:", "is given twice"),
        ("- pie\n", "1:", "must be a mapping"),
    ],
)
def test_an_error_names_file_line_and_key(
    text: str, place: str, message: str, tmp_path: Path
) -> None:
    file = tmp_path / "manager.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError) as refused:
        from_file(file)
    assert str(refused.value).startswith(f"{file}:{place}")
    assert message in str(refused.value)


def test_what_is_neither_a_name_nor_a_file_is_told_the_names(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="there are drop-tail, drop-tail-250ms, .* sfq-lred; or"):
        from_argument("fq-codel")
    with pytest.raises(ConfigError, match="there is no such file"):
        from_argument(str(tmp_path / "nothing.yaml"))


def test_values_are_laid_over_a_preset() -> None:
    sfq_pie = PRESETS[Preset.SFQ_PIE]
    other = changed(sfq_pie, {"target": "20 ms", "flow_queues": {"queues": 8}})
    assert isinstance(other, Pie)
    assert other.target == 20_000_000
    assert other.flow_queues == FlowQueues(queues=8)
    assert changed(other, {"flow_queues": None}).flow_queues is None
    assert name_of(other) == "pie"
    assert name_of(changed(other, {"target": "45 ms", "flow_queues": {"queues": 32}})) == "sfq-pie"
    with pytest.raises(KeyedError, match="cannot be changed"):
        changed(other, {"algorithm": "codel"})


def test_the_schema_refuses_what_is_no_queue_manager() -> None:
    schema = json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    for wrong in (
        {"algorithm": "red"},
        {"target": "5 ms"},
        {"algorithm": "pie", "targett": "5 ms"},
        {"algorithm": "pie", "target": 5},
        {"algorithm": "pie", "flow_queues": {"queues": 257}},
    ):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, schema)
    assert schema["$defs"]["Pie"]["properties"]["target"]["default"] == "15 ms"


def test_docsis_pie_has_the_service_flows_target_unless_it_is_given() -> None:
    assert DocsisPie().latency_target is None
    given = from_mapping({"algorithm": "docsis-pie", "latency_target": "5 ms"})
    assert isinstance(given, DocsisPie)
    assert given.latency_target == 5_000_000


def test_the_names_cost_a_command_line_nothing() -> None:
    loaded = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys, docsis_control.queue_managers.names; print(*sys.modules)",
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert not {"pydantic", "numpy", "ruamel", "grpc"} & set(loaded)
