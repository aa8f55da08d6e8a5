# SPDX-License-Identifier: Apache-2.0
"""What a filter is."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from scheduler_svc.reads import Reads
from scheduler_svc.request import Request
from scheduler_svc.table.columns import Column
from scheduler_svc.table.view import View


class Sieve(NamedTuple):
    """One test that hosts pass or fall to: True in ``passes`` for each row that passes, and why others fall."""

    reason: str
    passes: Column


# It gives its sieves one by one, and none where every host would pass: what is not asked costs nothing.
Sieves = Callable[[View, Request], Iterable[Sieve]]
# The same, told which rows are left: for who looks at hosts one by one.
Among = Callable[[View, Request, Column], Iterable[Sieve]]


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter by its name in the configuration; ``reads`` is all of host state that its ``sieves`` may look at.

    ``among`` is asked in place of ``sieves`` where it is there.
    """

    name: str
    sieves: Sieves
    reads: Reads = field(default_factory=dict)
    among: Among | None = None
