# SPDX-License-Identifier: Apache-2.0
"""The suite's parameters: PTF's dictionary to a typed one and back."""

from pathlib import Path

import pytest

from docsis_ptf import runner, switches
from docsis_ptf.options import Options, options, parser
from docsis_ptf.params import TestParams


def as_ptf_parses(text: str) -> dict[str, object]:
    """Parses --test-params as PTF does."""
    values: dict[str, object] = {}
    exec(text, {}, values)  # as PTF itself does
    return values


def test_text_and_back() -> None:
    params = TestParams(grpc="10.0.0.1:50051", cpe_ports=(5, 7), target="a switch", seeded=True)
    assert TestParams.parse(as_ptf_parses(params.text())) == params


def test_defaults() -> None:
    assert TestParams.parse(None) == TestParams()


def test_unknown_key_is_named() -> None:
    with pytest.raises(ValueError, match="'grcp'.*device_id"):
        TestParams.parse({"grcp": "127.0.0.1:1"})


def test_wrong_type_is_named() -> None:
    with pytest.raises(ValueError, match="device_id='1' is a str"):
        TestParams.parse({"device_id": "1"})
    assert TestParams.parse({"timeout": 3}).timeout == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--target", "nowhere"], "neither embedded, bmv2 nor HOST:PORT"),
        (["--target", "127.0.0.1:²"], "neither embedded, bmv2 nor HOST:PORT"),
        (["--target", "127.0.0.1:٣"], "neither embedded, bmv2 nor HOST:PORT"),
        (["--target", "127.0.0.1:0"], "neither embedded, bmv2 nor HOST:PORT"),
        (["--target", "127.0.0.1:65536"], "neither embedded, bmv2 nor HOST:PORT"),
        (["--target", "127.0.0.1:" + "9" * 5000], "neither embedded, bmv2 nor HOST:PORT"),
        (["--target", "127.0.0.1:1"], "needs three ports and was given 0"),
        (
            ["--target", "127.0.0.1:1", "--port", "1=lo", "--port", "2=lo", "--port", "3=none0"],
            "there is no interface none0",
        ),
    ],
)
def test_bad_target_is_one_sentence(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert runner.main(arguments) == runner.FAILED
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1


@pytest.mark.parametrize("number", [-1, 0, 1 << 128])
def test_an_election_id_that_p4runtime_does_not_have(
    number: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert runner.main(["--election-id", str(number)]) == runner.FAILED
    said = capsys.readouterr().err
    assert said.startswith(f"ptf: --election-id {number}: P4Runtime has election ids from 1 to ")
    assert said.count("\n") == 1


def test_the_last_election_id() -> None:
    last = (1 << 128) - 1
    told = options(parser().parse_args(["--election-id", str(last)]))
    assert told.params().election_id == last


@pytest.mark.parametrize("number", ["²", "", "-1", str(1 << 32), "9" * 5000])
def test_a_switch_port_that_is_no_number(number: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert runner.main([f"--port={number}=veth1"]) == runner.FAILED
    assert "a port is NUMBER=INTERFACE" in capsys.readouterr().err


@pytest.mark.parametrize("target", [[], ["--target", "embedded"], ["--target", "bmv2"]])
def test_ports_of_a_switch_that_the_runner_starts(
    target: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    ports = ["--port", "1=a", "--port", "2=b", "--port", "3=c"]
    assert runner.main([*target, *ports]) == runner.FAILED
    said = capsys.readouterr().err
    assert said.startswith("ptf: --port has no place here: the runner starts the ")
    assert said.endswith("give --target HOST:PORT, too\n")
    assert said.count("\n") == 1


@pytest.mark.parametrize("target", ["embedded", "bmv2"])
def test_a_switch_that_the_runner_starts_gets_the_ids(
    target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    params = options(parser().parse_args(["--target", target, "--device-id", "7"])).params()
    monkeypatch.setattr(switches, "binary", lambda kind: Path("/switch"))
    command = switches.command(target, params, 1)
    assert command[command.index("--device-id") + 1] == "7"


def test_missing_switch_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DOCSIS_SWITCH", "/nonexistent/docsis-switch")
    assert runner.run(Options()) == runner.FAILED
    assert "/nonexistent/docsis-switch: the switch is not built" in capsys.readouterr().err
