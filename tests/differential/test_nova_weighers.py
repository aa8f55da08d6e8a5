# SPDX-License-Identifier: Apache-2.0
"""Nova's own weighers and ours, on the same random clouds: the same scores, and so the same order.

Known differences, of which the clouds hold none: docs/differences.md.
"""

import random
from collections.abc import Iterator

import numpy as np
import pytest

from devstack.lab.peers import environments, side
from scheduler_svc.conf.weighers import METRICS, OPTIONS
from scheduler_svc.metric_weights import AGGREGATE_OPTION
from scheduler_svc.weighers import scoring
from tests.differential import asking
from tests.property import weighed_clouds

CLOUDS = 3000
OWN = {"VolumeNearWeigher", "BalanceWeigher"}  # gantt's own
NOVAS = {name: option for name, option in OPTIONS.items() if name not in OWN}
NEVER_NEGATIVE = ("PCIWeigher", "ServerGroupSoftAffinityWeigher", "ServerGroupSoftAntiAffinityWeigher")  # in Nova

pytestmark = [pytest.mark.differential, pytest.mark.timeout(3600)]


@pytest.fixture(scope="module")
def nova() -> Iterator[side.PeerProcess]:
    """Nova's weighers in a process of its own; skips where Nova is not installed for the lab."""
    with asking.running(environments.NOVA, "nova_weighers_side.py") as running:
        yield running


def ours(cloud, *names):
    weighted = weighed_clouds.weighted(cloud, *names)
    with weighed_clouds.table(cloud, weighted).reading() as view:
        there = np.flatnonzero(view.present)
        found = scoring.score(weighted, view, weighed_clouds.request(cloud), there)
        return dict(zip([view.name(row) for row in there], found.values.tolist(), strict=True))


def comparable(cloud):
    """Return the cloud without what differs on purpose: see docs/differences.md."""
    for aggregate in cloud["aggregates"]:
        told = {key: value for key, value in aggregate["metadata"].items() if value != "nan"}
        if told.get(AGGREGATE_OPTION) == "0":
            del told[AGGREGATE_OPTION]
        aggregate["metadata"] = told
    multipliers = cloud["multipliers"]
    for name in NEVER_NEGATIVE:
        multipliers[name] = abs(multipliers[name])
    for name in ("ImagePropertiesWeigher", METRICS):
        multipliers[name] = multipliers[name] or 1.0
    return cloud


def ranked(scores):
    return sorted(scores, key=lambda name: (-round(scores[name], 6), name))


@pytest.mark.parametrize("seed", range(6))
def test_every_weigher_scores_and_ranks_as_novas_does(nova, seed):
    chance = random.Random(seed)
    for _ in range(CLOUDS // 6):
        cloud = comparable(weighed_clouds.draw_cloud(chance))
        theirs = nova.ask("weigh", cloud=cloud, options=NOVAS)
        # Nova gives a single host no score at all.
        if len(cloud["hosts"]) < 2:
            continue
        for name in (*NOVAS, METRICS, "all"):
            mine = ours(cloud, *([name] if name != "all" else (*NOVAS, METRICS)))
            assert mine == pytest.approx(theirs[name], rel=1e-9, abs=1e-6), (name, cloud)
            assert ranked(mine) == ranked(theirs[name]), (name, cloud)
