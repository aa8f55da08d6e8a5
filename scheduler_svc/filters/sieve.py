# SPDX-License-Identifier: Apache-2.0
"""What a filter is."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from scheduler_svc.request import Request
from scheduler_svc.table.columns import Column
from scheduler_svc.table.view import View


class Sieve(NamedTuple):
    """One test that hosts pass or fall to: True in ``passes`` for each row that passes, and why others fall."""

    reason: str
    passes: Column


# A filter gives its sieves one by one, and none where every host would pass: what is not asked costs nothing.
Filter = Callable[[View, Request], Iterable[Sieve]]
