# SPDX-License-Identifier: Apache-2.0
"""The suite's parameters: PTF's dictionary to a typed one and back."""

import pytest

from docsis_ptf import runner
from docsis_ptf.options import Options
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


def test_missing_switch_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DOCSIS_SWITCH", "/nonexistent/docsis-switch")
    assert runner.run(Options()) == runner.FAILED
    assert "/nonexistent/docsis-switch: the switch is not built" in capsys.readouterr().err
