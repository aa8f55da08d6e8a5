# SPDX-License-Identifier: Apache-2.0
"""``gantt aggregate``."""

import pytest


@pytest.fixture
def aggregates(cluster):
    for host in ("h1", "h3", "h8"):
        cluster.scheduler.service(host)
    cluster.scheduler.node("h2/n1")
    documents = cluster.scheduler.state["aggregate"]
    documents["ssd"] = {"name": "SSD hosts", "hosts": ["h1", "h2/n1"], "metadata": {"disk": "ssd"}, "version": 4}
    documents["az2"] = {"hosts": ["h2"], "metadata": {"availability_zone": "az2"}}
    documents["former"] = {"hosts": [], "deleted": True, "version": 9}
    return documents


def list_ids(gantt, *arguments):
    return [row["id"] for row in gantt("aggregate", "list", "-f", "json", *arguments).json]


def test_list_omits_deleted_aggregates(aggregates, gantt):
    assert list_ids(gantt) == ["az2", "ssd"]
    assert list_ids(gantt, "--host", "h2/n1") == ["ssd"]


def test_show_prints_one_aggregate(aggregates, gantt):
    columns = gantt("aggregate", "show", "ssd", "-f", "json").json
    assert columns == {"id": "ssd", "name": "SSD hosts", "hosts": ["h1", "h2/n1"], "metadata": {"disk": "ssd"}}
    for name in ("nobody", "former"):
        result = gantt("aggregate", "show", name)
        assert (result.code, result.err) == (1, f"Aggregate '{name}' is not known\n")


def test_set_creates_and_extends_an_aggregate(aggregates, gantt):
    assert gantt("aggregate", "set", "fast", "disk=nvme", "--host", "h3", "--zone", "az3", "--name", "Fast").code == 0
    expected = {"name": "Fast", "hosts": ["h3"], "metadata": {"disk": "nvme", "availability_zone": "az3"}, "version": 1}
    assert aggregates["fast"] == expected
    assert gantt("aggregate", "set", "fast", "net=fast", "--host", "h1", "--host", "h3").code == 0
    assert aggregates["fast"]["hosts"] == ["h3", "h1"]
    assert aggregates["fast"]["metadata"] == {"disk": "nvme", "availability_zone": "az3", "net": "fast"}
    assert (aggregates["fast"]["name"], aggregates["fast"]["version"]) == ("Fast", 2)


def test_set_without_a_change_writes_nothing(aggregates, gantt):
    assert gantt("aggregate", "set", "ssd", "disk=ssd", "--host", "h1").code == 0
    assert aggregates["ssd"]["version"] == 4


def test_unset_removes_hosts_and_metadata(aggregates, gantt):
    assert gantt("aggregate", "unset", "ssd", "disk", "--host", "h1", "--host", "h9").code == 0
    assert aggregates["ssd"] == {"name": "SSD hosts", "hosts": ["h2/n1"], "metadata": {}, "version": 5}
    assert gantt("aggregate", "unset", "former", "disk").err == "Aggregate 'former' is not known\n"


def test_deleted_aggregate_is_recreated_with_the_next_version(aggregates, gantt):
    assert gantt("aggregate", "set", "former", "--host", "h1").code == 0
    assert aggregates["former"] == {"hosts": ["h1"], "metadata": {}, "version": 10}


def test_set_keeps_a_concurrent_change(aggregates, gantt, cluster):
    cluster.scheduler.concurrent_updates = [{**aggregates["ssd"], "hosts": ["h7"], "version": 5}]
    assert gantt("aggregate", "set", "ssd", "--host", "h8").code == 0
    assert (aggregates["ssd"]["hosts"], aggregates["ssd"]["version"]) == (["h7", "h8"], 6)


def test_set_fails_after_too_many_concurrent_changes(aggregates, gantt, cluster):
    cluster.scheduler.concurrent_updates = [{"hosts": [f"x{n}"], "version": 100 - n} for n in range(10)]
    result = gantt("aggregate", "set", "ssd", "--host", "h8")
    assert result.code == 1 and "too many concurrent changes" in result.err


def test_aggregate_with_a_text_version_is_not_changed(aggregates, gantt):
    aggregates["az2"]["version"] = "2026-01-01"
    result = gantt("aggregate", "set", "az2", "--host", "h8")
    assert result.code == 1 and "its owner set the non-integer version '2026-01-01'" in result.err
    assert aggregates["az2"]["hosts"] == ["h2"]


def test_set_rejects_an_unknown_host_and_changes_nothing(aggregates, gantt):
    result = gantt("aggregate", "set", "ssd", "--host", "h3", "--host", "nobody")
    assert (result.code, result.err) == (1, "No host or node named 'nobody' is known; see 'gantt host list'\n")
    assert aggregates["ssd"]["version"] == 4
    assert gantt("aggregate", "set", "fast", "--host", "h2/n1").code == 0
    assert aggregates["fast"]["hosts"] == ["h2/n1"]


def test_delete_rejects_an_unknown_aggregate(aggregates, gantt):
    assert gantt("aggregate", "delete", "ssd").code == 0
    assert "ssd" not in aggregates
    for name in ("ssd", "former"):
        result = gantt("aggregate", "delete", name)
        assert (result.code, result.err) == (1, f"Aggregate {name!r} is not known\n")


def test_invalid_arguments_are_rejected(gantt):
    assert "'disk' is not KEY=VALUE" in gantt("aggregate", "set", "ssd", "disk").err
    assert gantt("aggregate", "set", "ssd", "--host", "a b").code != 0
