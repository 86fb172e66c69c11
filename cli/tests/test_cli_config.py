# SPDX-License-Identifier: Apache-2.0
"""`docsis-p4 config decode` and `encode` as a user meets them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import Ended, Start, called, started

from docsis_testbed.paths import ROOT

DATA = ROOT / "control_plane" / "tests" / "data"
CFG = DATA / "modem.cfg"
YAML = DATA / "modem.yaml"


def config(*arguments: str | Path, stdin: bytes = b"", start: Start = called) -> Ended:
    return start("config", *arguments, stdin=stdin)


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    file = tmp_path / "secret"
    file.write_text("DOCSIS\n")
    return file


def test_both_ways_through_pipes(secret: Path) -> None:
    with_secret = ("-", "--shared-secret", secret)
    decoded = config("decode", *with_secret, stdin=CFG.read_bytes(), start=started)
    assert decoded.returncode == 0
    assert decoded.stderr == b""
    assert b"maximum_sustained_traffic_rate: 20 Mbps\n" in decoded.stdout
    encoded = config("encode", *with_secret, stdin=decoded.stdout, start=started)
    assert encoded.returncode == 0
    assert encoded.stdout == CFG.read_bytes()


def test_both_ways_through_files(tmp_path: Path, secret: Path) -> None:
    cfg, yaml = tmp_path / "modem.cfg", tmp_path / "modem.yaml"
    assert config("encode", YAML, "-o", cfg, "--shared-secret", secret).returncode == 0
    assert cfg.read_bytes() == CFG.read_bytes()
    # Without the secret, the CMTS MIC stands as it is, and comes back.
    assert config("decode", cfg, "--output", yaml).returncode == 0
    assert config("encode", yaml, "-o", cfg).returncode == 0
    assert cfg.read_bytes() == CFG.read_bytes()


def test_json(tmp_path: Path) -> None:
    result = config("decode", CFG, "--json")
    shown = json.loads(result.stdout)
    assert shown["upstream_service_flows"][0]["peak_traffic_rate"] == "25 Mbps"
    assert config("encode", "-", stdin=result.stdout).stdout == CFG.read_bytes()


def test_what_is_wrong_is_one_line_each(tmp_path: Path) -> None:
    bad = tmp_path / "bad.yaml"
    text = YAML.read_text().replace("25 Mbps", "15 Mbps").replace("33 MB", "1 KB")
    bad.write_text(text)
    out = tmp_path / "out.cfg"
    result = config("encode", bad, "-o", out)
    assert result.returncode == 1
    assert not out.exists()
    lines = result.stderr.decode().splitlines()
    assert len(lines) == 2
    assert lines[0].startswith(f"docsis-p4: {bad}:19: upstream_service_flows.0.peak_traffic_rate: ")
    assert lines[0].endswith("(TLV 24.27)")
    assert lines[1].startswith(f"docsis-p4: {bad}:31: ")


def test_a_damaged_file(tmp_path: Path) -> None:
    bad = tmp_path / "bad.cfg"
    bad.write_bytes(CFG.read_bytes()[:50])
    result = config("decode", bad)
    assert result.returncode == 1
    assert result.stdout == b""
    assert result.stderr.decode().startswith(f"docsis-p4: {bad}: TLV 24 at byte 37: says that")


def test_a_file_with_a_wrong_mic_is_shown_with_a_warning(tmp_path: Path) -> None:
    other = tmp_path / "other.cfg"
    other.write_bytes(CFG.read_bytes().replace(b"\x12\x01\x04", b"\x12\x01\x05"))
    result = config("decode", other)
    assert result.returncode == 0
    assert b"maximum_number_of_cpes: 5" in result.stdout
    assert b"the CM MIC, TLV 6, does not fit the file" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("decode", "/nonexistent/x.cfg"), "/nonexistent/x.cfg: there is no such file"),
        (("encode", CFG), "is not text, so it is no YAML"),
        (("encode", YAML, "--upstream-channel", "20"), "--upstream-channel: "),
        (("encode", YAML, "--upstream-channel", "500 kbps"), "above the channel's 500 kbps"),
        (("encode", YAML, "--service-flows", "1"), "room for 1 (TLV 24)"),
        (("decode", CFG, "--service-flows", "1"), "TLV 24 at byte 77: "),
        (("encode", YAML, "--shared-secret", "/dev/null"), "the shared secret needs"),
        (("encode", YAML, "-o", "/nonexistent/x.cfg"), "cannot be written"),
    ],
)
def test_refusals(arguments: tuple[str | Path, ...], sentence: str) -> None:
    result = config(*arguments)
    assert result.returncode == 1
    assert result.stdout == b""
    assert sentence in result.stderr.decode()
    assert len(result.stderr.decode().splitlines()) == 1
