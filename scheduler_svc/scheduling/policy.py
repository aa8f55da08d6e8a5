# SPDX-License-Identifier: Apache-2.0
"""Policy of decisions: configured drivers, filters and prefilters."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rpcapi import errors
from scheduler_svc.core.drivers.driver import Driver
from scheduler_svc.core.matching.predicate import Filter
from scheduler_svc.core.prefilters.prefilter import Prefilter
from scheduler_svc.core.reads import Reads, union
from scheduler_svc.core.request import SchedulingRequest


@dataclass(frozen=True, slots=True)
class SchedulingPolicy:
    """All configured rules of a decision.

    Attributes:
        driver: For requests that name no driver; the first of ``drivers``.
        eligibility: Filters for candidates named by a caller.
        reads: Host state read by any of them.
    """

    driver: Driver
    eligibility: Sequence[Filter] = ()
    prefilters: Sequence[Prefilter] = ()
    drivers: Mapping[str, Driver] = field(default_factory=dict)
    reads: Reads = field(init=False)

    def __post_init__(self) -> None:
        parts = (self.eligibility, self.prefilters, self.drivers.values())
        reads = [plugin.reads for plugins in parts for plugin in plugins]
        object.__setattr__(self, "reads", union([self.driver.reads, *reads]))

    def driver_for(self, request: SchedulingRequest) -> Driver:
        """Return the request's driver. Raises UnknownDriver."""
        if request.driver is None:
            return self.driver
        if request.driver not in self.drivers:
            allowed = ", ".join(self.drivers) or "only the configured driver"
            raise errors.UnknownDriver(name=request.driver, choices=allowed)
        return self.drivers[request.driver]

    def driver_name(self, request: SchedulingRequest) -> str:
        return request.driver or next(iter(self.drivers), type(self.driver).__name__)


class CurrentPolicy:
    """The policy in force. A reload replaces it as a whole; each call reads it once, at its start."""

    def __init__(self, policy: SchedulingPolicy) -> None:
        self.policy = policy
