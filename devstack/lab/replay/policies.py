# SPDX-License-Identifier: Apache-2.0
"""The drivers that a trace can be replayed through, by name."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from devstack.lab.default_driver import Filters, make_conf
from scheduler_svc.composition import drivers
from scheduler_svc.conf import enabled, weighers
from scheduler_svc.core import built_in
from scheduler_svc.core.drivers.driver import Driver
from scheduler_svc.core.filtering import pipeline
from scheduler_svc.core.weighers import scoring

Groups = Mapping[str, dict[str, object]]

FILTER, NOVA, PACK = "filter", "nova", "pack"
AMOUNTS = ("RAMWeigher", "CPUWeigher", "DiskWeigher")  # Nova's weighers of free capacity
SHARES = ("FreeShareWeigher", weighers.BALANCE)  # the default weighers of free capacity
SOLVER, SOLVER_PACK = "solver", "solver-pack"
_DRIVERS = {NOVA: FILTER, PACK: FILTER, SOLVER_PACK: SOLVER}  # of policies that are not named after theirs
_ORACLES = {NOVA: NOVA, PACK: PACK, SOLVER_PACK: PACK}  # of policies that are not judged like FILTER


@dataclass(frozen=True, slots=True)
class ReplayPolicy:
    """A driver, its configuration, and the filters and weighers that judge its choices.

    The oracle places with the driver of the policy ``oracle``.
    """

    name: str
    configured: Groups
    driver: Driver
    filters: Filters
    weighted: scoring.WeigherSet
    oracle: str


def load(name: str, work: int | None = None) -> ReplayPolicy:
    """Return a policy; raises BadConfiguration for a driver that is not installed.

    ``nova`` is ``filter`` with Nova's weighers of free capacity, ``pack`` is ``filter`` as a best fit, ``solver`` and
    ``solver-pack`` are the solver with either objective and ``work`` per batch; other names are entry points in
    gantt.drivers, judged like ``filter``.
    """
    placement = weighers.PACK if _ORACLES.get(name) == PACK else weighers.SPREAD
    configured: Groups = {
        "scheduler": {"driver": _DRIVERS.get(name, name)},
        "filter_scheduler": {"placement": placement},
        "solver": {"objective": placement} | ({"work_limit": work} if work else {}),
    }
    judges: Sequence[str] = SHARES  # the other default weighers read nothing in which the trace's hosts differ
    if name == NOVA:
        judges = AMOUNTS
        others = [weigher for weigher in built_in.DEFAULT_WEIGHERS if weigher not in SHARES]
        # As text: a cluster gets it in a file.
        configured["filter_scheduler"]["enabled_weighers"] = ",".join([*AMOUNTS, *others])
    conf = make_conf(configured)
    multipliers = weighers.multipliers(conf, packed=weighers.packs(conf))
    return ReplayPolicy(
        name,
        configured,
        next(iter(drivers.load(conf).values())),
        pipeline.build(enabled.filters(conf)),
        scoring.build({judge: multipliers[judge] for judge in judges}),
        _ORACLES.get(name, FILTER),
    )
