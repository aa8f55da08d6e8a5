# SPDX-License-Identifier: Apache-2.0
"""Builds in progress and consecutive failures of a node."""

from dataclasses import replace

from compute_agent.attempt import Attempt, ClaimEnd, Stage
from compute_agent.attempts.activity import NodeActivity
from rpcapi.resources.statuses import AttemptResult


def attempt(uuid: str, node: str = "a/n") -> Attempt:
    return Attempt(uuid, 1, Stage.INTENT, 0, name=node)


def failed(build: Attempt) -> Attempt:
    return build.to_ended(AttemptResult.FAILED, "no", ClaimEnd.RELEASE, 1)


def test_new_agent_counts_nothing() -> None:
    activity = NodeActivity()
    assert (activity.io_ops("a/n"), activity.failed_builds("a/n")) == (0, 0)


def test_builds_are_counted_once_and_by_node() -> None:
    activity = NodeActivity()
    activity.begin([attempt("1"), attempt("2"), attempt("3", "a/m")])
    activity.begin([attempt("1")])
    assert (activity.io_ops("a/n"), activity.io_ops("a/m")) == (2, 1)
    activity.end([attempt("1"), attempt("1")])
    assert (activity.io_ops("a/n"), activity.io_ops("a/m")) == (1, 1)


def test_attempts_of_one_instance_are_different_builds() -> None:
    activity = NodeActivity()
    activity.begin([attempt("1"), replace(attempt("1"), attempt=2)])
    assert activity.io_ops("a/n") == 2


def test_failures_are_counted_until_a_build_succeeds() -> None:
    activity = NodeActivity()
    builds = [attempt(str(number)) for number in range(3)]
    activity.begin(builds)
    activity.end([failed(builds[0]), failed(builds[1])])
    assert activity.failed_builds("a/n") == 2
    activity.end([replace(builds[2], stage=Stage.SPAWNED)])
    assert (activity.failed_builds("a/n"), activity.io_ops("a/n")) == (0, 0)


def test_refused_build_is_no_failure_and_no_success() -> None:
    activity = NodeActivity()
    builds = [attempt("1"), attempt("2")]
    activity.begin(builds)
    activity.end([failed(builds[0])])
    activity.end([builds[1].to_ended(AttemptResult.REFUSED, "full", ClaimEnd.ABORT, 1)])
    assert activity.failed_builds("a/n") == 1


def test_report_of_a_guest_that_was_not_being_built_resets_nothing() -> None:
    activity = NodeActivity()
    activity.end([failed(attempt("1"))])
    activity.end([replace(attempt("2"), stage=Stage.SPAWNED)])
    assert activity.failed_builds("a/n") == 1
