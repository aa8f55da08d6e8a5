# SPDX-License-Identifier: Apache-2.0
"""Racks with power to spare: a columnar filter with an option of its own, and a columnar weigher."""

from collections.abc import Iterator

import numpy as np
from oslo_config import cfg

from scheduler_svc.core.matching.predicate import Filter, Sieve
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.columns import FloatColumn
from scheduler_svc.core.table.view import View
from scheduler_svc.core.weighers.weigher import Weigher

WATTS = "metrics.watts_free"  # what agents report of it
READS = {"compute": frozenset({WATTS})}  # the worker keeps, and agents send, what is named here and nothing else

OPTS = [cfg.IntOpt("watts_per_vcpu", default=10, min=0, mutable=True, help="Watts that a processor of a server takes.")]


def filter_from_conf(conf: cfg.ConfigOpts) -> Filter:
    """Return the filter; it is called at start, and anew when the configuration is read anew."""
    conf.register_opts(OPTS, group="gantt_racks")
    watts = conf.gantt_racks.watts_per_vcpu

    def sieves(view: View, request: SchedulingRequest) -> Iterator[Sieve]:
        """Let hosts pass that have the watts, and those that do not report any."""
        wanted = watts * request.resources.get("VCPU", 0)
        free = view.state("compute", WATTS)
        yield Sieve("not enough power", np.isnan(free) | (free >= wanted))

    return Filter("PowerFilter", sieves, READS)


def spare(view: View, request: SchedulingRequest) -> FloatColumn:
    """Return the free watts of each row, 0 where none are reported: a figure must be finite."""
    return np.nan_to_num(view.state("compute", WATTS))


# One more server changes the figure by what the agent will report some time later: nothing is known now.
WEIGHER = Weigher("PowerWeigher", spare, lambda request: 0.0, READS)
