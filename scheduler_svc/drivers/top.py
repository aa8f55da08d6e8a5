# SPDX-License-Identifier: Apache-2.0
"""The best of many scores, ties broken by lot."""

import numpy as np

from scheduler_svc.drivers.lot import Lot, Rows
from scheduler_svc.table.columns import FloatColumn


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
    bar = len(scores) - count
    chosen = np.argpartition(scores, bar)[bar:]
    chosen.sort()
    values = scores[chosen]
    least = values.min()
    tied = np.flatnonzero(scores == least)
    above = chosen[values > least]
    if len(above) + len(tied) == count:
        return chosen
    return np.concatenate((above, lot.draw(tied, count - len(above))))
