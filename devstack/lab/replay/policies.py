# SPDX-License-Identifier: Apache-2.0
"""The drivers that a trace can be replayed through, by name."""

from collections.abc import Mapping
from dataclasses import dataclass

from oslo_config import cfg

from devstack.lab.default_driver import Filters
from scheduler_svc import conf as scheduler_conf
from scheduler_svc.composition import drivers
from scheduler_svc.conf import filters, weighers
from scheduler_svc.core.drivers.driver import Driver
from scheduler_svc.core.filtering import pipeline
from scheduler_svc.core.weighers import scoring

Groups = Mapping[str, Mapping[str, object]]

FILTER, BALANCE, PACK = "filter", "balance", "pack"
SOLVER, SOLVER_PACK = "solver", "solver-pack"


@dataclass(frozen=True, slots=True)
class ReplayPolicy:
    """A driver, its configuration, and the filters and weighers that judge its choices.

    ``oracle`` names the policy with whose driver the oracle places the same requests.
    """

    name: str
    configured: Groups
    driver: Driver
    filters: Filters
    weighted: scoring.WeigherSet
    oracle: str


def load(name: str, limit_ms: int | None = None) -> ReplayPolicy:
    """Return the policy of this name; raises BadConfiguration for a driver that is not installed.

    ``filter`` is the default driver, which spreads; ``balance`` is the same with BalanceWeigher beside the default
    weighers; ``pack`` is ``filter`` with ``placement = pack``, a best fit; ``solver`` and ``solver-pack`` are the
    solver with either objective and ``limit_ms`` per batch; any other name is an entry point in gantt.drivers with its
    defaults, judged like ``filter``.
    """
    packs = name in (PACK, SOLVER_PACK)
    placement = weighers.PACK if packs else weighers.SPREAD
    more_weighers = ["BalanceWeigher"] if name == BALANCE else []
    configured: Groups = {
        "scheduler": {"driver": {BALANCE: FILTER, PACK: FILTER, SOLVER_PACK: SOLVER}.get(name, name)},
        "filter_scheduler": {
            "placement": placement,
            "enabled_weighers": [*weighers.DEFAULT_WEIGHERS, *more_weighers],
        },
        "solver": {"objective": placement} | ({"time_limit": limit_ms} if limit_ms else {}),
    }
    conf = _conf(configured)
    # The other weighers read nothing in which the trace's hosts differ.
    multipliers = weighers.multipliers(conf)
    return ReplayPolicy(
        name,
        configured,
        drivers.load(conf),
        pipeline.build(filters.enabled(conf)),
        scoring.build({judge: multipliers[judge] for judge in (*weighers.AMOUNTS, *more_weighers)}),
        PACK if packs else BALANCE if name == BALANCE else FILTER,
    )


def _conf(configured: Groups) -> cfg.ConfigOpts:
    conf = cfg.ConfigOpts()
    conf([], project="gantt", default_config_files=[], default_config_dirs=[])
    scheduler_conf.register_opts(conf)
    for group, options in configured.items():
        for option, value in options.items():
            conf.set_override(option, value, group=group)
    return conf
