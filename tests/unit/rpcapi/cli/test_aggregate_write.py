# SPDX-License-Identifier: Apache-2.0
"""Changes of aggregates: concurrent ones, those of their owner, and unknown hosts."""


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
    assert result.code == 1 and "its owner versions it with the non-integer '2026-01-01'" in result.err
    assert aggregates["az2"]["hosts"] == ["h2"]


def test_set_rejects_an_unknown_host_and_changes_nothing(aggregates, gantt):
    result = gantt("aggregate", "set", "ssd", "--host", "h3", "--host", "nobody")
    assert (result.code, result.err) == (1, "Unknown host or node 'nobody'; see 'gantt host list'\n")
    assert aggregates["ssd"]["version"] == 4
    assert gantt("aggregate", "set", "fast", "--host", "h2/n1").code == 0
    assert aggregates["fast"]["hosts"] == ["h2/n1"]
