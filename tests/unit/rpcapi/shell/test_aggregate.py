# SPDX-License-Identifier: Apache-2.0
"""``gantt aggregate``."""

import pytest


@pytest.fixture
def aggregates(cluster):
    held = cluster.scheduler.state["aggregate"]
    held["ssd"] = {"name": "SSD hosts", "hosts": ["h1", "h2/n1"], "metadata": {"disk": "ssd"}, "version": 4}
    held["az2"] = {"hosts": ["h2"], "metadata": {"availability_zone": "az2"}}
    held["former"] = {"hosts": [], "deleted": True, "version": 9}
    return held


def listed(gantt, *arguments):
    return [row["id"] for row in gantt("aggregate", "list", "-f", "json", *arguments).json]


def test_list_leaves_out_what_was_deleted(aggregates, gantt):
    assert listed(gantt) == ["az2", "ssd"]
    assert listed(gantt, "--host", "h2/n1") == ["ssd"]


def test_show(aggregates, gantt):
    shown = gantt("aggregate", "show", "ssd", "-f", "json").json
    assert shown == {"id": "ssd", "name": "SSD hosts", "hosts": ["h1", "h2/n1"], "metadata": {"disk": "ssd"}}
    for unknown in ("nobody", "former"):
        done = gantt("aggregate", "show", unknown)
        assert (done.code, done.err) == (1, f"Aggregate '{unknown}' is not known\n")


def test_set_makes_one_and_adds_to_it(aggregates, gantt):
    assert gantt("aggregate", "set", "fast", "disk=nvme", "--host", "h3", "--zone", "az3", "--name", "Fast").code == 0
    made = {"name": "Fast", "hosts": ["h3"], "metadata": {"disk": "nvme", "availability_zone": "az3"}, "version": 1}
    assert aggregates["fast"] == made
    assert gantt("aggregate", "set", "fast", "net=fast", "--host", "h1", "--host", "h3").code == 0
    assert aggregates["fast"]["hosts"] == ["h3", "h1"]
    assert aggregates["fast"]["metadata"] == {"disk": "nvme", "availability_zone": "az3", "net": "fast"}
    assert (aggregates["fast"]["name"], aggregates["fast"]["version"]) == ("Fast", 2)


def test_what_is_so_already_is_not_told(aggregates, gantt):
    assert gantt("aggregate", "set", "ssd", "disk=ssd", "--host", "h1").code == 0
    assert aggregates["ssd"]["version"] == 4


def test_unset_takes_away(aggregates, gantt):
    assert gantt("aggregate", "unset", "ssd", "disk", "--host", "h1", "--host", "h9").code == 0
    assert aggregates["ssd"] == {"name": "SSD hosts", "hosts": ["h2/n1"], "metadata": {}, "version": 5}
    assert gantt("aggregate", "unset", "former", "disk").err == "Aggregate 'former' is not known\n"


def test_one_that_was_deleted_is_made_anew_after_its_last_version(aggregates, gantt):
    assert gantt("aggregate", "set", "former", "--host", "h1").code == 0
    assert aggregates["former"] == {"hosts": ["h1"], "metadata": {}, "version": 10}


def test_what_others_changed_meanwhile_is_kept(aggregates, gantt, cluster):
    cluster.scheduler.overtakers = [{**aggregates["ssd"], "hosts": ["h7"], "version": 5}]
    assert gantt("aggregate", "set", "ssd", "--host", "h8").code == 0
    assert (aggregates["ssd"]["hosts"], aggregates["ssd"]["version"]) == (["h7", "h8"], 6)


def test_who_never_gets_a_turn_is_told(aggregates, gantt, cluster):
    cluster.scheduler.overtakers = [{"hosts": [f"x{n}"], "version": 100 - n} for n in range(10)]
    done = gantt("aggregate", "set", "ssd", "--host", "h8")
    assert done.code == 1 and "others change it at the same time" in done.err


def test_an_owner_with_an_order_of_its_own_is_not_overruled(aggregates, gantt):
    aggregates["az2"]["version"] = "2026-01-01"
    done = gantt("aggregate", "set", "az2", "--host", "h8")
    assert done.code == 1 and "its owner has given it version '2026-01-01'" in done.err
    assert aggregates["az2"]["hosts"] == ["h2"]


def test_delete(aggregates, gantt):
    assert gantt("aggregate", "delete", "ssd").code == 0
    assert "ssd" not in aggregates
    assert gantt("aggregate", "delete", "ssd").code == 0


def test_bad_arguments(gantt):
    assert "'disk' is not KEY=VALUE" in gantt("aggregate", "set", "ssd", "disk").err
    assert gantt("aggregate", "set", "ssd", "--host", "a b").code != 0
