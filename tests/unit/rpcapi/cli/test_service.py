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
