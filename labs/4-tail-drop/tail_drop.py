# SPDX-License-Identifier: Apache-2.0
"""A queue that drops at its tail: complete the TODOs. Times are in seconds, lengths in bytes."""


def admit(backlog, length, limit):
    """Whether a frame may enter the queue.

    backlog: bytes that wait already; length: of the frame; limit: bytes that may wait.
    """
    # TODO 1: the frame enters if the queue, with it, is not above the limit.
    return True


def full_delay(limit, rate):
    """How long the last byte of a full queue waits, in seconds. rate: in bit/s."""
    # TODO 2
    return 0.0


def bandwidth_delay_product(rate, round_trip):
    """How many bytes are on their way when a sender fills a link. rate: in bit/s."""
    # TODO 3
    return 0.0


def departures(frames, limit, rate):
    """Plays a queue: returns, for each frame, when its last bit leaves; None where it is dropped.

    frames: (arrival time, length), in the order of arrival; rate: of the link, in bit/s.
    A frame counts as waiting until its last bit has left: then it makes room.
    """
    left = []
    waiting = []  # of the frames in the queue: (when its last bit leaves, length)
    for arrival, length in frames:
        # TODO 4: forget the frames that have left by now; ask admit(); the frame is sent when it
        # has arrived and the frame before it has left, and that takes length * 8 / rate seconds.
        left.append(None)
    return left
