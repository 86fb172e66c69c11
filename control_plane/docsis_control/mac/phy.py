# SPDX-License-Identifier: Apache-2.0
"""How many minislots a burst takes."""

from dataclasses import dataclass
from typing import Final

LEAST_CODEWORD_DATA: Final = 16
"""Least data bytes of a shortened code word [?]."""


@dataclass(frozen=True)
class Flat:
    """A fixed number of bytes beside the data, as paper 004 counts.

    Attributes:
        minislot_bytes: Bytes that a minislot carries.
        overhead: Bytes that a burst has beside its data.
    """

    minislot_bytes: int
    overhead: int

    def minislots(self, size: int) -> int:
        """Minislots of a burst of `size` MAC bytes."""
        return -(-(size + self.overhead) // self.minislot_bytes) if size else 0

    def bytes(self, minislots: int) -> int:
        """The most MAC bytes of a burst of so many minislots."""
        return max(0, minislots * self.minislot_bytes - self.overhead)


@dataclass(frozen=True)
class Ofdma:
    """Whole minislots of this many bytes.

    Attributes:
        minislot_bytes: Bytes that a minislot carries.
    """

    minislot_bytes: int

    def minislots(self, size: int) -> int:
        """Minislots of a burst of `size` MAC bytes."""
        return -(-size // self.minislot_bytes)

    def bytes(self, minislots: int) -> int:
        """The most MAC bytes of a burst of so many minislots."""
        return minislots * self.minislot_bytes


@dataclass(frozen=True)
class ScQam:
    """Preamble, Reed-Solomon code words of k data and 2T parity bytes, guard time.

    Attributes:
        minislot_bits: Bits that a minislot carries.
        preamble_bits: Bits of the preamble.
        guard_bits: Bits of the guard time.
        codeword_data: Data bytes k; the last code word is shortened, to 16 at the least.
        codeword_parity: Parity bytes 2T; 0 is no code.
    """

    minislot_bits: int
    preamble_bits: int
    guard_bits: int
    codeword_data: int
    codeword_parity: int

    def minislots(self, size: int) -> int:
        """Minislots of a burst of `size` MAC bytes."""
        if not size:
            return 0
        bits = self.preamble_bits + 8 * self._coded(size) + self.guard_bits
        return -(-bits // self.minislot_bits)

    def bytes(self, minislots: int) -> int:
        """The most MAC bytes of a burst of so many minislots."""
        bits = minislots * self.minislot_bits - self.preamble_bits - self.guard_bits
        coded = max(0, bits) // 8
        if not self.codeword_parity:
            return coded
        whole, rest = divmod(coded, self.codeword_data + self.codeword_parity)
        last = rest - self.codeword_parity
        return whole * self.codeword_data + (last if last >= LEAST_CODEWORD_DATA else 0)

    def _coded(self, size: int) -> int:
        if not self.codeword_parity:
            return size
        whole = (size - 1) // self.codeword_data
        last = max(size - whole * self.codeword_data, LEAST_CODEWORD_DATA)
        return whole * (self.codeword_data + self.codeword_parity) + last + self.codeword_parity


Phy = Flat | Ofdma | ScQam
