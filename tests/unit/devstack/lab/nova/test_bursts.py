# SPDX-License-Identifier: Apache-2.0
"""Rows of bursts, of clouds that place servers as scripted."""

import contextlib

import pytest

from devstack.lab.nova import bursts
from devstack.lab.nova.bursts import ONE_GROUP, SPREAD, WARM_UP, BootedServer, BurstResult, ServerBurst
from devstack.lab.nova.paired_cloud import OURS, THEIRS

FAULTS = "refused, leaks, oversold, group violations"


def spread(burst):
    """Place servers on hosts in turns: members of a group on different ones."""
    return [
        BootedServer("ACTIVE", f"host{number % 4}", number // 4 if number < 4 * burst.groups else None)
        for number in range(burst.servers)
    ]


def herd(burst):
    """Place all servers on one host, except for members of a group beyond the first, which are refused."""
    return [
        BootedServer("ERROR", None, 0) if 0 < number < 4 * burst.groups else BootedServer("ACTIVE", "host0")
        for number in range(burst.servers)
    ]


class ScriptedClouds:
    """Clouds of both sides without processes; each burst takes 10 s of ours, and 40 s of Nova's."""

    def __init__(self, ours=spread, **broken):
        self.started = []
        self.booted = []
        self._ours, self._broken = ours, broken

    @contextlib.contextmanager
    def running(self, side, schedulers):
        self.started.append((side, schedulers))
        self._side = side
        yield self

    def boot(self, burst):
        self.booted.append(burst)
        if self._side == THEIRS:
            return BurstResult(herd(burst), 40.0, reschedules=3, leaks=0, oversold=0)
        counts = {"reschedules": 0, "leaks": 0, "oversold": 0, **self._broken}
        return BurstResult(self._ours(burst), 10.0, **counts)


def measure(clouds, sizes=(50,), schedulers=(1,)):
    return {row.name: row for row in bursts.measure(clouds.running, sizes, schedulers)}


def result(*servers):
    return BurstResult(servers, 1.0, reschedules=0, leaks=0, oversold=0)


def test_each_number_of_schedulers_has_a_cloud_of_each_side_and_a_discarded_burst():
    clouds = ScriptedClouds()
    measure(clouds, sizes=[50, 200], schedulers=[1, 4])
    assert clouds.started == [(THEIRS, 1), (OURS, 1), (THEIRS, 4), (OURS, 4)]
    assert clouds.booted == [WARM_UP, SPREAD, ONE_GROUP, ServerBurst(50, groups=2), ServerBurst(200, groups=10)] * 4


def test_ours_alone_is_compared_with_nothing():
    clouds = ScriptedClouds()
    rows = list(bursts.measure(clouds.running, [50], [1], [OURS]))
    assert clouds.started == [(OURS, 1)]
    large = {row.name.rpartition(": ")[2]: row for row in rows if "burst of 50" in row.name}
    assert set(large) == {FAULTS, "reschedules"}
    assert (large[FAULTS].budget, large["reschedules"].budget) == (0, None)
    assert set(large[FAULTS].figures) == {"ours_refused", "ours_leaks", "ours_oversold", "ours_group_violations"}


def test_speed_is_that_of_the_servers_that_run():
    rows = measure(ScriptedClouds())
    row = rows["burst of 50 in 2 groups, schedulers: 1: servers a second, ours / Nova's"]
    assert (row.figures["ours_per_s"], row.figures["theirs_per_s"]) == (5.0, 43 / 40)
    assert row.ratio == pytest.approx(5 / (43 / 40))


def test_burst_without_a_fault_keeps_every_budget():
    rows = measure(ScriptedClouds())
    assert all(row.ok for row in rows.values())
    assert rows["burst of 20 in 0 groups, schedulers: 1: most on one host"].ratio == 5
    assert rows["burst of 4 in 1 groups, schedulers: 1: hosts of a group of 4"].ratio == 4
    assert rows["burst of 50 in 2 groups, schedulers: 1: reschedules"].budget == 3


@pytest.mark.parametrize("fault", ["leaks", "oversold"])
def test_leaks_and_excesses_break_the_budget(fault):
    broken = measure(ScriptedClouds(**{fault: 1}))[f"burst of 50 in 2 groups, schedulers: 1: {FAULTS}"]
    assert (broken.ratio, broken.ok) == (1, False)


def test_more_reschedules_than_nova_s_break_the_budget():
    rows = measure(ScriptedClouds(reschedules=4))
    assert not rows["burst of 50 in 2 groups, schedulers: 1: reschedules"].ok


def test_herding_and_refusals_break_the_budget():
    rows = measure(ScriptedClouds(ours=herd))
    assert rows["burst of 20 in 0 groups, schedulers: 1: most on one host"].ratio == 20
    assert rows[f"burst of 50 in 2 groups, schedulers: 1: {FAULTS}"].ratio == 7
    assert rows["burst of 4 in 1 groups, schedulers: 1: hosts of a group of 4"].ratio == 0
    assert [row.ok for name, row in rows.items() if FAULTS in name] == [True, False, False]


def test_members_on_one_host_are_violations_of_their_group_only():
    servers = [("ACTIVE", "a", 0), ("ACTIVE", "a", 0), ("ACTIVE", "a", 0), ("ACTIVE", "a", 1), ("ACTIVE", "a", None)]
    booted = result(*(BootedServer(*server) for server in servers), BootedServer("ERROR", None, 1))
    assert (booted.violations, booted.group_hosts, booted.most) == (2, 2, 5)
    assert (booted.active, booted.refused) == (5, 1)


def test_burst_in_which_nothing_runs_has_no_host():
    booted = result(BootedServer("ERROR", None, 0))
    assert (booted.most, booted.violations, booted.group_hosts, booted.figures()["per_s"]) == (0, 0, 0, 0)
