# SPDX-License-Identifier: Apache-2.0
"""Each weigher, and all together, against plain Python that goes from host to host."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_svc.conf.weighers import METRICS, OPTIONS, WEIGHERS
from scheduler_svc.weighers import scoring
from tests.property import weighed_clouds

FROM_0 = ("RAMWeigher", "CPUWeigher", "DiskWeigher", "IoOpsWeigher")
AMOUNTS = {"RAMWeigher": "MEMORY_MB", "CPUWeigher": "VCPU", "DiskWeigher": "DISK_GB"}
COUNTS = {"NumInstancesWeigher": "instances", "IoOpsWeigher": "io_ops", "BuildFailureWeigher": "failed_builds"}

clouds = st.randoms(use_true_random=False).map(weighed_clouds.draw_cloud)


def group_members(host, cloud, policy):
    return host["members"] if cloud["request"]["policy"] == policy else 0


def partition_side(host, cloud):
    source = cloud["request"]["source"]
    return 0 if source is None else 1 if host["partition"] == source else -1


def image_score(host, cloud):
    asked = cloud["request"]["image"]
    weights = {name: weight for name, weight in cloud["properties"].items() if name in asked}
    return sum(weight * weighed_clouds.matching_images(host, name, asked[name]) for name, weight in weights.items())


def metrics_score(host, cloud):
    if not cloud["metrics"].keys() <= host["metrics"].keys():
        return -100
    return sum(ratio * host["metrics"][each] for each, ratio in cloud["metrics"].items())


def balance_score(host, cloud):
    asked = {"VCPU": 1, "MEMORY_MB": 1024}
    shares = [(host["total"][key] - host["used"][key] - amount) / host["total"][key] for key, amount in asked.items()]
    return -abs(shares[0] - shares[1])


RAW_WEIGHTS = {
    "BalanceWeigher": balance_score,
    "HypervisorVersionWeigher": lambda host, cloud: host["facts"].get("hypervisor_version", 0),
    "PCIWeigher": lambda host, cloud: 100 - min(host["devices"], 99),
    "CrossCellWeigher": partition_side,
    "ServerGroupSoftAffinityWeigher": lambda host, cloud: group_members(host, cloud, "soft-affinity"),
    "ServerGroupSoftAntiAffinityWeigher": lambda host, cloud: -group_members(host, cloud, "soft-anti-affinity"),
    "ImagePropertiesWeigher": image_score,
    "VolumeNearWeigher": lambda host, cloud: 0,  # nobody asks for a volume here
    "MetricsWeigher": metrics_score,
}


def raw(name, host, cloud):
    if name in AMOUNTS:
        return host["total"][AMOUNTS[name]] - host["used"][AMOUNTS[name]]
    if name in COUNTS:
        return host["metrics"][COUNTS[name]]
    return RAW_WEIGHTS[name](host, cloud)


def multiplier(name, host, cloud):
    configured = cloud["multipliers"][name]
    option = OPTIONS.get(name, "metrics_weight_multiplier")
    told = [
        each["metadata"][option]
        for each in cloud["aggregates"]
        if host["name"] in each["hosts"] and option in each["metadata"]
    ]
    try:
        values = [float(each) for each in told]
    except ValueError:
        return configured
    return min(values) if values and all(map(math.isfinite, values)) else configured


def expected(name, cloud):
    """Return what the weigher adds to each host's score, by the host's name."""
    figures = [raw(name, host, cloud) for host in cloud["hosts"]]
    if name in FROM_0:
        figures = [max(0, figure) for figure in figures]
    least, most = 0 if name in FROM_0 else min(figures), max(figures)
    sign = -1 if name == "BuildFailureWeigher" else 1
    return {
        host["name"]: sign * multiplier(name, host, cloud) * (figure - least) / (most - least) if most > least else 0
        for host, figure in zip(cloud["hosts"], figures, strict=True)
    }


def scores_and_steps(cloud, *names):
    """Return the scores and the step of each host, by its name."""
    weighted = weighed_clouds.weighted(cloud, *names)
    with weighed_clouds.table(cloud, weighted).reading() as view:
        there = np.flatnonzero(view.present)
        found = scoring.score(weighted, view, weighed_clouds.request(cloud), there)
        order = [view.name(row) for row in there]
    steps = found.steps(np.arange(len(order)))
    return dict(zip(order, found.values.tolist(), strict=True)), dict(zip(order, steps, strict=True))


@pytest.mark.parametrize("name", WEIGHERS)
@settings(max_examples=40, deadline=None)
@given(clouds)
def test_a_weigher_adds_what_plain_python_says(name, cloud):
    assert scores_and_steps(cloud, name)[0] == pytest.approx(expected(name, cloud), rel=1e-9, abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(clouds)
def test_all_weighers_together_add_what_each_adds(cloud):
    wanted = [expected(name, cloud) for name in WEIGHERS]
    sums = {name: sum(each[name] for each in wanted) for name in wanted[0]}
    # A million of build failures beside parts of 1: floats hold some ten digits of them.
    assert scores_and_steps(cloud)[0] == pytest.approx(sums, rel=1e-9, abs=1e-6)


@pytest.mark.parametrize("name", ["NumInstancesWeigher", "IoOpsWeigher", "ServerGroupSoftAntiAffinityWeigher"])
@settings(max_examples=40, deadline=None)
@given(clouds)
def test_an_aggregates_multiplier_is_in_the_step_too(name, cloud):
    asked = name in COUNTS or cloud["request"]["policy"] == "soft-anti-affinity"
    sign = 1 if name in COUNTS else -1
    found = scores_and_steps(cloud, name)[1]
    for host in cloud["hosts"]:
        step, factor = found[host["name"]], sign * multiplier(name, host, cloud) * asked
        assert (step > 0, step < 0) == (factor > 0, factor < 0)


def test_every_weigher_has_an_oracle():
    assert set(WEIGHERS) == {*OPTIONS, METRICS} == set(scoring.NAMES)
