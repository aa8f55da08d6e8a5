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

PACK = "pack"
SOLVER = "solver"
SOLVER_PACK = "solver-pack"
_MULTIPLIERS = ("ram_weight_multiplier", "cpu_weight_multiplier", "disk_weight_multiplier")


@dataclass(frozen=True, slots=True)
class ReplayPolicy:
    """A driver, its configuration, and the filters and weighers that judge its choices."""

    name: str
    configured: Groups
    driver: Driver
    filters: Filters
    weighted: scoring.WeigherSet

    @property
    def packs(self) -> bool:
        """Whether fuller hosts are preferred."""
        return self.name in (PACK, SOLVER_PACK)


def load(name: str, limit_ms: int | None = None) -> ReplayPolicy:
    """Return the policy of this name; raises BadConfiguration for a driver that is not installed.

    ``filter`` is the default driver, which spreads; ``pack`` is the same with negated multipliers; ``solver`` and
    ``solver-pack`` are the solver with either objective and ``limit_ms`` per batch; any other name is an entry point in
    gantt.drivers with its defaults, judged like ``filter``.
    """
    packs = name in (PACK, SOLVER_PACK)
    sign = -1.0 if packs else 1.0
    configured: Groups = {
        "scheduler": {"driver": {PACK: "filter", SOLVER_PACK: SOLVER}.get(name, name)},
        "filter_scheduler": dict.fromkeys(_MULTIPLIERS, sign),
        "solver": {"objective": "pack" if packs else "spread"} | ({"time_limit": limit_ms} if limit_ms else {}),
    }
    conf = _conf(configured)
    return ReplayPolicy(
        name,
        configured,
        drivers.load(conf),
        pipeline.build(filters.enabled(conf)),
        # The other weighers read nothing in which the trace's hosts differ.
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
