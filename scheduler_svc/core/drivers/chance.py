# SPDX-License-Identifier: Apache-2.0
"""The driver that selects hosts at random among those that pass the filters: a baseline for comparisons."""

from collections.abc import Sequence

from scheduler_svc.core.drivers.filter import FilterDriver
from scheduler_svc.core.matching.predicate import Filter
from scheduler_svc.core.weighers.scoring import WeigherSet

DRAWN_HOSTS = 128  # hosts that the instances of a request are drawn from, themselves drawn from all that pass


class ChanceDriver(FilterDriver):
    """Ranks the hosts that pass the filters in random order: without weighers all hosts are equal."""

    draws_alternates = True

    def __init__(self, filters: Sequence[Filter]) -> None:
        super().__init__(filters, WeigherSet(()), DRAWN_HOSTS)
