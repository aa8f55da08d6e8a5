# SPDX-License-Identifier: Apache-2.0
"""Nova's weighers and gantt's have the same scores and order on random clouds.

The clouds avoid the known differences in docs/differences.md.
"""

import random
from collections.abc import Iterator

import numpy as np
import pytest

from devstack.lab.peers import side
from scheduler_svc.conf.enabled import OWN_WEIGHERS
from scheduler_svc.conf.weighers import METRICS, OPTIONS
from scheduler_svc.core.weighers import scoring
from tests.differential import asking
from tests.support.clouds import weighed_clouds

CLOUDS = 3000
OWN = set(OWN_WEIGHERS)
NOVAS = {name: option for name, option in OPTIONS.items() if name not in OWN}
NEVER_NEGATIVE = ("PCIWeigher", "ServerGroupSoftAffinityWeigher", "ServerGroupSoftAntiAffinityWeigher")  # in Nova

pytestmark = [pytest.mark.differential, pytest.mark.timeout(3600)]


@pytest.fixture(scope="module")
def nova() -> Iterator[side.PeerProcess]:
    """Nova's weighers in a separate process; skips if Nova is not installed for the lab."""
    with asking.running("nova_weighers_side.py") as process:
        yield process


def score(cloud, *names):
    weighted = weighed_clouds.weighted(cloud, *names)
    with weighed_clouds.table(cloud, weighted).reading() as view:
        rows = np.flatnonzero(view.present)
        scores = scoring.score(weighted, view, weighed_clouds.request(cloud), rows)
        return dict(zip([view.name(row) for row in rows], scores.values.tolist(), strict=True))


def comparable(cloud):
    """Return the cloud without the intended differences of docs/differences.md."""
    for aggregate in cloud["aggregates"]:
        metadata = {key: value for key, value in aggregate["metadata"].items() if value != "nan"}
        if metadata.get("metrics_weight_multiplier") == "0":
            del metadata["metrics_weight_multiplier"]
        aggregate["metadata"] = metadata
    multipliers = cloud["multipliers"]
    for name in NEVER_NEGATIVE:
        multipliers[name] = abs(multipliers[name])
    for name in ("ImagePropertiesWeigher", METRICS):
        multipliers[name] = multipliers[name] or 1.0
    return cloud


def ranked(scores):
    return sorted(scores, key=lambda name: (-round(scores[name], 6), name))


@pytest.mark.parametrize("seed", range(6))
def test_weighers_score_and_rank_as_nova(nova, seed):
    chance = random.Random(seed)
    for _ in range(CLOUDS // 6):
        cloud = comparable(weighed_clouds.draw_cloud(chance))
        nova_scores = nova.ask("weigh", cloud=cloud, options=NOVAS)
        # Nova does not score a single host.
        if len(cloud["hosts"]) < 2:
            continue
        for name in (*NOVAS, METRICS, "all"):
            gantt_scores = score(cloud, *([name] if name != "all" else (*NOVAS, METRICS)))
            assert gantt_scores == pytest.approx(nova_scores[name], rel=1e-9, abs=1e-6), (name, cloud)
            assert ranked(gantt_scores) == ranked(nova_scores[name]), (name, cloud)
