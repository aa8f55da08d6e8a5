# SPDX-License-Identifier: Apache-2.0
"""Driver that ranks passing hosts at random: a baseline for comparisons."""

from collections.abc import Sequence

from scheduler_svc.core.drivers.filter import FilterDriver
from scheduler_svc.core.matching.predicate import Filter
from scheduler_svc.core.weighers.scoring import WeigherSet

DRAWN_HOSTS = 128  # passing hosts, chosen at random, from which each instance draws its host


class ChanceDriver(FilterDriver):
    draws_alternates = True

    def __init__(self, filters: Sequence[Filter]) -> None:
        super().__init__(filters, WeigherSet(()), DRAWN_HOSTS)
