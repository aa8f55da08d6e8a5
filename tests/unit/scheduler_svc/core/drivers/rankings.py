# SPDX-License-Identifier: Apache-2.0
"""Helpers of driver tests: clouds of hosts, a driver with one weigher, and a ranking."""

from collections.abc import Mapping
from typing import Any

from scheduler_svc.core.built_in import DEFAULT_FILTERS
from scheduler_svc.core.drivers.driver import Driver, Ranking
from scheduler_svc.core.drivers.filter import FilterDriver
from scheduler_svc.core.filtering import pipeline
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.weighers import scoring
from tests.support.scheduler import hosts
from tests.support.scheduler.hosts import node

FILTERS = pipeline.build(DEFAULT_FILTERS)
ONE_VCPU = {"VCPU": 1}
GRADED_HOSTS = {f"h{number:02}": node({"VCPU": number + 1}) for number in range(40)}
IDENTICAL_HOSTS = {f"h{number:02}": node({"VCPU": 4}) for number in range(40)}


def filter_driver(multiplier: float = 1.0, subset: int = 1) -> FilterDriver:
    """Return the driver 'filter' with CPUWeigher only."""
    return FilterDriver(FILTERS, scoring.build({"CPUWeigher": multiplier}), subset)


def rank(
    driver: Driver, nodes: Mapping[str, Mapping[str, Any]], request: SchedulingRequest, count: int = 1, seed: int = 1
) -> Ranking:
    """Return a driver's ranking of these nodes."""
    with hosts.table(nodes).reading() as view:
        return driver.rank(view, request, count, seed)
