# SPDX-License-Identifier: Apache-2.0
"""The drivers that a trace is replayed through, by name."""

from collections.abc import Mapping
from dataclasses import dataclass

from oslo_config import cfg

from devstack.lab.driver import Filters
from scheduler_svc import conf as scheduler_conf
from scheduler_svc.conf import filters, weighers
from scheduler_svc.drivers import choice
from scheduler_svc.drivers.driver import Driver
from scheduler_svc.filters import pipeline
from scheduler_svc.weighers import scoring

Groups = Mapping[str, Mapping[str, object]]

PACK = "pack"
SOLVER = "solver"
SOLVER_PACK = "solver-pack"
_MULTIPLIERS = ("ram_weight_multiplier", "cpu_weight_multiplier", "disk_weight_multiplier")


@dataclass(frozen=True, slots=True)
class Policy:
    """A driver, what is configured for it, and the filters and weighers by which its choices are judged."""

    name: str
    configured: Groups
    driver: Driver
    filters: Filters
    weighted: scoring.Weighted

    @property
    def packs(self) -> bool:
        """Whether a fuller host is the better one."""
        return self.name in (PACK, SOLVER_PACK)


def load(name: str, limit_ms: int | None = None) -> Policy:
    """Return the policy; raises BadConfiguration for a driver that is not installed.

    ``filter`` is the default driver, which spreads; ``pack`` the same with its weighers' multipliers turned round;
    ``solver`` and ``solver-pack`` are the solver with either objective, and ``limit_ms`` for each batch; all else is an
    entry point in gantt.drivers with its defaults, judged as ``filter`` is.
    """
    packs = name in (PACK, SOLVER_PACK)
    sign = -1.0 if packs else 1.0
    configured: Groups = {
        "scheduler": {"driver": {PACK: "filter", SOLVER_PACK: SOLVER}.get(name, name)},
        "filter_scheduler": dict.fromkeys(_MULTIPLIERS, sign),
        "solver": {"objective": "pack" if packs else "spread"} | ({"time_limit": limit_ms} if limit_ms else {}),
    }
    conf = _conf(configured)
    return Policy(
        name,
        configured,
        choice.load(conf),
        pipeline.build(filters.enabled(conf)),
        # The trace's hosts differ in nothing that the other weighers look at.
        scoring.build(dict.fromkeys(weighers.AMOUNTS, sign)),
    )


def _conf(configured: Groups) -> cfg.ConfigOpts:
    conf = cfg.ConfigOpts()
    conf([], project="gantt", default_config_files=[], default_config_dirs=[])
    scheduler_conf.register_opts(conf)
    for group, options in configured.items():
        for option, value in options.items():
            conf.set_override(option, value, group=group)
    return conf
