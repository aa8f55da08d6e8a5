# SPDX-License-Identifier: Apache-2.0
"""What a reload replaces: the drivers, filters and prefilters, and the host state that they read."""

from collections.abc import Sequence
from typing import NamedTuple

from oslo_config import cfg

from scheduler_svc.composition import drivers
from scheduler_svc.conf import metrics
from scheduler_svc.conf import prefilters as prefilters_conf
from scheduler_svc.core.drivers.driver import Driver
from scheduler_svc.core.matching.predicate import Filter
from scheduler_svc.core.prefilters import pipeline
from scheduler_svc.core.prefilters.prefilter import Prefilter
from scheduler_svc.core.reads import Reads, union


class SchedulingPolicy(NamedTuple):
    """The configured drivers, filters of alternates, and prefilters, and the host state that they read."""

    driver: Driver
    eligibility: Sequence[Filter]
    prefilters: Sequence[Prefilter]
    reads: Reads


def load(conf: cfg.ConfigOpts) -> SchedulingPolicy:
    """Build the configured policy; raises BadConfiguration."""
    metrics.check(conf)
    driver, eligibility = drivers.load(conf), drivers.eligibility(conf)
    prefilters = pipeline.build(prefilters_conf.load(conf))
    reads = union([driver.reads, *(part.reads for part in eligibility), *(part.reads for part in prefilters)])
    return SchedulingPolicy(driver, eligibility, prefilters, reads)
