# SPDX-License-Identifier: Apache-2.0
"""``gantt service``: what is shown of whom."""


def test_only_an_agent_is_audited(cluster, gantt):
    cluster.scheduler.service("host1", audited=True)
    cluster.scheduler.service("host2", audited=False)
    for binary in ("gantt-conductor", "gantt-scheduler"):
        cluster.scheduler.service(f"{binary}@c1", binary=binary, audited=False)
    shown = {row["host"] + row["binary"]: row["audited"] for row in gantt("service", "list", "-f", "json").json}
    assert shown == {
        "host1gantt-compute": True,
        "host2gantt-compute": False,
        "c1gantt-conductor": None,
        "c1gantt-scheduler": None,
    }
    table = gantt("service", "list", "-c", "binary", "-c", "audited").out
    (line,) = [line for line in table.splitlines() if "gantt-conductor" in line]
    assert line.split() == ["|", "gantt-conductor", "|", "-", "|"]
