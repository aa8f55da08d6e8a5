# SPDX-License-Identifier: Apache-2.0
"""What a driver is, and how the configured one is found."""

import abc
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from oslo_config import cfg
from stevedore import driver as stevedore_driver
from stevedore import exception as stevedore_exception

from rpcapi import errors
from scheduler_svc.filters.sieve import Filter
from scheduler_svc.reads import Reads
from scheduler_svc.request import Request
from scheduler_svc.table.view import View

NAMESPACE = "gantt.drivers"
WIDTH = 16  # candidates an instance: what one claim script looks at
NARROW = 8  # candidates an instance in large requests, whose instances start on many hosts as it is
LARGE = 16  # instances beyond which a request is large


@dataclass(frozen=True, slots=True)
class Ranking:
    """For each instance the hosts to try, best first; no list at all where not every instance can be served.

    ``hosts`` is how many were looked at, ``reasons`` how many of them fell to what, ``best`` the leading hosts as
    the decision's record shows them: name, score, and what each weigher added. ``near`` is how many leading candidates
    of an instance are about equally good: one more instance there would make the best worse than they are.
    """

    candidates: Sequence[Sequence[str]]
    hosts: int
    reasons: Mapping[str, int]
    best: Sequence[Mapping[str, Any]] = field(default_factory=tuple)
    near: int = 1


def width(count: int) -> int:
    """Return how many candidates each of ``count`` instances is given."""
    return WIDTH if count <= LARGE else NARROW


class Driver(abc.ABC):
    """Ranks hosts: no I/O, no clock, and no chance but what the seed gives.

    ``reads`` is all of host state that ``rank`` may look at: the view has no more.
    """

    reads: Reads = MappingProxyType({"compute": frozenset({"availability_zone", "traits"})})
    filters: Sequence[Filter] = ()  # that hosts must pass, in their order

    @classmethod
    @abc.abstractmethod
    def from_conf(cls, conf: cfg.ConfigOpts) -> "Driver":
        """Build with the options of ``conf``; raises BadConfiguration."""

    @abc.abstractmethod
    def rank(self, view: View, request: Request, count: int, seed: int) -> Ranking:
        """Rank hosts for ``count`` alike instances: up to ``width(count)`` candidates each, as names."""


def load(conf: cfg.ConfigOpts) -> Driver:
    """Build the driver that [scheduler] driver names; raises BadConfiguration."""
    name = conf.scheduler.driver
    try:
        kind: Any = stevedore_driver.DriverManager(NAMESPACE, name, warn_on_missing_entrypoint=False).driver
    except stevedore_exception.NoMatches as error:
        raise errors.BadConfiguration(
            why=f"[scheduler] driver: no entry point {name!r} is installed in {NAMESPACE!r}"
        ) from error
    return kind.from_conf(conf)
