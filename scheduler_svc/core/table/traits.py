# SPDX-License-Identifier: Apache-2.0
"""Trait sets as bit columns: one column of 64-bit words per 64 distinct traits."""

from collections.abc import Collection, Iterable

import numpy as np
import numpy.typing as npt

from scheduler_svc.core.table.columns import Column, Rows, extend_column

WORD = 64


def names_in(names: Iterable[str], words: Iterable[int]) -> set[str]:
    """Decode the trait words of one row. ``names`` lists the traits in order of their bits."""
    mask = join_words(words)
    return {name for bit, name in enumerate(names) if mask >> bit & 1}


def join_words(words: Iterable[int]) -> int:
    return sum(word << (number * WORD) for number, word in enumerate(words))


class TraitColumns:
    """One bit per row and trait. Also used for aggregate membership."""

    __slots__ = ("_bits", "_size", "words")

    def __init__(self, size: int) -> None:
        self._size = size
        self._bits: dict[str, int] = {}
        self.words: list[npt.NDArray[np.uint64]] = []  # Columns of 64 traits.

    @property
    def names(self) -> tuple[str, ...]:
        """Traits in order of their bits, which are never reassigned."""
        return tuple(self._bits)

    def grow(self, size: int) -> None:
        self._size = size
        self.words = [extend_column(word, size) for word in self.words]

    def set_row(self, row: int, traits: Iterable[str]) -> None:
        mask = 0
        for trait in traits:
            mask |= 1 << self._bit(trait)
        for number, word in enumerate(self.words):
            word[row] = (mask >> (number * WORD)) & (2**WORD - 1)

    def copy_from(self, rows: Rows, other: "TraitColumns") -> None:
        """Copy the first rows of ``other`` to ``rows``, and translate bit numbers."""
        self.clear(rows)
        for trait in other._bits:
            number, bit = divmod(self._bit(trait), WORD)
            column = other.has_all((trait,), len(rows))
            self.words[number][rows] |= np.where(column, np.uint64(1 << bit), np.uint64(0))

    def clear(self, rows: Rows) -> None:
        for word in self.words:
            word[rows] = 0

    def contains(self, trait: str) -> bool:
        """Return whether any row ever had ``trait``."""
        return trait in self._bits

    def of(self, row: int, among: Collection[str] | None = None) -> set[str]:
        if among is not None:
            bit_positions = {trait: divmod(self._bits[trait], WORD) for trait in among if trait in self._bits}
            return {trait for trait, (word, bit) in bit_positions.items() if int(self.words[word][row]) >> bit & 1}
        return names_in(self._bits, (int(word[row]) for word in self.words))

    def bits(self, row: int) -> int:
        return join_words(int(word[row]) for word in self.words)

    def in_use(self, rows: Column) -> set[str]:
        return names_in(self._bits, (int(np.bitwise_or.reduce(word[: len(rows)][rows])) for word in self.words))

    def has_all(self, traits: Iterable[str], size: int) -> Column:
        required = set(traits)
        if not required <= self._bits.keys():
            return np.zeros(size, np.bool_)
        column = np.ones(size, np.bool_)
        for number, mask in self._masks(required).items():
            column &= (self.words[number][:size] & mask) == mask
        return column

    def has_any(self, traits: Iterable[str], size: int) -> Column:
        column = np.zeros(size, np.bool_)
        for number, mask in self._masks(self._bits.keys() & set(traits)).items():
            column |= (self.words[number][:size] & mask) != 0
        return column

    def _bit(self, trait: str) -> int:
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
