# SPDX-License-Identifier: Apache-2.0
"""Trait sets as bit columns: one column of 64-bit words per 64 different traits."""

from collections.abc import Collection, Iterable

import numpy as np
import numpy.typing as npt

from scheduler_svc.core.table.columns import Column, Rows, extend_column

WORD = 64


def names_in(names: Iterable[str], words: Iterable[int]) -> set[str]:
    """Return the traits of one row by its words; ``names`` are those of the bits."""
    mask = sum(word << (number * WORD) for number, word in enumerate(words))
    return {name for bit, name in enumerate(names) if mask >> bit & 1}


class TraitColumns:
    """The traits of each row, one bit per trait. Also used for aggregate membership."""

    __slots__ = ("_bits", "_size", "words")

    def __init__(self, size: int) -> None:
        self._size = size
        self._bits: dict[str, int] = {}
        self.words: list[npt.NDArray[np.uint64]] = []  # columns of 64 traits each

    @property
    def names(self) -> tuple[str, ...]:
        """The trait of each bit, of the first word first; a bit never gets another trait."""
        return tuple(self._bits)

    def grow(self, size: int) -> None:
        """Extend the columns to ``size`` rows."""
        self._size = size
        self.words = [extend_column(word, size) for word in self.words]

    def set_row(self, row: int, traits: Iterable[str]) -> None:
        """Replace the traits of ``row``."""
        mask = 0
        for trait in traits:
            mask |= 1 << self._bit(trait)
        for number, word in enumerate(self.words):
            word[row] = (mask >> (number * WORD)) & (2**WORD - 1)

    def copy_from(self, rows: Rows, other: "TraitColumns") -> None:
        """Copy the first rows of ``other`` to ``rows``. Bit numbers are translated: they differ between the two."""
        self.clear(rows)
        for trait in other._bits:
            number, bit = divmod(self._bit(trait), WORD)
            column = other.has_all((trait,), len(rows))
            self.words[number][rows] |= np.where(column, np.uint64(1 << bit), np.uint64(0))

    def clear(self, rows: Rows) -> None:
        """Remove all traits of ``rows``."""
        for word in self.words:
            word[rows] = 0

    def contains(self, trait: str) -> bool:
        """Return whether any row ever had ``trait``."""
        return trait in self._bits

    def of(self, row: int, among: Collection[str] | None = None) -> set[str]:
        """Return the traits of ``row``; with ``among``, only those that are also in it."""
        if among is not None:
            bit_positions = {trait: divmod(self._bits[trait], WORD) for trait in among if trait in self._bits}
            return {trait for trait, (word, bit) in bit_positions.items() if int(self.words[word][row]) >> bit & 1}
        return names_in(self._bits, (int(word[row]) for word in self.words))

    def in_use(self, rows: Column) -> set[str]:
        """Return the traits that any row of a mask has."""
        return names_in(self._bits, (int(np.bitwise_or.reduce(word[: len(rows)][rows])) for word in self.words))

    def has_all(self, traits: Iterable[str], size: int) -> Column:
        """Return a mask of the first ``size`` rows: True where a row has all of ``traits``."""
        required = set(traits)
        if not required <= self._bits.keys():
            return np.zeros(size, np.bool_)
        column = np.ones(size, np.bool_)
        for number, mask in self._masks(required).items():
            column &= (self.words[number][:size] & mask) == mask
        return column

    def has_any(self, traits: Iterable[str], size: int) -> Column:
        """Return a mask of the first ``size`` rows: True where a row has at least one of ``traits``."""
        column = np.zeros(size, np.bool_)
        for number, mask in self._masks(self._bits.keys() & set(traits)).items():
            column |= (self.words[number][:size] & mask) != 0
        return column

    def _bit(self, trait: str) -> int:
        """Return the bit number of a trait; a new trait is assigned the next number."""
        bit = self._bits.setdefault(trait, len(self._bits))
        while len(self.words) * WORD < len(self._bits):
            self.words.append(np.zeros(self._size, np.uint64))
        return bit

    def _masks(self, traits: Iterable[str]) -> dict[int, np.uint64]:
        masks: dict[int, int] = {}
        for trait in traits:
            number, bit = divmod(self._bits[trait], WORD)
            masks[number] = masks.get(number, 0) | 1 << bit
        return {number: np.uint64(mask) for number, mask in masks.items()}
