# SPDX-License-Identifier: Apache-2.0
"""Traits as bits: one column of 64-bit words for each 64 traits that any host has."""

from collections.abc import Collection, Iterable

import numpy as np
import numpy.typing as npt

from scheduler_svc.table.columns import Column, Rows, grown

WORD = 64


class TraitColumns:
    """Which row has which trait."""

    __slots__ = ("_bits", "_size", "_words")

    def __init__(self, size: int) -> None:
        self._size = size
        self._bits: dict[str, int] = {}
        self._words: list[npt.NDArray[np.uint64]] = []

    def grow(self, size: int) -> None:
        """Make room for ``size`` rows."""
        self._size = size
        self._words = [grown(word, size) for word in self._words]

    def give(self, row: int, traits: Iterable[str]) -> None:
        """Give ``row`` exactly these traits."""
        mask = 0
        for trait in traits:
            mask |= 1 << self._bit(trait)
        for number, word in enumerate(self._words):
            word[row] = (mask >> (number * WORD)) & (2**WORD - 1)

    def adopt(self, rows: Rows, other: "TraitColumns") -> None:
        """Take over the first rows of ``other`` as the own ``rows``; both number traits as they met them."""
        self.clear(rows)
        for trait in other._bits:
            number, bit = divmod(self._bit(trait), WORD)
            column = other.having_all((trait,), len(rows))
            self._words[number][rows] |= np.where(column, np.uint64(1 << bit), np.uint64(0))

    def clear(self, rows: Rows) -> None:
        """Let ``rows`` have no traits."""
        for word in self._words:
            word[rows] = 0

    def knows(self, trait: str) -> bool:
        """Tell whether any row ever had ``trait``."""
        return trait in self._bits

    def of(self, row: int, among: Collection[str] | None = None) -> set[str]:
        """Return the traits of ``row``, or those of them that are ``among`` some."""
        if among is not None:
            places = {trait: divmod(self._bits[trait], WORD) for trait in among if trait in self._bits}
            return {trait for trait, (word, bit) in places.items() if int(self._words[word][row]) >> bit & 1}
        mask = sum(int(word[row]) << (number * WORD) for number, word in enumerate(self._words))
        return {trait for trait, bit in self._bits.items() if mask >> bit & 1}

    def having_all(self, traits: Iterable[str], size: int) -> Column:
        """Return which of the first ``size`` rows have every one of ``traits``."""
        wanted = set(traits)
        if not wanted <= self._bits.keys():
            return np.zeros(size, np.bool_)
        column = np.ones(size, np.bool_)
        for number, mask in self._masks(wanted).items():
            column &= (self._words[number][:size] & mask) == mask
        return column

    def having_any(self, traits: Iterable[str], size: int) -> Column:
        """Return which of the first ``size`` rows have at least one of ``traits``."""
        column = np.zeros(size, np.bool_)
        for number, mask in self._masks(self._bits.keys() & set(traits)).items():
            column |= (self._words[number][:size] & mask) != 0
        return column

    def _bit(self, trait: str) -> int:
        """Return the number of a trait; one that was not met before gets the next."""
        bit = self._bits.setdefault(trait, len(self._bits))
        while len(self._words) * WORD < len(self._bits):
            self._words.append(np.zeros(self._size, np.uint64))
        return bit

    def _masks(self, traits: Iterable[str]) -> dict[int, np.uint64]:
        masks: dict[int, int] = {}
        for trait in traits:
            number, bit = divmod(self._bits[trait], WORD)
            masks[number] = masks.get(number, 0) | 1 << bit
        return {number: np.uint64(mask) for number, mask in masks.items()}
