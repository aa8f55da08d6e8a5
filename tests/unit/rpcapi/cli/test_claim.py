# SPDX-License-Identifier: Apache-2.0
"""``gantt claim`` and ``gantt explain``."""

DECISION = {
    "at_ms": 1_700_000_000_000,
    "driver": "filter",
    "seed": 5,
    "epoch": 7,
    "position": 9,
    "instances": 1,
    "spec": {"resources": {"VCPU": 2}, "availability_zone": None, "required_traits": []},
    "hosts": 100,
    "reasons": {"az": 8, "VCPU": 80},
    "best": [{"name": "host1/node1", "score": 1.5, "weights": {"ram": 1.0, "cpu": 0.5}}],
    "outcome": "selected",
    "verdicts": [
        {"consumer": "a", "answer": "prepared", "host": "host2", "tried": [["host1", "FULL"], ["host2", "FITS"]]}
    ],
}


def test_list_reads_all_pages(cluster, gantt):
    for name in "abc":
        cluster.claims.claim(name)
    cluster.claims.claim("d", host="host2", state="prepared", deadline_ms=1_700_000_000_000)
    rows = gantt("claim", "list", "-f", "json").json
    assert [row["consumer"] for row in rows] == list("abcd")
    assert rows[0]["resources"] == {"VCPU": 2, "MEMORY_MB": 512}
    assert (rows[0]["deadline"], rows[3]["deadline"]) == (None, "2023-11-14T22:13:20.000+00:00")
    assert [row["consumer"] for row in gantt("claim", "list", "-f", "json", "--host", "host2").json] == ["d"]
    assert [row["consumer"] for row in gantt("claim", "list", "-f", "json", "--consumer", "b").json] == ["b"]


def test_show_prints_the_claim_of_a_consumer(cluster, gantt):
    cluster.claims.claim("a", host="host1/node1")
    columns = gantt("claim", "show", "a", "-f", "json").json
    assert columns["allocations"] == {"host1/node1": {"VCPU": 2, "MEMORY_MB": 512}}
    assert "host1/node1: 2 VCPU, 512 MEMORY_MB" in gantt("claim", "show", "a").out
    result = gantt("claim", "show", "b")
    assert (result.code, result.err) == (1, "A live claim of b was not found\n")


def test_both_claims_of_an_instance_that_moves_are_listed_with_their_roles(cluster, gantt):
    cluster.claims.claim("a", host="host1/node1", attempt=2, role="destination", migration="m")
    cluster.claims.source("a")
    rows = gantt("claim", "list", "-f", "json", "--consumer", "a").json
    shown = {(row["consumer"], row["attempt"], row["role"], row["migration"], row["host"]) for row in rows}
    assert shown == {("a", 1, "source", "m", "host2/node1"), ("a", 2, "destination", "m", "host1/node1")}
    claim = gantt("claim", "show", "a", "-f", "json").json
    assert (claim["attempt"], claim["role"], claim["migration"]) == (2, "destination", "m")
    claim = gantt("claim", "show", "m", "-f", "json").json
    assert (claim["attempt"], claim["role"], claim["migration"]) == (1, "source", "m")


def test_verify_exits_0_only_when_clean(cluster, gantt):
    cluster.claims.claim("a")
    result = gantt("claim", "verify", "-f", "json")
    assert (result.code, result.json["clean"], result.json["claims"]) == (0, True, {"confirmed": 1})
    cluster.claims.excess = [{"provider": "host1", "class": "VCPU", "used": 9, "capacity": 8}]
    assert gantt("claim", "verify", "-f", "json").code == 1
    cluster.claims.excess, cluster.claims.problems = [], ["used of host1 is 3, its claims sum to 2"]
    result = gantt("claim", "verify")
    assert result.code == 1
    assert "its claims sum to 2" in result.out


def test_verify_lists_awaited_hosts_and_is_still_clean(cluster, gantt):
    cluster.claims.awaited = ["host7", "host8"]
    result = gantt("claim", "verify", "-f", "json")
    assert (result.code, result.json["awaited"]) == (0, ["host7", "host8"])


def test_call_is_retried_while_the_store_is_down(cluster, gantt):
    cluster.claims.down = 2
    assert gantt("claim", "verify").code == 0
    cluster.claims.down = 3
    result = gantt("claim", "verify")
    assert result.code == 1
    assert result.err.endswith("The store cannot be reached: it is being restarted\n")


def test_explain_shows_filters_scores_and_verdicts(cluster, gantt):
    cluster.scheduler.decisions["req-1"] = DECISION
    columns = gantt("explain", "req-1", "-f", "json").json
    assert columns["hosts_refused"] == {"az": 8, "VCPU": 80}
    assert columns["best"] == DECISION["best"]
    assert columns["claims"] == DECISION["verdicts"]
    assert columns["request"] == {"resources": {"VCPU": 2}}
    output = gantt("explain", "req-1").out
    assert output.index("80 VCPU") < output.index("8 az")
    assert "host1/node1: 1.500 (ram +1.000, cpu +0.500)" in output
    assert "a: prepared on host2 (tried host1 FULL, host2 FITS)" in output


def test_explain_summarizes_many_verdicts(cluster, gantt):
    verdicts = [{"consumer": f"c{number}", "answer": "refused", "host": None, "tried": []} for number in range(50)]
    cluster.scheduler.decisions["req-1"] = DECISION | {"verdicts": verdicts}
    output = gantt("explain", "req-1").out
    assert "c19: refused" in output
    assert "c20" not in output
    assert "and 30 more refused" in output
    assert len(gantt("explain", "req-1", "-f", "json").json["claims"]) == 50


def test_explain_prints_hints_as_key_value_pairs(cluster, gantt):
    spec = DECISION["spec"] | {"hints": {"rack": "a1", "query": [">=", 2]}}
    cluster.scheduler.decisions["req-1"] = DECISION | {"spec": spec}
    output = gantt("explain", "req-1").out
    assert "hints: rack=a1, query=['>=', 2]" in output
    assert "resources: 2 VCPU" in output


def test_explain_shows_the_reason_of_a_refusal_without_hosts(cluster, gantt):
    reason = "Unknown host or node 'h9'; see 'gantt host list'"
    cluster.scheduler.decisions["req-1"] = {"outcome": "refused", "hosts": 0, "why": reason}
    output = gantt("explain", "req-1").out
    assert "refused" in output and reason in output


def test_explain_of_an_unknown_request_is_one_line(cluster, gantt):
    result = gantt("explain", "req-9")
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith("No decision of request req-9 is recorded;")
