# SPDX-License-Identifier: Apache-2.0
"""Nova's filters on a random cloud."""

from collections.abc import Iterable

from scheduler_svc.core.built_in import DEFAULT_FILTERS
from scheduler_svc.core.drivers.filter import FilterDriver
from scheduler_svc.core.filtering import pipeline
from scheduler_svc.core.matching.options import FilterOptions
from scheduler_svc.core.reads import union
from scheduler_svc.core.weighers import scoring
from tests.support.clouds import clouds
from tests.support.clouds.filter_oracles import ISOLATED_HOSTS, ISOLATED_IMAGES, ORACLES

OPTIONS = FilterOptions(metrics=("heat",), isolated_images=frozenset(ISOLATED_IMAGES), isolated_hosts=ISOLATED_HOSTS)
FILTERS = {name: pipeline.build([name], OPTIONS) for name in ORACLES}


READS = union(host_filter.reads for filters in FILTERS.values() for host_filter in filters)


def passing(names: Iterable[str], cloud: clouds.Cloud, request: clouds.Request) -> dict[str, list[str]]:
    """Return the passing hosts in order, by filter name."""
    result = {}
    with clouds.table(cloud, READS).reading() as view:
        for name in names:
            pipeline_result = pipeline.run(FILTERS[name], view, clouds.request(cloud, request))
            assert pipeline_result.hosts - pipeline_result.count == sum(pipeline_result.reasons.values())
            result[name] = [view.name(row) for row in range(view.size) if pipeline_result.passes[row]]
    return result


DRIVER = FilterDriver(pipeline.build(DEFAULT_FILTERS), scoring.build({}))
