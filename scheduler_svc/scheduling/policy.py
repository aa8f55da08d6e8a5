# SPDX-License-Identifier: Apache-2.0
"""The policy of decisions: the configured driver, filters and prefilters."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from scheduler_svc.core.drivers.driver import Driver
from scheduler_svc.core.matching.predicate import Filter
from scheduler_svc.core.prefilters.prefilter import Prefilter
from scheduler_svc.core.reads import Reads, union


@dataclass(frozen=True, slots=True)
class SchedulingPolicy:
    """All configured rules of a decision. ``eligibility`` has the filters that candidates named by a caller must pass.

    ``reads`` is the host state that any of them reads.
    """

    driver: Driver
    eligibility: Sequence[Filter] = ()
    prefilters: Sequence[Prefilter] = ()
    reads: Reads = field(init=False)

    def __post_init__(self) -> None:
        reads = [plugin.reads for plugins in (self.eligibility, self.prefilters) for plugin in plugins]
        object.__setattr__(self, "reads", union([self.driver.reads, *reads]))


class CurrentPolicy:
    """The policy in force. A reload replaces it as a whole; each call reads it once, when it starts."""

    def __init__(self, policy: SchedulingPolicy) -> None:
        self.policy = policy
