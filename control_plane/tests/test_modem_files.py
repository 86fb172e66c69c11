# SPDX-License-Identifier: Apache-2.0
"""Binary configuration files: every key's bytes, the MICs, and what is refused."""

import re
from pathlib import Path

import pytest
from modem_files import HOME

from docsis_control.config import ConfigError
from docsis_control.modem_config import from_bytes, from_yaml, to_bytes, to_yaml

DATA = Path(__file__).parent / "data"
FILE = Path("modem.cfg")
SECRET = b"DOCSIS"

FLOW = "18 07 0102 0001 0601 07"
"""An upstream service flow that has what it must: reference 1, all parameter sets."""


def packed(text: str) -> bytes:
    """Bytes of hexadecimal digits with spaces between them."""
    return bytes.fromhex(re.sub(r"\s", "", text))


def test_the_example_s_bytes() -> None:
    """Made by hand, from the lengths and types of the standard."""
    assert to_bytes(from_yaml(HOME, FILE), FILE)[:122] == packed(
        """
        03 01 01
        12 01 04
        16 1d
          01 01 01  03 02 0002  05 01 40
          09 11  01 03 b8b8fc  02 02 0011  09 02 13c4  0a 02 13c5
        18 26
          01 02 0001  06 01 07  08 04 01312d00  09 04 0007a120  1b 04 017d7840
          23 06  02 04 00098968
          28 03  02 01 0a
        18 10
          01 02 0002  06 01 07  07 01 05  0a 04 000f4240
        19 19
          01 02 0065  06 01 07  08 04 05f5e100  09 04 01f78a40  1b 04 08f0d180
        """
    )


@pytest.mark.parametrize("name", ["modem", "modem-every-key"])
def test_golden_files(name: str) -> None:
    """An encoder of others reads the files in the same way; see docs/modem-configuration.md."""
    text = (DATA / f"{name}.yaml").read_text()
    data = (DATA / f"{name}.cfg").read_bytes()
    assert to_bytes(from_yaml(text, FILE), FILE, secret=SECRET) == data
    decoded = from_bytes(data, FILE, secret=SECRET)
    assert not decoded.warnings
    assert to_bytes(decoded.configuration, FILE, secret=SECRET) == data
    # Without the secret, the CMTS MIC is kept as it is.
    assert to_bytes(from_bytes(data, FILE).configuration, FILE) == data


def test_mics() -> None:
    """Digests that an encoder of others gives this file; see docs/modem-configuration.md."""
    configuration = from_yaml(HOME, FILE)
    data = to_bytes(configuration, FILE, secret=SECRET)
    assert len(data) % 4 == 0
    assert data[-38:] == packed(
        """
        06 10 cdb95a78448606e6902078480b830de6
        07 10 5459867a27c34defb99190abf3e9cfe3
        ff 00
        """
    )
    damaged = data.replace(b"\x12\x01\x04", b"\x12\x01\x05")
    warnings = from_bytes(damaged, FILE, secret=SECRET).warnings
    assert "CM MIC, TLV 6" in warnings[0]
    assert "CMTS MIC, TLV 7" in warnings[1]
    assert to_bytes(from_bytes(damaged, FILE).configuration, FILE) == damaged
    assert from_bytes(data, FILE, secret=b"other").warnings == (
        "the CMTS MIC, TLV 7, does not fit the file and the shared secret",
    )


def test_mics_by_request() -> None:
    def encoded(mics: str, secret: bytes | None = None) -> bytes:
        return to_bytes(from_yaml(HOME + mics, FILE), FILE, secret=secret)

    without = encoded("cm_mic: none\n", None)
    assert b"\x06\x10" not in without
    assert "no CM MIC" in from_bytes(without, FILE).warnings[0]
    assert encoded("cmts_mic: none\n", SECRET) == encoded("")
    given = '"0x' + "ab" * 16 + '"'
    assert b"\x07\x10" + b"\xab" * 16 in encoded(f"cmts_mic: {given}\n")
    with pytest.raises(ConfigError, match="cmts_mic: auto needs the shared secret"):
        encoded("cmts_mic: auto\n")
    with pytest.raises(ConfigError, match="cmts_mic: does not fit"):
        encoded(f"cmts_mic: {given}\n", SECRET)
    with pytest.raises(ConfigError, match='"maybe" is not a MIC'):
        encoded("cm_mic: maybe\n")
    with pytest.raises(ConfigError, match="YAML takes it for a number"):
        encoded(f"cm_mic: {given}\n".replace('"', ""))


