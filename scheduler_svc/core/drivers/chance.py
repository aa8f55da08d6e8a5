# SPDX-License-Identifier: Apache-2.0
"""Driver that selects at random among the hosts that pass the filters; a baseline for comparisons."""

from collections.abc import Sequence

from scheduler_svc.core.drivers.filter import FilterDriver
from scheduler_svc.core.matching.predicate import Filter
from scheduler_svc.core.weighers.scoring import WeigherSet

DRAWN_HOSTS = 128  # random sample of passing hosts from which the instances draw theirs


class ChanceDriver(FilterDriver):
    """Ranks passing hosts in random order: without weighers all are equal."""

    draws_alternates = True

    def __init__(self, filters: Sequence[Filter]) -> None:
        super().__init__(filters, WeigherSet(()), DRAWN_HOSTS)
