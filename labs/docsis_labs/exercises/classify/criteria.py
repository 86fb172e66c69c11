# SPDX-License-Identifier: Apache-2.0
"""The criteria of exercise 2: packets, one by one, through the modem's compiled pipeline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from docsis_labs.criterion import Missed, Passed, Verdict
from docsis_labs.exercises.classify.packets import BACKUP, GAMES, PACKETS, PRIMARY, VOICE
from docsis_labs.submission import Submission

FILE: Final = "modem.yaml"

_NAMES: Final = {PRIMARY: "the primary service flow", 0: "none"}

_VOICE_WITH_ECN: Final = ("voice-ecn-01", "voice-ecn-10", "voice-ecn-11")

_SOURCE_PORT: Final = (
    "Its source port is another one than that of the packets before it, and should not matter: a "
    "host chooses it anew for each connection."
)

_NOT_TAKEN: Final = (
    "No classifier takes it: is there an active one for it, and do all of its conditions hold?"
)
_TAKEN: Final = "Which of your classifiers takes it, and by which of its conditions should it not?"


def _flows(submission: Submission) -> Mapping[str, int]:
    from docsis_labs.exercises.classify import modem

    return modem.classified(submission.text(FILE))


def boots(submission: Submission) -> Verdict:
    """The configuration is one, and has the flows that packets belong into."""
    _flows(submission)
    return Passed()


def voice(submission: Submission) -> Verdict:
    """EF, whatever the ECN bits are."""
    flows = _flows(submission)
    from docsis_labs.exercises.classify import written

    if flows["voice"] != VOICE and written.has_the_dscp_itself(submission.text(FILE), VOICE):
        return _missed(
            flows,
            "voice",
            "dscp-for-tos",
            "The DSCP is the upper six bits of the ToS byte: 46 is 0xb8 there.",
        )
    for name in _VOICE_WITH_ECN:
        if flows["voice"] == VOICE and flows[name] != VOICE:
            return _missed(
                flows,
                name,
                "ecn-in-the-mask",
                "The mask has a bit of ECN, or both: which of the byte's bits are the DSCP?",
            )
    if flows["voice"] == GAMES:
        return _missed(
            flows, "voice", "flows-swapped", "Look at the classifiers' service_flow_reference."
        )
    if flows["voice"] == PRIMARY:
        return _missed(
            flows,
            "voice",
            "not-active",
            "No classifier takes it: is there one with a tos, and is it active?",
        )
    if flows["voice"] == VOICE:
        if flows["voice-source"] != VOICE:
            return _missed(flows, "voice-source", "source-port-fixed", _SOURCE_PORT)
        for name in ("voice-port", "voice-elsewhere"):
            if flows[name] != VOICE:
                return _missed(
                    flows,
                    name,
                    "more-than-the-tos",
                    "The DSCP says that it is voice, to whatever port and address: is there a "
                    "condition too many?",
                )
    others = ("tos-46", "af41", "dscp-before", "dscp-after", "cs6")
    return _all_right(flows, ("voice", *_VOICE_WITH_ECN, "voice-tcp", *others), "wrong-voice")


def games(submission: Submission) -> Verdict:
    """UDP, and three destination ports."""
    flows = _flows(submission)
    if flows["game-far-after"] == GAMES:
        return _missed(
            flows,
            "game-far-after",
            "range-without-end",
            "A range without an end goes up to 65535.",
        )
    if flows["game-source"] == GAMES:
        return _missed(
            flows,
            "game-source",
            "source-ports",
            "Those are the source ports: a packet to a game's server has its ports as destination.",
        )
    if flows["game-tcp"] == GAMES:
        return _missed(
            flows, "game-tcp", "tcp-too", "The classifier takes TCP, too: give a protocol."
        )
    if flows["game-first"] == GAMES and flows["game-last"] != GAMES:
        return _missed(
            flows, "game-last", "range-too-short", "The range has its last port in it: 3076."
        )
    if flows["game-first"] == flows["game-last"] == GAMES and flows["game-middle"] != GAMES:
        return _missed(
            flows,
            "game-middle",
            "port-left-out",
            "A range has all ports from start to end.",
        )
    names = ("game-first", "game-middle", "game-last")
    if all(flows[name] == GAMES for name in names):
        for name in ("game-ecn", "game-af41"):
            # What voice's condition takes too much of is told there.
            if flows[name] not in (GAMES, VOICE):
                return _missed(
                    flows,
                    name,
                    "games-by-tos",
                    "Games are what goes to their ports by UDP, whatever the ToS byte says. That "
                    "voice wins where both match is a matter of priorities.",
                )
        if flows["game-from"] != GAMES:
            return _missed(flows, "game-from", "source-port-fixed", _SOURCE_PORT)
    return _all_right(
        flows, (*names, "game-ecn", "game-elsewhere", "game-before", "game-after"), "wrong-games"
    )


def backup(submission: Submission) -> Verdict:
    """TCP, one port of one server."""
    flows = _flows(submission)
    from docsis_labs.exercises.classify import written

    text = submission.text(FILE)
    if flows["backup"] == PRIMARY and written.address_outside_mask(text, BACKUP):
        return _missed(
            flows,
            "backup",
            "mask-too-wide",
            "The destination mask leaves out bits that the address has. What is compared is the "
            "packet's address AND the mask, so nothing matches.",
        )
    if flows["backup-other"] == BACKUP and written.names_an_address(text, BACKUP):
        return _missed(
            flows,
            "backup-other",
            "mask-too-wide",
            "The destination mask lets the neighbours of server2 match, too.",
        )
    if flows["backup-neighbour"] == BACKUP and flows["backup-other"] != BACKUP:
        return _missed(
            flows,
            "backup-neighbour",
            "mask-too-wide",
            "The destination mask lets a neighbour of server2 match, too.",
        )
    if flows["backup-other"] == BACKUP:
        return _missed(
            flows,
            "backup-other",
            "any-server",
            "The classifier takes what goes to any server: give a destination address.",
        )
    if flows["backup-elsewhere"] == BACKUP:
        return _missed(
            flows,
            "backup-elsewhere",
            "any-network",
            "The destination mask leaves out the upper bytes of the address, so that a host of "
            "any network matches that ends as server2 does.",
        )
    if flows["backup"] == BACKUP and flows["backup-from"] != BACKUP:
        return _missed(flows, "backup-from", "source-port-fixed", _SOURCE_PORT)
    if flows["backup-udp"] == BACKUP:
        return _missed(
            flows, "backup-udp", "udp-too", "The classifier takes UDP, too: give a protocol."
        )
    if all(flows[name] == BACKUP for name in ("backup", "backup-before", "backup-far-after")):
        return _missed(
            flows,
            "backup-before",
            "any-port",
            "The classifier takes what goes to any port of server2: give it the backup's.",
        )
    if flows["backup-far-after"] == BACKUP and flows["backup"] == BACKUP:
        return _missed(
            flows,
            "backup-far-after",
            "port-without-end",
            "One port is a range, too: without an end it goes up to 65535.",
        )
    others = ("backup-ecn", "backup-port", "backup-udp", "backup-before", "backup-after")
    return _all_right(flows, ("backup", *others), "wrong-backup")


def chat(submission: Submission) -> Verdict:
    """Two classifiers match."""
    flows = _flows(submission)
    if flows["chat"] == GAMES:
        return _missed(
            flows,
            "chat",
            "priorities-turned",
            "Two classifiers match it: the higher rule_priority wins.",
        )
    from docsis_labs.exercises.classify import written

    if flows["chat"] == VOICE and written.of_equal_priority(
        submission.text(FILE), VOICE, GAMES, PACKETS["chat"]
    ):
        return Missed(
            "priorities-equal",
            "The classifiers of voice and of games both match it, and have the same rule_priority: "
            "which of them wins is then a matter of the modem. Give voice the higher one.",
        )
    return _all_right(flows, ("chat",), "wrong-chat")


def _missed(flows: Mapping[str, int], name: str, mistake: str, hint: str) -> Missed:
    packet = PACKETS[name]
    return Missed(
        mistake,
        f"A packet ({packet.words}) went into {_name(flows[name])} and belongs into "
        f"{_name(packet.flow)}. {hint}",
    )


def _all_right(flows: Mapping[str, int], names: tuple[str, ...], mistake: str) -> Verdict:
    for name in names:
        if flows[name] != PACKETS[name].flow:
            hint = _NOT_TAKEN if flows[name] == PRIMARY else _TAKEN
            return _missed(flows, name, mistake, hint)
    return Passed(f"Packets looked at: {len(names)}. All went where they belong.")


def _name(flow: int) -> str:
    return _NAMES.get(flow, f"service flow {flow}")
