# SPDX-License-Identifier: Apache-2.0
"""A queue that drops at its tail. Times are in seconds, lengths in bytes."""


def admit(backlog, length, limit):
    """Whether a frame may enter the queue."""
    return backlog + length <= limit


def full_delay(limit, rate):
    """How long the last byte of a full queue waits, in seconds."""
    return limit * 8 / rate


def bandwidth_delay_product(rate, round_trip):
    """How many bytes are on their way when a sender fills a link."""
    return rate * round_trip / 8


def departures(frames, limit, rate):
    """Plays a queue: for each frame when its last bit leaves; None where it is dropped."""
    left = []
    waiting = []
    free = 0.0
    for arrival, length in frames:
        waiting = [(at, size) for at, size in waiting if at > arrival]
        if not admit(sum(size for _, size in waiting), length, limit):
            left.append(None)
            continue
        free = max(free, arrival) + length * 8 / 20_000_000
        waiting.append((free, length))
        left.append(free)
    return left
