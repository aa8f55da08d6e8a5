# SPDX-License-Identifier: Apache-2.0
"""Builder of the scheduling policy; each reload builds a new policy."""

from oslo_config import cfg

from scheduler_svc.composition import drivers
from scheduler_svc.conf import metrics
from scheduler_svc.conf import prefilters as prefilters_conf
from scheduler_svc.core.prefilters import pipeline
from scheduler_svc.scheduling.ranking import SchedulingPolicy


def load(conf: cfg.ConfigOpts) -> SchedulingPolicy:
    metrics.check(conf)
    prefilters = pipeline.build(prefilters_conf.load(conf))
    available = drivers.load(conf)
    return SchedulingPolicy(next(iter(available.values())), drivers.eligibility(conf), prefilters, available)
