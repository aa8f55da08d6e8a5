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


def test_list_follows_every_page(cluster, gantt):
    for name in "abc":
        cluster.claims.claim(name)
    cluster.claims.claim("d", host="host2", state="prepared", deadline_ms=1_700_000_000_000)
    rows = gantt("claim", "list", "-f", "json").json
    assert [row["consumer"] for row in rows] == list("abcd")
    assert rows[0]["resources"] == {"VCPU": 2, "MEMORY_MB": 512}
    assert (rows[0]["deadline"], rows[3]["deadline"]) == (None, "2023-11-14T22:13:20.000+00:00")
    assert [row["consumer"] for row in gantt("claim", "list", "-f", "json", "--host", "host2").json] == ["d"]
    assert [row["consumer"] for row in gantt("claim", "list", "-f", "json", "--consumer", "b").json] == ["b"]


def test_show_a_consumers_claim(cluster, gantt):
    cluster.claims.claim("a", host="host1/node1")
    shown = gantt("claim", "show", "a", "-f", "json").json
    assert shown["allocations"] == {"host1/node1": {"VCPU": 2, "MEMORY_MB": 512}}
    assert "host1/node1: 2 VCPU, 512 MEMORY_MB" in gantt("claim", "show", "a").out
    done = gantt("claim", "show", "b")
    assert (done.code, done.err) == (1, "A live claim of b is not known\n")


def test_verify_exits_0_only_when_clean(cluster, gantt):
    cluster.claims.claim("a")
    done = gantt("claim", "verify", "-f", "json")
    assert (done.code, done.json["clean"], done.json["claims"]) == (0, True, {"confirmed": 1})
    cluster.claims.excess = [{"provider": "host1", "class": "VCPU", "used": 9, "capacity": 8}]
    assert gantt("claim", "verify", "-f", "json").code == 1
    cluster.claims.excess, cluster.claims.problems = [], ["used of host1 is 3, its claims sum to 2"]
    done = gantt("claim", "verify")
    assert done.code == 1
    assert "its claims sum to 2" in done.out


def test_verify_names_the_hosts_that_are_awaited_and_is_clean_all_the_same(cluster, gantt):
    cluster.claims.awaited = ["host7", "host8"]
    done = gantt("claim", "verify", "-f", "json")
    assert (done.code, done.json["awaited"]) == (0, ["host7", "host8"])


def test_what_is_away_for_a_moment_is_asked_again(cluster, gantt):
    cluster.claims.down = 2
    assert gantt("claim", "verify").code == 0
    cluster.claims.down = 3
    done = gantt("claim", "verify")
    assert done.code == 1
    assert done.err.endswith("The store cannot be reached: it is being restarted\n")


def test_explain_tells_filters_scores_and_the_scripts_answer(cluster, gantt):
    cluster.scheduler.decisions["req-1"] = DECISION
    shown = gantt("explain", "req-1", "-f", "json").json
    assert shown["hosts_refused"] == {"az": 8, "VCPU": 80}
    assert shown["best"] == DECISION["best"]
    assert shown["claims"] == DECISION["verdicts"]
    assert shown["asked"] == {"resources": {"VCPU": 2}}
    table = gantt("explain", "req-1").out
    assert table.index("80 VCPU") < table.index("8 az")
    assert "host1/node1: 1.500 (ram +1.000, cpu +0.500)" in table
    assert "a: prepared on host2 (tried host1 FULL, host2 FITS)" in table


def test_explain_sums_up_a_long_answer(cluster, gantt):
    verdicts = [{"consumer": f"c{number}", "answer": "refused", "host": None, "tried": []} for number in range(50)]
    cluster.scheduler.decisions["req-1"] = DECISION | {"verdicts": verdicts}
    table = gantt("explain", "req-1").out
    assert "c19: refused" in table
    assert "c20" not in table
    assert "and 30 more refused" in table
    assert len(gantt("explain", "req-1", "-f", "json").json["claims"]) == 50


def test_explain_says_which_chunk_of_a_large_request_it_is_about(cluster, gantt):
    cluster.scheduler.decisions["req-1"] = DECISION | {"instances": 250, "chunk": 2, "chunks": 3}
    assert "3 of 3; the others are not kept" in gantt("explain", "req-1").out
    assert gantt("explain", "req-1", "-f", "json").json["chunk"] == {"number": 3, "of": 3}
    # Recorded before chunks were counted
    cluster.scheduler.decisions["req-1"] = DECISION
    assert gantt("explain", "req-1", "-f", "json").json["chunk"] is None


def test_explain_prints_hints_as_what_they_are_and_no_amounts(cluster, gantt):
    spec = DECISION["spec"] | {"hints": {"rack": "a1", "query": [">=", 2]}}
    cluster.scheduler.decisions["req-1"] = DECISION | {"spec": spec}
    table = gantt("explain", "req-1").out
    assert "hints: rack=a1, query=['>=', 2]" in table
    assert "resources: 2 VCPU" in table


def test_explain_tells_why_no_host_was_looked_at(cluster, gantt):
    why = "No host or node named 'h9' is known; see 'gantt host list'"
    cluster.scheduler.decisions["req-1"] = {"outcome": "refused", "hosts": 0, "why": why}
    table = gantt("explain", "req-1").out
    assert "refused" in table and why in table


def test_explain_of_a_request_without_record_is_one_line(cluster, gantt):
    done = gantt("explain", "req-9")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("No decision of request req-9 is recorded;")
