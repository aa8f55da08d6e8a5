# SPDX-License-Identifier: Apache-2.0
"""Replay policies by name: the driver, its configuration and its judges."""

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

FILTER, NOVA, BALANCE, PACK = "filter", "nova", "balance", "pack"
AMOUNTS = ("RAMWeigher", "CPUWeigher", "DiskWeigher")  # Nova's weighers of free capacity
# Weighers of policies that do not use the default ones
JUDGES: Mapping[str, Sequence[str]] = {NOVA: AMOUNTS, BALANCE: (*AMOUNTS, weighers.BALANCE)}
# Default weighers that Nova lacks, for differences between the trace's hosts. Few hosts may have a rare trait.
OWN = ("FreeShareWeigher", weighers.BALANCE, "SpecialHardwareWeigher")
SOLVER, SOLVER_PACK = "solver", "solver-pack"
# Drivers of policies that are not named after theirs
_DRIVERS = {NOVA: FILTER, BALANCE: FILTER, PACK: FILTER, SOLVER_PACK: SOLVER}
# Oracles of policies that are not judged like FILTER
_ORACLES = {NOVA: NOVA, BALANCE: BALANCE, PACK: PACK, SOLVER_PACK: PACK}


@dataclass(frozen=True, slots=True)
class ReplayPolicy:
    """Driver, its configuration, the filters and weighers that judge it, and the name of the oracle's policy."""

    name: str
    configured: Groups
    driver: Driver
    filters: Filters
    weighted: scoring.WeigherSet
    oracle: str


def load(name: str, work: int | None = None) -> ReplayPolicy:
    """Return a policy. Raises BadConfiguration for a driver that is not installed.

    ``nova`` is ``filter`` with Nova's weighers of free capacity, ``balance`` adds as much balance to them as ``pack``
    has, ``pack`` is ``filter`` as a best fit, ``solver`` and
    ``solver-pack`` are the solver with either objective and ``work`` per batch. Other names are entry points of
    gantt.drivers, judged like ``filter``.
    """
    placement = weighers.PACK if _ORACLES.get(name) == PACK else weighers.SPREAD
    configured: Groups = {
        "scheduler": {"driver": _DRIVERS.get(name, name)},
        "filter_scheduler": {"placement": placement},
        "solver": {"objective": placement} | ({"work_limit": work} if work else {}),
    }
    judges = JUDGES.get(name, OWN)
    if name in JUDGES:
        others = [weigher for weigher in built_in.DEFAULT_WEIGHERS if weigher not in OWN]
        # A string, because a cluster gets it in a file.
        configured["filter_scheduler"]["enabled_weighers"] = ",".join([*judges, *others])
    if name == BALANCE:
        configured["filter_scheduler"]["balance_weight_multiplier"] = weighers.PACKED_BALANCE
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
