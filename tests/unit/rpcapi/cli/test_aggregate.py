# SPDX-License-Identifier: Apache-2.0
"""``gantt aggregate``."""


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
        assert (result.code, result.err) == (1, f"Aggregate '{name}' was not found\n")


def test_set_creates_and_extends_an_aggregate(aggregates, gantt):
    assert gantt("aggregate", "set", "fast", "disk=nvme", "--host", "h3", "--zone", "az3", "--name", "Fast").code == 0
    expected = {"name": "Fast", "hosts": ["h3"], "metadata": {"disk": "nvme", "availability_zone": "az3"}, "version": 1}
    assert aggregates["fast"] == expected
    assert gantt("aggregate", "set", "fast", "net=fast", "--host", "h1", "--host", "h3").code == 0
    assert aggregates["fast"]["hosts"] == ["h3", "h1"]
    assert aggregates["fast"]["metadata"] == {"disk": "nvme", "availability_zone": "az3", "net": "fast"}
    assert (aggregates["fast"]["name"], aggregates["fast"]["version"]) == ("Fast", 2)


def test_uuid_of_an_aggregate_may_have_capitals(aggregates, gantt):
    uuid = "0a1b2c3d-4e5f-4a6b-8c7d-9e0f1a2b3c4d"
    aggregates[uuid] = {"hosts": ["h1"], "metadata": {}, "version": 1}
    assert gantt("aggregate", "show", uuid.upper(), "-f", "json").json["id"] == uuid
    assert gantt("aggregate", "set", uuid.upper(), "--host", "h3").code == 0
    assert aggregates[uuid]["hosts"] == ["h1", "h3"]
    assert gantt("aggregate", "delete", uuid.upper()).code == 0
    assert uuid not in aggregates


def test_set_without_a_change_writes_nothing(aggregates, gantt):
    assert gantt("aggregate", "set", "ssd", "disk=ssd", "--host", "h1").code == 0
    assert aggregates["ssd"]["version"] == 4


def test_unset_removes_hosts_and_metadata(aggregates, gantt):
    assert gantt("aggregate", "unset", "ssd", "disk", "--host", "h1", "--host", "h9").code == 0
    assert aggregates["ssd"] == {"name": "SSD hosts", "hosts": ["h2/n1"], "metadata": {}, "version": 5}
    assert gantt("aggregate", "unset", "former", "disk").err == "Aggregate 'former' was not found\n"


def test_delete_rejects_an_unknown_aggregate(aggregates, gantt):
    assert gantt("aggregate", "delete", "ssd").code == 0
    assert "ssd" not in aggregates
    for name in ("ssd", "former"):
        result = gantt("aggregate", "delete", name)
        assert (result.code, result.err) == (1, f"Aggregate {name!r} was not found\n")


def test_invalid_arguments_are_rejected(gantt):
    assert "'disk' is not KEY=VALUE" in gantt("aggregate", "set", "ssd", "disk").err
    assert gantt("aggregate", "set", "ssd", "--host", "a b").code != 0
