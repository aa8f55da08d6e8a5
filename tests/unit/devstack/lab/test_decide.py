# SPDX-License-Identifier: Apache-2.0
"""lab.sh decide: it measures decisions. Times are not tested."""

import itertools

import pytest

from devstack.lab import decide, default_driver, full_hosts, hosts
from scheduler_svc.core import built_in
from tests.support import asking


def test_all_filters_are_measured_against_a_default_decision():
    rows = asking.run_json("decide", "--hosts", "300", "--all-filters")
    assert rows[0]["default_p50_us"] > 0
    assert rows[0]["ratio"] == pytest.approx(rows[0]["p50_us"] / rows[0]["default_p50_us"])


def test_every_filter_has_work_and_leaves_hosts():
    # Given the driver with all filters, and hosts and requests generated for it
    ranker = default_driver.all_filters()
    assert {item.name for item in ranker.filters} == set(built_in.FILTER_NAMES)
    table = full_hosts.table(3000, ranker.reads)
    # When it ranks hosts
    with table.reading() as view:
        rankings = [ranker.rank(view, request, 1, 1) for request in full_hosts.make_requests(20)]
    # Then most requests are served, and several kinds of filters rejected hosts
    assert sum(bool(item.candidates) for item in rankings) > 10
    reasons = {reason for item in rankings for reason in item.reasons}
    assert {"aggregates of other projects", "aggregates of other flavors", "capability hypervisor_version"} <= reasons


def test_json_row():
    rows = asking.run_json("decide", "--hosts", "300")
    assert [row["hosts"] for row in rows] == [300]
    (row,) = rows
    assert row["ratio"] == pytest.approx(row["p50_us"] / row["bare_p50_us"])
    assert row["p99_us"] >= row["p50_us"]


def test_text_output_is_a_table():
    code, out, _ = asking.run("decide", "--hosts", "50")
    assert code == 0
    assert "decide 50 hosts" in out
    assert "cores" in out


def test_sweep_is_plotted(monkeypatch, tmp_path):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(decide, "SWEEP", (30, 60))
    monkeypatch.setattr(decide, "BUDGET_FROM", 60)
    picture = tmp_path / "decide.png"
    rows = asking.run_json("decide", "--sweep", "--plot", str(picture))
    assert [row["hosts"] for row in rows] == [30, 60]
    assert [row["budget"] for row in rows] == [None, 5]
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", ["none/there.png", "there.nope", "."])
def test_unwritable_plot_is_reported_before_measuring(name, monkeypatch, tmp_path):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(decide, "_row", lambda *_: pytest.fail("it measured"))
    code, out, err = asking.run("decide", "--hosts", "50", "--plot", str(tmp_path / name))
    assert (code, out) == (1, "")
    assert "cannot be written" in err


def test_measured_subject_is_a_decision():
    # Given a table with some full hosts, and a request
    table = hosts.table(200)
    request = next(hosts.stream(3)).request
    # When the measured subject runs
    ranking = decide.decision_subject(table)(0)
    # Then it ranked all hosts, and the best has enough free capacity
    assert ranking.hosts == 200
    with table.reading() as view:
        row = table.partitions[0].rows[ranking.candidates[0][0]]
        assert all(view.hosts.free(name)[row] >= amount for name, amount in request.resources.items())


def test_bare_subject_finds_the_matching_host_with_most_memory():
    # Given the same requests
    table = hosts.table(200)
    rank_bare = decide.bare_subject(table)
    for number, server in enumerate(itertools.islice(hosts.stream(3), 5)):
        # When the bare subject runs
        top = rank_bare(number)
        # Then its first host matches, and no matching host has more free memory
        with table.reading() as view:
            matching_rows = [
                row
                for row in range(view.size)
                if all(view.hosts.free(name)[row] >= amount for name, amount in server.request.resources.items())
            ]
            memory = view.hosts.free("MEMORY_MB")
            assert memory[top[0]] == max(memory[row] for row in matching_rows)


def test_generated_hosts_are_reproducible_and_of_several_shapes():
    nodes = hosts.make_nodes(500)
    assert nodes == hosts.make_nodes(500)
    assert len({node["inventories"]["VCPU"]["total"] for node in nodes.values()}) == len(hosts.SHAPES)
    used = hosts.make_usage(nodes, 0.9)
    for name, node in nodes.items():
        for resource_class, unit in node["inventories"].items():
            assert 0 <= used[name][resource_class] <= unit["capacity"]


def test_requests_are_the_same_for_the_same_seed_and_some_have_hints():
    requests = full_hosts.make_requests(200)
    assert requests == full_hosts.make_requests(200)
    hinted = [request for request in requests if "query" in request.hints]
    assert 10 < len(hinted) < 45  # one in eight
