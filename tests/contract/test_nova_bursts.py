# SPDX-License-Identifier: Apache-2.0
"""Many calls of Nova at once, many instances in one call, and many hosts."""

import uuid
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.nova import nova_clouds
from tests.support.nova.nova_clouds import (
    NovaCloud,
    allocation_request,
    destination,
    fields_of,
    hosts_of,
    spec,
)

HOSTS, CALLS = 4, 20
MOST_ON_ONE_HOST = 8
ATTEMPTS = 25
OTHER_CELL = "22222222-2222-4222-8222-222222222222"
LARGE = {"VCPU": 400, "MEMORY_MB": 400_000, "DISK_GB": 4000}


@pytest.fixture
def cloud(request):
    created = NovaCloud(**getattr(request, "param", {}))
    created.start()
    yield created
    created.stop()


def test_parallel_boots_are_spread_over_equal_hosts(cloud):
    """Given Nova's defaults, and computes whose reports are older than all of these boots."""
    busy = {"instances": 1, "io_ops": 1, "failed_builds": 0}
    for number in range(HOSTS):
        cloud.add_host(f"h{number}", LARGE, metrics=busy)
    cloud.follow()
    with ThreadPoolExecutor(CALLS) as pool:
        rows = list(pool.map(lambda _: cloud.client.select(spec(), [str(uuid.uuid4())]), range(CALLS)))
    selected = Counter(hosts_of(row)[0][0] for row in rows)
    assert sum(selected.values()) == CALLS
    assert max(selected.values()) <= MOST_ON_ONE_HOST, selected


def cells_of(rows):
    return [{fields_of(selection)["cell_uuid"] for selection in row} for row in rows]


def test_alternates_are_found_beyond_the_candidates_of_a_claim_where_those_are_of_another_cell(cloud):
    """Given hosts of two cells, of which the ones that are better than all others are of one, but for the best."""
    cloud.add_host("h0", {**LARGE, "VCPU": 500})
    for number in range(20):
        cloud.add_host(f"near{number}", {**LARGE, "VCPU": 450}, cell=OTHER_CELL)
    for number in range(3):
        cloud.add_host(f"h{number + 1}", {**LARGE, "VCPU": 4})
    _, rows = cloud.select(spec())
    ((selected, *alternates),) = hosts_of(rows)
    assert selected == "h0"
    assert len(set(alternates) & {"h1", "h2", "h3"}) == 2
    assert cells_of(rows) == [{nova_clouds.CELL}]
    assert all(allocation_request(selection)["allocations"] for selection in rows[0])


def test_instances_of_a_large_request_have_alternates_that_are_selected_for_none(cloud):
    """Given hosts of which each takes two instances, so that the next best are those of the other instances."""
    for number in range(24):
        cloud.add_host(f"h{number}", {**LARGE, "VCPU": 4}, **({"cell": OTHER_CELL} if number % 2 else {}))
    _, rows = cloud.select(spec(), 20)
    names = hosts_of(rows)
    selected = {row[0] for row in names}
    assert len(rows) == 20
    assert all(len(cells) == 1 for cells in cells_of(rows))
    unselected = {f"h{number}" for number in range(24)} - selected
    for row, (cell,) in zip(names, cells_of(rows), strict=True):
        possible = [name for name in unselected if (int(name[1:]) % 2 == 1) == (cell == OTHER_CELL)]
        assert len(row) - 1 == min(2, len(possible)), (row, possible)
        assert set(row[1:]) <= set(possible)


@pytest.mark.parametrize("cloud", [{"max_attempts": ATTEMPTS}], indirect=True)
def test_more_alternates_than_a_claim_has_candidates(cloud):
    for number in range(30):
        cloud.add_host(f"h{number}", LARGE)
    _, rows = cloud.select(spec())
    (names,) = hosts_of(rows)
    assert len(names) == len(set(names)) == ATTEMPTS


@pytest.mark.parametrize("alone", ["force_hosts", "aggregate"])
def test_hosts_that_a_request_may_not_use_are_no_alternates(cloud, alone):
    first = cloud.add_host("h0", LARGE)
    for number in range(1, 4):
        cloud.add_host(f"h{number}", LARGE)
    if alone == "force_hosts":
        request = spec(force_hosts=["h0"])
    else:
        aggregate = str(uuid.uuid4())
        cloud.put("aggregate", aggregate, {"hosts": [f"@api/{first}"], "metadata": {}})
        request = spec(requested_destination=destination(aggregates=[aggregate]))
    assert hosts_of(cloud.select(request)[1]) == [["h0"]]


def test_anti_affinity_leaves_alternates_that_have_no_member(cloud):
    """Given a member on a host that claims nothing in gantt, and more hosts than a claim has candidates."""
    for number in range(22):
        cloud.add_host(f"h{number}", LARGE)
    group = {"uuid": str(uuid.uuid4()), "policy": "anti-affinity", "members": [], "hosts": ["h0"]}
    with_group = spec(instance_group=nova_clouds.nova_object("InstanceGroup", "1.11", group))
    _, rows = cloud.select(with_group, 18)
    names = hosts_of(rows)
    assert len({row[0] for row in names}) == 18
    assert {len(row) for row in names} == {3}
    assert not {name for row in names for name in row[1:]} & {"h0", *(row[0] for row in names)}
