# SPDX-License-Identifier: Apache-2.0
"""Attempts of a call that is not fresh, in whatever partition they are."""

from unittest import mock

import pytest

from rpcapi import context, errors
from rpcapi.resources.claims import Answer
from scheduler_svc.core.records import ClaimRef
from scheduler_svc.scheduling.calls import SelectionCall
from scheduler_svc.scheduling.earlier_attempts import EarlierAttempts
from tests.support.scheduler.deployments import PartitionedDeployment
from tests.support.scheduler.hosts import node, request
from tests.support.scheduler.replica_views import FILTER_POLICY


@pytest.fixture
def deployment():
    return PartitionedDeployment(a={"a1": node()}, b={"b1": node()})


def locate(deployment, attempt=1):
    return EarlierAttempts(deployment.worker.partitions).locate(
        SelectionCall(context.new("p", "u"), request(), ["vm"], attempt)
    )


def select(deployment, partition, attempt=1):
    call = SelectionCall(context.new("p", "u"), request(force_hosts=(f"{partition}1",)), ["vm"], attempt, fresh=True)
    return deployment.worker.scheduler.select(FILTER_POLICY, call)


def test_unknown_attempt_is_in_no_partition(deployment):
    assert locate(deployment) is None


@pytest.mark.parametrize("attempt", [1, 2, 3])
def test_partition_with_a_live_attempt_is_returned_whichever_attempt_it_is(deployment, attempt):
    select(deployment, "b", attempt=2)
    assert locate(deployment, attempt) == "b"


def test_partition_in_which_the_attempt_ended_is_returned(deployment):
    select(deployment, "b")
    assert deployment.stores["b"].abort([ClaimRef("vm", 1)])[0].answer is Answer.ABORTED
    assert locate(deployment) == "b"
    assert locate(deployment, attempt=2) is None


def test_live_attempt_precedes_an_ended_one(deployment):
    select(deployment, "a")
    deployment.stores["a"].abort([ClaimRef("vm", 1)])
    deployment.wait(1_000_000)  # the call's pin expires
    select(deployment, "b", attempt=2)
    assert locate(deployment) == "b"


def test_attempt_is_closed_while_any_partition_awaits_a_host(deployment):
    epoch = deployment.stores["b"].begin_epoch()
    with pytest.raises(errors.ClaimClosed) as caught:
        locate(deployment)
    assert caught.value.kwargs["partition"] == "b"
    deployment.stores["b"].audit("b1", epoch, [], 0)
    deployment.stores["b"].name_hosts(epoch, [], complete=True)
    assert locate(deployment) is None


def abort_results(deployment, *destinations, attempt=1):
    """Abort at the claims service of partition a, as its endpoint does."""
    refs = [ClaimRef("vm" if index == 0 else f"vm-{index}", attempt) for index in range(len(destinations))]
    answers = deployment.stores["a"].abort(refs, destinations=destinations)
    attempts = EarlierAttempts(deployment.worker.partitions)
    return attempts.abort("a", refs, answers, destinations)


def abort(deployment, *destinations, attempt=1):
    return [result.answer for result in abort_results(deployment, *destinations, attempt=attempt)]


def test_abort_ends_claims_in_all_partitions_unless_the_caller_is_certain(deployment):
    select(deployment, "b")
    assert abort(deployment, "a1") == [Answer.UNKNOWN]
    assert deployment.live() == {"vm": ["b"]}
    assert abort(deployment, None, "a1") == [Answer.ABORTED, Answer.UNKNOWN]
    assert deployment.live() == {}


@pytest.mark.parametrize("partition", ["a", "b"])
def test_older_attempt_is_not_ended_where_a_later_one_is_live(deployment, partition):
    select(deployment, partition, attempt=3)
    (result,) = abort_results(deployment, None)
    # the partition is named where the caller does not call it anyway
    assert (result.answer, result.partition) == (Answer.CONFLICT, None if partition == "a" else "b")
    assert deployment.live() == {"vm": [partition]}


def test_each_partition_aborts_once(deployment):
    calls = {}
    for name, store in deployment.stores.items():
        store.abort = calls[name] = mock.Mock(wraps=store.abort)
    abort(deployment, None)
    assert [call.call_count for call in calls.values()] == [1, 1]


def test_attempt_is_closed_while_a_partition_does_not_answer(deployment):
    deployment.take_away("b")
    with pytest.raises(errors.ClaimClosed, match="vm"):
        locate(deployment)


def test_partition_that_fails_an_abort_is_known_to_be_away(deployment):
    deployment.stores["b"].away = True
    presence = deployment.worker.partitions.find("b").presence
    assert not presence.away
    assert abort(deployment, None) == [Answer.CLOSED]
    assert presence.away
