# SPDX-License-Identifier: Apache-2.0
"""``gantt service``."""


def test_audited_is_shown_for_agents_only(cluster, gantt):
    cluster.scheduler.service("host1", audited=True)
    cluster.scheduler.service("host2", audited=False)
    for binary in ("gantt-conductor", "gantt-scheduler"):
        cluster.scheduler.service(f"{binary}@c1", binary=binary, audited=False)
    audited_by_service = {
        row["host"] + row["binary"]: row["audited"] for row in gantt("service", "list", "-f", "json").json
    }
    assert audited_by_service == {
        "host1gantt-compute": True,
        "host2gantt-compute": False,
        "c1gantt-conductor": None,
        "c1gantt-scheduler": None,
    }
    table = gantt("service", "list", "-c", "binary", "-c", "audited").out
    (line,) = [line for line in table.splitlines() if "gantt-conductor" in line]
    assert line.split() == ["|", "gantt-conductor", "|", "-", "|"]


def test_services_of_all_binaries_are_listed(hosts, gantt):
    rows = gantt("service", "list", "-f", "json").json
    assert [(row["binary"], row["host"], row["state"]) for row in rows] == [
        ("gantt-compute", "host1", "up"),
        ("gantt-compute", "host2", "up"),
        ("gantt-compute", "host3", "down"),
        ("gantt-conductor", "c1", "up"),
    ]
    assert rows[1]["disabled_reason"] == "broken fan"


def test_offset_of_a_clock_is_shown_in_seconds(cluster, gantt):
    cluster.scheduler.service("host1", clock_offset_ms=-3_600_400)
    cluster.scheduler.service("host2")
    offsets = {row["host"]: row["clock_offset"] for row in gantt("service", "list", "-f", "json").json}
    assert offsets == {"host1": -3600.4, "host2": None}
    assert "| -3600 s" in gantt("service", "list", "-c", "clock_offset").out