# Bytes, and the place and the words of the error.
BROKEN = {
    "empty": ("", "byte 0", "the file is empty"),
    "no end of data": ("03 01 01", "byte 3", "without the end-of-data marker, TLV 255"),
    "type alone": ("03", "TLV 3 at byte 0", "ends before its length"),
    "cut off": ("18 07 0102 00", "TLV 24 at byte 0", "says that 7 bytes follow, but the file"),
    "longer than its parent": ("18 04 0103 0001 ff", "TLV 24.1 at byte 2",
                               "says that 3 bytes follow, but TLV 24 ends after 2"),
    "deep": ("16 09 0902 0703 0301 01 0000 ff", "TLV 22.9.7 at byte 4", "says that 3 bytes"),
    "no length below": ("18 01 01 ff", "TLV 24.1 at byte 2", "ends before its length"),
    "stray bytes": ("03 01 01 ff 00 07", "byte 5", "follows the end-of-data marker"),
    "an MTA's": ("fe 01 01 ff", "TLV 254 at byte 0", "PacketCable MTA"),
    "an MTA's, somewhere": ("03 01 01 fe 01 01 ff", "TLV 254 at byte 3", "PacketCable MTA"),
    "a short number": ("18 03 0101 01 ff", "TLV 24.1 at byte 2",
                       "Service Flow Reference holds 1 byte; it must hold 2"),
    "a long number": ("03 02 0001 ff", "TLV 3 at byte 0", "holds 2 bytes; it must hold 1"),
    "no flag": ("03 01 02 ff", "TLV 3 at byte 0", "holds 2; it must be 0 or 1"),
    "given twice": ("03 01 01 03 01 01 ff", "TLV 3 at byte 3", "is given twice"),
    "given twice below": ("18 06 0601 07 0601 07 ff", "TLV 24.6 at byte 5", "is given twice"),
    "two MICs": (f"06 10 {'00' * 16} 06 10 {'00' * 16} ff", "TLV 6 at byte 18", "given twice"),
    "a short MIC": ("06 0f" + "00" * 15 + "ff", "TLV 6 at byte 0", "holds 15 bytes"),
    "unknown scheduling": ("18 0a 0102 0001 0601 07 0f01 09 ff", "TLV 24.15 at byte 9",
                           "holds 9; it must be one of 1 undefined, 2 best-effort"),
    "a name without its zero": ("18 0b 0102 0001 0601 07 0402 6162 ff", "TLV 24.4 at byte 9",
                                "without the zero at its end"),
    "a name that is too long": ("18 1a 0102 0001 0601 07 0411" + "61" * 16 + "00 ff",
                                "TLV 24.4 at byte 9", "17 bytes; it must hold 2 to 16"),
    "a name with control codes": ("18 0b 0102 0001 0601 07 0402 0700 ff", "TLV 24.4 at byte 9",
                                  "printable ASCII"),
    "reference 0": ("18 07 0102 0000 0601 07 ff", "TLV 24.1 at byte 2",
                    "greater than or equal to 1"),
    "no parameter set": ("18 04 0102 0001 ff", "TLV 24 at byte 0",
                         "qos_parameter_set_type: is missing"),
    "priority 8": ("18 0a 0102 0001 0601 07 0701 08 ff", "TLV 24.7 at byte 9", "equal to 7"),
    "latency target of 0": ("18 0c 0102 0001 0601 07 2803 0201 00 ff", "TLV 24.40.2 at byte 11",
                            "must be 1 ms to 255 ms"),
    "ToS upside down": (f"{FLOW} 16 0e 0101 01 0302 0001 0905 0103 b8b7ff ff",
                        "TLV 22.9.1 at byte 20", "is below"),
    "peak below sustained": ("18 13 0102 0001 0601 07 0804 00000002 1b04 00000001 ff",
                             "TLV 24.27 at byte 15", "below the Maximum Sustained Traffic Rate"),
    "a reference to nothing": (f"{FLOW} 16 07 0101 01 0302 0002 ff", "TLV 22.3 at byte 14",
                               "there is no upstream service flow 2; there are 1"),
    "a reference across": (f"{FLOW} 17 07 0101 01 0302 0001 ff", "TLV 23.3 at byte 14",
                           "there is no downstream service flow 1; there are none"),
    "a reference twice": (f"{FLOW} 19 07 0102 0001 0601 07 ff", "TLV 25.1 at byte 11",
                          "1 is already taken by upstream_service_flows.0"),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN)
def test_refuses_a_file(case: str) -> None:
    text, place, words = BROKEN[case]
    with pytest.raises(ConfigError) as caught:
        from_bytes(packed(text), FILE)
    problem = caught.value.problems[0]
    assert problem.key == place
    assert words in problem.message
    assert str(problem).startswith(f"modem.cfg: {place}: ")
    assert "\n" not in str(problem)


def test_refuses_what_is_far_too_long() -> None:
    with pytest.raises(ConfigError, match="longer than 65536 bytes"):
        from_bytes(b"\xff" + bytes(65536), FILE)


def test_finds_all_problems() -> None:
    with pytest.raises(ConfigError) as caught:
        from_bytes(packed("18 0a 0102 0000 0601 07 0701 08 ff"), FILE)
    assert [problem.key for problem in caught.value.problems] == [
        "TLV 24.1 at byte 2",
        "TLV 24.7 at byte 9",
    ]


def test_a_modem_s_file_without_its_own_form() -> None:
    """Only unknown TLVs, one as long as it can be, and no MIC."""
    data = b"\x2b\xff" + bytes(255) + b"\xff"
    decoded = from_bytes(data, FILE)
    text = to_yaml(decoded.configuration)
    assert to_bytes(from_yaml(text, FILE), FILE) == data
