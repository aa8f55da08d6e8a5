# SPDX-License-Identifier: Apache-2.0
"""Rack power: a columnar filter with its own option, and a columnar weigher."""

from collections.abc import Iterator

import numpy as np
from oslo_config import cfg

from scheduler_svc.core.matching.predicate import Filter, HostPredicate
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.columns import FloatColumn
from scheduler_svc.core.table.view import View
from scheduler_svc.core.weighers.weigher import Weigher

WATTS = "metrics.watts_free"  # a metric that agents report
READS = {"compute": frozenset({WATTS})}  # workers store and agents send only the keys listed here

OPTS = [
    cfg.IntOpt("watts_per_vcpu", default=10, min=0, mutable=True, help="Watts that each VCPU of an instance draws.")
]


def filter_from_conf(conf: cfg.ConfigOpts) -> Filter:
    """Return the filter; called at start and whenever the configuration is reloaded."""
    conf.register_opts(OPTS, group="gantt_racks")
    watts = conf.gantt_racks.watts_per_vcpu

    def predicates(view: View, request: SchedulingRequest) -> Iterator[HostPredicate]:
        """Accept hosts with enough free watts, and those that do not report any."""
        required = watts * request.resources.get("VCPU", 0)
        free = view.state("compute", WATTS)
        yield HostPredicate("not enough power", np.isnan(free) | (free >= required))

    return Filter("PowerFilter", predicates, READS)


def spare(view: View, request: SchedulingRequest) -> FloatColumn:
    """Return the free watts of each row, 0 where none are reported: numbers must be finite."""
    return np.nan_to_num(view.state("compute", WATTS))


# The effect of one more instance is unknown until the agent reports again, so the step is 0.
WEIGHER = Weigher("PowerWeigher", spare, lambda request: 0.0, READS)
