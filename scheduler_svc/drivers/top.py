# SPDX-License-Identifier: Apache-2.0
"""The best of many scores, ties broken by lot."""

import numpy as np

from scheduler_svc.drivers.lot import Lot, Rows
from scheduler_svc.table.columns import FloatColumn

BLOCK = 32  # scores


def best(scores: FloatColumn, count: int, lot: Lot) -> Rows:
    """Return the indexes of the ``count`` highest scores (or of all), best first.

    Of equal scores each is as likely to be among them, and to stand before another, as any.
    """
    chosen = _cut(scores, count, lot) if count < len(scores) else np.arange(len(scores))
    values = scores[chosen]
    order = np.argsort(-values, kind="stable")
    ranked = values[order]
    if (ranked[1:] == ranked[:-1]).any():
        chosen = lot.shuffled(chosen)
        order = np.argsort(-scores[chosen], kind="stable")
    return chosen[order]


def _cut(scores: FloatColumn, count: int, lot: Lot) -> Rows:
    """Return the indexes of the ``count`` highest scores, in an order that only the scores decide."""
    reach = np.flatnonzero(scores >= _bar(scores, count))
    values = scores[reach]
    least = np.partition(values, len(values) - count)[len(values) - count]
    above = reach[values > least]
    tied = reach[values == least]
    if len(above) + len(tied) == count:
        return reach[values >= least]
    return np.concatenate((above, lot.draw(tied, count - len(above))))


def _bar(scores: FloatColumn, count: int) -> np.float64:
    """Return a score that at least ``count`` reach, and few more do.

    Each of the ``count`` blocks with the highest maximum has one score that reaches the lowest of these maxima. So
    one cheap pass leaves a handful to be partitioned, which for all scores takes most of a decision's time.
    """
    blocks = len(scores) // BLOCK
    if blocks < count:
        return scores.min()
    most = scores[: blocks * BLOCK].reshape(blocks, BLOCK).max(axis=1)
    return np.partition(most, blocks - count)[blocks - count]
