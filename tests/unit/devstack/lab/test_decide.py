# SPDX-License-Identifier: Apache-2.0
"""gantt-lab decide: that it measures what it says. How fast that is, no test says."""

import itertools

import pytest

from devstack.lab import decide, driver, furnished, hosts, requests
from scheduler_svc.conf import filter_scheduler
from tests.unit.devstack.lab import asking


def test_every_filter_is_measured_against_a_default_decision():
    rows = asking.run_json("decide", "--hosts", "300", "--all-filters")
    assert rows[0]["default_p50_us"] > 0
    assert rows[0]["ratio"] == pytest.approx(rows[0]["p50_us"] / rows[0]["default_p50_us"])


def test_every_filter_has_hosts_to_look_at_and_leaves_some():
    # Given the driver with everything, and hosts and requests made for it
    every = driver.all_filters()
    assert {each.name for each in every.filters} == set(filter_scheduler.FILTERS)
    table = furnished.table(3000, every.reads)
    # When it decides
    with table.reading() as view:
        found = [every.rank(view, request, 1, 1) for request in furnished.make_requests(20)]
    # Then most requests are served, and hosts fell to filters of several sorts
    assert sum(bool(each.candidates) for each in found) > 10
    reasons = {reason for each in found for reason in each.reasons}
    assert {"aggregates of other projects", "aggregates of other flavors", "capability hypervisor_version"} <= reasons


def test_answers_in_the_programs_form():
    rows = asking.run_json("decide", "--hosts", "300")
    assert [row["hosts"] for row in rows] == [300]
    (row,) = rows
    assert row["ratio"] == pytest.approx(row["p50_us"] / row["bare_p50_us"])
    assert row["p99_us"] >= row["p50_us"]


def test_answers_people_with_a_table():
    code, out, err = asking.run("decide", "--hosts", "50", "--progress")
    assert code == 0
    assert "decide 50 hosts" in out
    assert "cores" in out
    assert "100%" in err


def test_sweep_draws_a_picture(monkeypatch, tmp_path):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(decide, "SWEEP", (30, 60))
    monkeypatch.setattr(decide, "BUDGET_FROM", 60)
    picture = tmp_path / "decide.png"
    rows = asking.run_json("decide", "--sweep", "--plot", str(picture))
    assert [row["hosts"] for row in rows] == [30, 60]
    assert [row["budget"] for row in rows] == [None, 5]
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("given", ["0", "-4", "many"])
def test_refuses_impossible_sizes(given, capsys):
    with pytest.raises(SystemExit):
        asking.run("decide", "--hosts", given)
    assert "whole number of at least 1" in capsys.readouterr().err


def test_makes_up_no_more_hosts_than_a_machine_can_hold(capsys):
    with pytest.raises(SystemExit):
        asking.run("decide", "--hosts", "999999999")
    assert "more than the 200000" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["none/there.png", "there.nope", "."])
def test_a_picture_that_cannot_be_written_is_told_of_before_the_work(name, monkeypatch, tmp_path):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(decide, "_row", lambda *_: pytest.fail("it measured"))
    code, out, err = asking.run("decide", "--hosts", "50", "--plot", str(tmp_path / name))
    assert (code, out) == (1, "")
    assert "cannot be written" in err


def test_what_is_measured_is_a_decision():
    # Given a table on which some hosts are full, and a request
    table = hosts.table(200)
    asked = next(requests.stream(3)).request
    # When the measured subject decides it
    ranking = decide.decision_subject(table)(0)
    # Then it looked at all hosts, and the best has room
    assert ranking.hosts == 200
    with table.reading() as view:
        row = table.rows[ranking.candidates[0][0]]
        assert all(view.free(name)[row] >= amount for name, amount in asked.resources.items())


def test_the_floor_finds_the_hosts_with_most_memory_among_those_with_room():
    # Given the same requests
    table = hosts.table(200)
    look = decide.bare_subject(table)
    for number, wanted in enumerate(itertools.islice(requests.stream(3), 5)):
        # When the bare pass looks
        top = look(number)
        # Then its first host has room, and no host that has room has more memory free
        with table.reading() as view:
            fits = [
                row
                for row in range(view.size)
                if all(view.free(name)[row] >= amount for name, amount in wanted.request.resources.items())
            ]
            memory = view.free("MEMORY_MB")
            assert memory[top[0]] == max(memory[row] for row in fits)


def test_hosts_are_the_same_for_the_same_seed_and_of_several_shapes():
    nodes = hosts.make_nodes(500)
    assert nodes == hosts.make_nodes(500)
    assert len({told["inventories"]["VCPU"]["total"] for told in nodes.values()}) == len(hosts.SHAPES)
    used = hosts.make_usage(nodes, 0.9)
    for name, told in nodes.items():
        for resource_class, unit in told["inventories"].items():
            assert 0 <= used[name][resource_class] <= unit["capacity"]
