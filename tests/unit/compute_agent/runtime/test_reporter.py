# SPDX-License-Identifier: Apache-2.0
"""Stats reports: full when required, otherwise only changes, and the scheduler's view is always correct."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compute_agent.attempts.calls import CallRejected, CallUnanswered
from compute_agent.simulator.profile import HostProfile
from compute_agent.state_files import FolderInUse
from rpcapi import errors
from tests.support.agent.rig import HOST, NODES, AgentRig
from tests.unit.compute_agent.runtime.agent_state import truth


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[AgentRig]:
    rig = AgentRig(tmp_path)
    rig.serve()
    yield rig
    rig.stop()


def kinds(rig: AgentRig) -> list[str]:
    return ["full" if report.full else "delta" if report.nodes else "beat" for _, report in rig.scheduler.reports]


def test_first_report_is_full_and_next_reports_have_only_changes(rig: AgentRig) -> None:
    rig.reporter.report()
    assert rig.scheduler.views == {HOST: truth(rig)}
    rig.reporter.report()
    rig.build(rig.intent("a", node=1))
    rig.queue.settle()
    rig.reporter.report()

    assert kinds(rig) == ["full", "beat", "delta"]
    assert rig.scheduler.reports[-1][1].nodes == {
        "alpha/node1": {"metrics": {"instances": 1, "io_ops": 0, "failed_builds": 0}}
    }
    assert [report.sequence for _, report in rig.scheduler.reports] == [1, 2, 3]
    assert [report.base for _, report in rig.scheduler.reports] == [0, 1, 2]
    assert rig.scheduler.views == {HOST: truth(rig)}


def test_full_report_follows_need_full_at_once(rig: AgentRig) -> None:
    rig.reporter.report()
    rig.scheduler.forget(HOST)
    answer = rig.reporter.report()
    assert not answer.need_full
    assert kinds(rig) == ["full", "beat", "full"]


def test_unanswered_report_is_sent_again_unchanged(rig: AgentRig) -> None:
    rig.reporter.report()
    rig.scheduler.lose = ["answer"]
    with pytest.raises(CallUnanswered, match="update_resource_stats"):
        rig.reporter.report()
    rig.build(rig.intent("a"))
    rig.queue.settle()
    rig.reporter.report()
    rig.reporter.report()
    assert [report.sequence for _, report in rig.scheduler.reports] == [1, 2, 2, 3]
    assert kinds(rig) == ["full", "beat", "beat", "delta"]
    assert rig.scheduler.views == {HOST: truth(rig)}


def registrations(rig: AgentRig) -> list[bool]:
    return [report.register for _, report in rig.scheduler.reports]


def test_first_report_registers_and_the_next_ones_carry_the_issued_incarnation(rig: AgentRig) -> None:
    for _ in range(3):
        rig.reporter.report()
    assert registrations(rig) == [True, False, False]
    assert [report.incarnation for _, report in rig.scheduler.reports] == [0, 1, 1]
    assert len({report.agent for _, report in rig.scheduler.reports}) == 1


def test_unanswered_registration_is_repeated_as_it_was(rig: AgentRig) -> None:
    rig.scheduler.lose = ["answer"]
    with pytest.raises(CallUnanswered):
        rig.reporter.report()
    rig.reporter.report()
    rig.reporter.report()
    assert registrations(rig) == [True, True, False]
    assert [report.sequence for _, report in rig.scheduler.reports] == [1, 1, 2]
    assert rig.scheduler.reports[-1][1].incarnation == 1


def test_superseded_agent_registers_again_in_full_with_its_last_incarnation(rig: AgentRig) -> None:
    rig.reporter.report()
    rig.scheduler.supersede(HOST)
    answer = rig.reporter.report()
    assert not answer.superseded
    assert registrations(rig) == [True, False, True]
    again = rig.scheduler.reports[-1][1]
    assert (again.full, again.incarnation, again.sequence) == (True, 1, 3)
    rig.reporter.report()
    assert rig.scheduler.reports[-1][1].incarnation == answer.incarnation == 3
    assert kinds(rig)[-1] == "beat"


def test_newest_stamp_is_sent_back_also_by_the_next_agent(rig: AgentRig) -> None:
    rig.scheduler.stamp = "7.42.aa"
    rig.reporter.report()
    rig.scheduler.stamp = "7.41.bb"  # of a store that was restored from a backup
    rig.reporter.report()
    rig.stop()
    rig.serve()
    rig.reporter.report()
    assert [report.stamp for _, report in rig.scheduler.reports] == [None, "7.42.aa", "7.42.aa"]


def test_superseded_agent_without_its_folder_sends_nothing_more(rig: AgentRig) -> None:
    rig.reporter.report()
    rig.scheduler.supersede(HOST)

    def refuse() -> None:
        raise FolderInUse("the folder is another's")

    rig.reporter._check_folder = refuse
    for _ in range(2):
        with pytest.raises(FolderInUse):
            rig.reporter.report()
    assert registrations(rig) == [True, False]


@pytest.mark.parametrize(
    "error", [errors.InvalidStats(what="VCPU", why="too much"), errors.UnknownHost(name="alpha/node0")]
)
def test_rejected_report_is_followed_by_a_full_report(
    rig: AgentRig, monkeypatch: pytest.MonkeyPatch, error: errors.GanttError
) -> None:
    rig.reporter.report()

    def refuse(*args: object) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(rig.scheduler, "update_resource_stats", refuse)
        with pytest.raises(CallRejected, match="was refused"):
            rig.reporter.report()
    rig.reporter.report()
    assert kinds(rig) == ["full", "full"]


def test_refused_fact_is_logged_and_the_report_is_applied(rig: AgentRig, caplog: pytest.LogCaptureFixture) -> None:
    rig.scheduler.refused = [{"node": "alpha/node0", "fact": "location", "why": "a text"}]
    rig.reporter.report()
    assert "Ignored fact 'location' of 'alpha/node0': it must be a text" in caplog.text
    rig.reporter.report()
    assert kinds(rig) == ["full", "beat"]


def last_report_keys(rig: AgentRig) -> dict[str, set[str]]:
    """Return the keys of each node in the last report, metrics as metrics.NAME."""
    nodes = rig.scheduler.reports[-1][1].nodes
    return {
        name: {
            *(key for key in state if key != "metrics"),
            *(f"metrics.{metric}" for metric in state.get("metrics", ())),
        }
        for name, state in nodes.items()
    }


OWN_METRICS = {"metrics.instances", "metrics.io_ops", "metrics.failed_builds"}
METRICS = OWN_METRICS | {"metrics.cpu.percent"}
EVERYTHING = METRICS | {"inventories", "traits", "availability_zone"}


def test_every_report_has_the_partition_of_the_host(rig: AgentRig) -> None:
    for _ in range(2):
        rig.reporter.report()
    assert [report.partition for _, report in rig.scheduler.reports] == ["cell1", "cell1"]


def test_all_keys_are_reported_when_read_keys_are_unknown(rig: AgentRig) -> None:
    rig.profile = HostProfile(churn=1.0)
    rig.reporter.report()
    assert last_report_keys(rig) == {node.name: EVERYTHING for node in NODES}
    rig.reporter.report()
    assert last_report_keys(rig) == {node.name: METRICS for node in NODES}


def test_only_read_keys_are_reported(rig: AgentRig) -> None:
    # given a scheduler that reads one metric, on hosts whose stats all change all the time
    rig.profile = HostProfile(churn=1.0)
    rig.scheduler.required_keys = ["inventories", "metrics.cpu.percent"]
    rig.reporter.report()
    for _ in range(2):
        rig.reporter.report()
        assert last_report_keys(rig) == {node.name: {"metrics.cpu.percent"} for node in NODES}

    # when it reads no metric any more, the last value is removed and changes need only heartbeats
    rig.scheduler.required_keys = ["inventories"]
    rig.reporter.report()
    rig.reporter.report()
    assert rig.scheduler.reports[-1][1].nodes == {node.name: {"metrics": {}} for node in NODES}
    rig.reporter.report()
    assert kinds(rig)[-1] == "beat"

    # and a full report has the read keys, and always the inventories
    rig.scheduler.required_keys = ["traits"]
    rig.reporter.report()
    rig.scheduler.forget(HOST)
    rig.reporter.report()
    assert kinds(rig)[-1] == "full"
    assert last_report_keys(rig) == {node.name: {"inventories", "traits"} for node in NODES}


def test_newly_read_keys_are_in_the_next_report(rig: AgentRig) -> None:
    rig.scheduler.required_keys = ["inventories"]
    rig.reporter.report()
    rig.scheduler.forget(HOST)
    rig.reporter.report()
    assert last_report_keys(rig) == {node.name: {"inventories"} for node in NODES}
    rig.scheduler.required_keys = ["inventories", "traits", "availability_zone", *OWN_METRICS, "metrics.unheard.of"]
    rig.reporter.report()
    assert kinds(rig)[-1] == "beat"
    rig.reporter.report()
    assert last_report_keys(rig) == {node.name: {"traits", "availability_zone", *OWN_METRICS} for node in NODES}
    assert rig.scheduler.views == {HOST: truth(rig)}


def test_older_scheduler_without_read_keys_gets_all_keys(rig: AgentRig) -> None:
    rig.scheduler.required_keys = []
    rig.reporter.report()
    rig.scheduler.forget(HOST)
    rig.reporter.report()
    assert last_report_keys(rig) == {node.name: {"inventories"} for node in NODES}
    rig.scheduler.required_keys = None
    for _ in range(2):
        rig.reporter.report()
    assert rig.scheduler.views == {HOST: truth(rig)}


EVENTS = st.lists(
    st.sampled_from(
        ["report", "report", "build", "terminate", "lose call", "lose answer", "forget", "restart", "read", "ignore"]
    ),
    max_size=25,
)


@settings(max_examples=60, deadline=None)
@given(EVENTS)
def test_scheduler_view_converges_after_any_lost_messages(
    tmp_path_factory: pytest.TempPathFactory, events: list[str]
) -> None:
    rig = AgentRig(tmp_path_factory.mktemp("rig"))
    rig.serve()
    built: list[str] = []
    for number, event in enumerate(events):
        if event == "build":
            built.append(f"i{number}")
            rig.build(rig.intent(built[-1], node=number % 2, VCPU=1))
            rig.queue.settle()
        elif event == "terminate" and built:
            rig.terminate((built.pop(0), 1))
            rig.queue.settle()
        elif event.startswith("lose"):
            rig.scheduler.lose.append(event.removeprefix("lose "))
        elif event == "forget":
            rig.scheduler.forget(HOST)
        elif event == "read":
            rig.scheduler.required_keys = None
        elif event == "ignore":
            rig.scheduler.required_keys = ["inventories"]
        elif event == "restart":
            rig.stop()
            rig.clock.now += 1
            rig.serve()
        else:
            try:
                rig.reporter.report()
            except CallUnanswered:
                continue
    rig.scheduler.lose.clear()
    rig.scheduler.required_keys = None
    for _ in range(3):
        rig.reporter.report()
    assert rig.scheduler.views == {HOST: truth(rig)}
    rig.stop()
