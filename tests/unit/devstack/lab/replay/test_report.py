# SPDX-License-Identifier: Apache-2.0
"""Rows and plot of a replay."""

import pytest

from devstack.lab import hosts
from devstack.lab.race.regret import JudgedClaim
from devstack.lab.replay import policies, report
from devstack.lab.replay.observer import UsageSample
from devstack.lab.replay.scenario import ReplayRun


def sample(at, used, density=0.5):
    return UsageSample(at, density, density, used, used / 2, empty_hosts=3, stranded_cpu=0.1, stranded_memory=0.2)


def run(**values):
    defaults = {"placements": 90, "refusals": 10, "seconds": 2.0, "samples": [sample(1, 0.2, 0.4), sample(2, 0.8, 0.6)]}
    return ReplayRun(**(defaults | values))


def rows(replay_run, oracle=100):
    return {
        row.name.partition(": ")[2]: row for row in report.rows(policies.load("filter"), replay_run, oracle, hosts=7)
    }


def test_overcommit_has_a_budget_of_none():
    assert rows(run())["overcommit"].ok
    assert not rows(run(overcommit=1))["overcommit"].ok


def test_placements_are_compared_with_the_oracle():
    row = rows(run(first_refusal=(7, 0.9)))["placed, beside the oracle"]
    assert (row.ratio, row.figures["placed_per_s"], row.figures["ms_per_server"]) == (0.9, 45.0, 20.0)
    assert (row.figures["first_refusal_request"], row.figures["first_refusal_fill"]) == (7, 0.9)
    assert rows(run(), oracle=0)["placed, beside the oracle"].ratio == 1.0


def test_density_is_the_mean_over_time_beside_that_at_the_peak():
    row = rows(run())["density, mean of cpu and memory"]
    assert row.ratio == pytest.approx(0.5)
    assert (row.figures["cpu_density_at_peak"], row.figures["fill_at_peak"]) == (0.6, 0.8)


def test_regret_is_a_share_of_the_range_of_scores():
    weighted = [(None, 1.0), (None, -3.0)]
    claims = [JudgedClaim(1.0, 2.0), JudgedClaim(-1.0, 0.0)]
    assert report.regret(weighted, claims) == pytest.approx(2 / (2 * 4))
    assert report.regret(weighted, []) == 0.0
    assert report.regret([], claims) == 0.0


def test_each_driver_is_a_line_in_each_panel_over_hours():
    figure = pytest.importorskip("matplotlib.figure").Figure()
    samples = [UsageSample(at, 0.1, 0.2, 0.3, 0.4, 5, 0.6, 0.7) for at in (7200.0, 10_800.0)]
    report.draw(figure, {"filter": ReplayRun(samples=samples), "pack": ReplayRun(samples=samples)})
    assert len(figure.axes) == len(report.PANELS)
    for axes, (name, _) in zip(figure.axes, report.PANELS, strict=True):
        assert [line.get_label() for line in axes.get_lines()] == ["filter", "pack"]
        line = axes.get_lines()[0]
        assert list(line.get_xdata()) == [0.0, 1.0]
        assert list(line.get_ydata()) == [getattr(samples[0], name)] * 2


def test_landing_is_a_bar_per_host_for_each_driver_largest_hosts_first():
    figure = pytest.importorskip("matplotlib.figure").Figure()
    nodes = hosts.make_nodes(3, shapes=hosts.UNLIKE)
    sizes = report.host_sizes(hosts.snapshot(nodes, {}))
    assert sorted(sizes) == sorted(nodes)
    assert list(sizes.values()) == sorted(sizes.values(), reverse=True)
    largest, *_, smallest = sizes
    runs = {"filter": ReplayRun(), "pack": ReplayRun()}
    runs["filter"].servers_by_host.update([largest, smallest, smallest])
    report.draw_landing(figure, runs, sizes)
    assert [axes.get_ylabel() for axes in figure.axes] == ["filter", "pack"]
    heights = [[bar.get_height() for bar in axes.patches] for axes in figure.axes]
    assert heights == [[1, 0, 2], [0, 0, 0]]
    assert [len(axes.get_lines()) for axes in figure.axes] == [len({*sizes.values()}) - 1] * 2
