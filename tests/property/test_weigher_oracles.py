# SPDX-License-Identifier: Apache-2.0
"""Each weigher, and all together, compared with plain Python per host."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_svc.conf.weighers import METRICS, OPTIONS
from scheduler_svc.core.built_in import WEIGHER_NAMES
from scheduler_svc.core.weighers import scoring
from tests.support.clouds import weighed_clouds

FLOORS = {"FreeShareWeigher": -6, "RAMWeigher": 0, "CPUWeigher": 0, "DiskWeigher": 0, "IoOpsWeigher": 0}
AMOUNTS = {"RAMWeigher": "MEMORY_MB", "CPUWeigher": "VCPU", "DiskWeigher": "DISK_GB"}
COUNTS = {"NumInstancesWeigher": "instances", "IoOpsWeigher": "io_ops", "BuildFailureWeigher": "failed_builds"}

clouds = st.randoms(use_true_random=False).map(weighed_clouds.draw_cloud)


def group_members(host, cloud, policy):
    return host["members"] if cloud["request"]["policy"] == policy else 0


def partition_side(host, cloud):
    source = cloud["request"]["source"]
    return 0 if source is None else 1 if host["partition"] == source else -1


def image_score(host, cloud):
    request_image = cloud["request"]["image"]
    weights = {name: weight for name, weight in cloud["properties"].items() if name in request_image}
    return sum(
        weight * weighed_clouds.matching_images(host, name, request_image[name]) for name, weight in weights.items()
    )


def metrics_score(host, cloud):
    if not cloud["metrics"].keys() <= host["metrics"].keys():
        return -100
    return sum(ratio * host["metrics"][metric] for metric, ratio in cloud["metrics"].items())


def free_shares(host, instances):
    """Return the free shares of CPUs and memory with so many more instances."""
    return [
        (host["total"][key] - host["used"][key] - instances * amount) / host["total"][key]
        for key, amount in (("VCPU", 1), ("MEMORY_MB", 1024))
    ]


def free_share_score(host, cloud, instances=0):
    used = [1 - share for share in free_shares(host, instances + 1)]
    return 2 - sum(used) - 6 * abs(used[0] ** 2 - used[1] ** 2)


def imbalance(host, instances):
    cpu_share, memory_share = free_shares(host, instances)
    return abs(cpu_share - memory_share)


def balance_score(host, cloud, instances=0):
    return imbalance(host, instances) - imbalance(host, instances + 1)


def special_hardware(host, cloud):
    with_devices = sum(other["devices"] > 0 for other in cloud["hosts"])
    return -(host["devices"] > 0 and with_devices <= len(cloud["hosts"]) / 3)


WITH_ROW_STEPS = {"FreeShareWeigher": free_share_score, "BalanceWeigher": balance_score}
RAW_WEIGHTS = {
    **WITH_ROW_STEPS,
    "HypervisorVersionWeigher": lambda host, cloud: host["facts"].get("hypervisor_version", 0),
    "SpecialHardwareWeigher": special_hardware,
    "PCIWeigher": lambda host, cloud: 100 - min(host["devices"], 99),
    "CrossCellWeigher": partition_side,
    "ServerGroupSoftAffinityWeigher": lambda host, cloud: group_members(host, cloud, "soft-affinity"),
    "ServerGroupSoftAntiAffinityWeigher": lambda host, cloud: -group_members(host, cloud, "soft-anti-affinity"),
    "ImagePropertiesWeigher": image_score,
    "VolumeNearWeigher": lambda host, cloud: 0,  # no request has a volume
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
    values_text = [
        aggregate["metadata"][option]
        for aggregate in cloud["aggregates"]
        if host["name"] in aggregate["hosts"] and option in aggregate["metadata"]
    ]
    try:
        values = [float(aggregate) for aggregate in values_text]
    except ValueError:
        return configured
    return min(values) if values and all(map(math.isfinite, values)) else configured


def expected(name, cloud):
    """Return the weigher's part of each host's score, by host name."""
    raw_values = [raw(name, host, cloud) for host in cloud["hosts"]]
    if name in FLOORS:
        raw_values = [max(FLOORS[name], raw_value) for raw_value in raw_values]
    minimum, maximum = FLOORS.get(name, min(raw_values)), max(raw_values)
    sign = -1 if name == "BuildFailureWeigher" else 1
    return {
        host["name"]: sign * multiplier(name, host, cloud) * (raw_value - minimum) / (maximum - minimum)
        if maximum > minimum
        else 0
        for host, raw_value in zip(cloud["hosts"], raw_values, strict=True)
    }


def scores_and_steps(cloud, *names):
    """Return the scores and the steps, both by host name."""
    weighted = weighed_clouds.weighted(cloud, *names)
    with weighed_clouds.table(cloud, weighted).reading() as view:
        rows = np.flatnonzero(view.present)
        scores = scoring.score(weighted, view, weighed_clouds.request(cloud), rows)
        order = [view.name(row) for row in rows]
    steps = scores.steps(np.arange(len(order)))
    return dict(zip(order, scores.values.tolist(), strict=True)), dict(zip(order, steps, strict=True))


@pytest.mark.parametrize("name", WEIGHER_NAMES)
@settings(max_examples=40, deadline=None)
@given(clouds)
def test_weigher_equals_its_oracle(name, cloud):
    assert scores_and_steps(cloud, name)[0] == pytest.approx(expected(name, cloud), rel=1e-9, abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(clouds)
def test_all_weighers_together_equal_the_sum_of_oracles(cloud):
    parts = [expected(name, cloud) for name in WEIGHER_NAMES]
    sums = {name: sum(part[name] for part in parts) for name in parts[0]}
    # Up to a million for build failures beside parts of 1: floats keep about ten digits of them.
    assert scores_and_steps(cloud)[0] == pytest.approx(sums, rel=1e-9, abs=1e-6)


@pytest.mark.parametrize("name", ["NumInstancesWeigher", "IoOpsWeigher", "ServerGroupSoftAntiAffinityWeigher"])
@settings(max_examples=40, deadline=None)
@given(clouds)
def test_aggregate_multiplier_applies_to_the_step(name, cloud):
    is_requested = name in COUNTS or cloud["request"]["policy"] == "soft-anti-affinity"
    sign = 1 if name in COUNTS else -1
    steps = scores_and_steps(cloud, name)[1]
    for host in cloud["hosts"]:
        step, factor = steps[host["name"]], sign * multiplier(name, host, cloud) * is_requested
        assert (step > 0, step < 0) == (factor > 0, factor < 0)


@pytest.mark.parametrize("weigher", WITH_ROW_STEPS)
@settings(max_examples=80, deadline=None)
@given(clouds)
def test_step_of_a_host_is_the_difference_that_a_second_instance_makes(weigher, cloud):
    score, floor = WITH_ROW_STEPS[weigher], FLOORS.get(weigher)
    steps = scores_and_steps(cloud, weigher)[1]
    hosts = {host["name"]: host for host in cloud["hosts"]}
    changes = {name: score(host, cloud, 1) - score(host, cloud) for name, host in hosts.items()}
    if weigher == "FreeShareWeigher":
        changes = {
            name: min(change, sum(free_shares(hosts[name], 1)) - sum(free_shares(hosts[name], 0)))
            for name, change in changes.items()
        }
    scores = [score(host, cloud) for host in hosts.values()]
    lowest = min(scores) if floor is None else floor
    unit = max(max(lowest, *scores) - lowest, *map(abs, changes.values())) or 1.0
    factors = {name: multiplier(weigher, host, cloud) for name, host in hosts.items()}
    expected_steps = {name: factors[name] * changes[name] / unit for name in hosts}
    assert steps == pytest.approx(expected_steps, rel=1e-6, abs=1e-6 * max(1, *map(abs, factors.values())))


def test_every_weigher_has_an_oracle():
    assert set(WEIGHER_NAMES) == {*OPTIONS, METRICS}
