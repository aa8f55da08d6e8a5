# SPDX-License-Identifier: Apache-2.0
"""Critical interleavings of conductor, scheduler and agent, forced on real processes."""

import os
import signal
import threading
import uuid

import pytest

from devstack import exercise, workload
from rpcapi import errors, objects
from rpcapi.resources.claims import Answer
from tests.support.clusters import clusters, truth
from tests.support.clusters.booting import TINY

SPAWN = "compute_agent.simulator.hypervisor:Hypervisor.spawn"
CONFIRM = "rpcapi.clients.claims:ClaimsAPI.confirm_claims"


def go_on(cluster, daemon: str) -> None:
    """Resume a stopped worker."""
    for pid in clusters.workers(cluster.cluster.daemons[daemon]):
        os.kill(pid, signal.SIGCONT)


def spec() -> objects.RequestSpec:
    return workload.WorkloadRequest("tiny", TINY, 1).spec()


def select(session, uuids, attempt=1):
    session.new_request()
    return session.call(session.scheduler.select_destinations, spec(), uuids, attempt)


def refs(*pairs) -> objects.ClaimRefs:
    return objects.ClaimRefs.of(consumers=[pair[0] for pair in pairs], attempts=[pair[1] for pair in pairs])


def intents(consumer, attempt, selections, candidates, replaces=None) -> objects.ClaimIntents:
    return objects.ClaimIntents.of(
        spec=spec(),
        consumers=[consumer],
        attempts=[attempt],
        replaces=[replaces],
        candidates=[candidates],
        epoch=selections.epoch,
        position=selections.position,
    )


def test_agent_stopped_between_confirm_and_spawn(cluster, rigged):
    # Given an agent that stops after its confirm, before its spawn
    met = rigged("compute", SPAWN, when="before", signal_name="SIGSTOP")
    uuids = exercise.boot(cluster.admin, [workload.WorkloadRequest("tiny", TINY, 1)])
    truth.until("the agent stopped", met.exists)
    # When the conductor's build time-out passes
    (instance,) = truth.wait_for_final_status(cluster, uuids)
    # Then the claim is kept and nothing runs elsewhere: the host may still spawn what it confirmed
    assert instance.status == "ERROR"
    assert "claim kept" in instance.reason
    assert truth.claims(cluster)[instance.uuid, instance.host] == "confirmed"
    assert not {key for key in truth.guests(cluster) if key[0] in uuids}
    # And when the host resumes, exactly one copy runs, and the conductor learns of it
    go_on(cluster, "compute")
    truth.until("the instance is ACTIVE", lambda: truth.records(cluster, uuids)[0].status == "ACTIVE")
    truth.assert_consistent(cluster, uuids)


def test_expired_claim_is_refused_by_confirm(cluster, rigged):
    # Given an agent that stops before it confirms
    met = rigged("compute", CONFIRM, when="before", signal_name="SIGSTOP")
    uuids = exercise.boot(cluster.admin, [workload.WorkloadRequest("tiny", TINY, 1)])
    # The host is read first: an agent that is slow to start may stop after the claim has expired.
    first = truth.until(
        "it is claimed", lambda: next((key[1] for key in truth.claims(cluster) if key[0] in uuids), None)
    )
    truth.until("the agent stopped", met.exists)
    # When the deadline passes and the conductor has moved on to an alternate, and the agent then confirms
    truth.until("the first claim is over", lambda: (uuids[0], first) not in truth.claims(cluster))
    go_on(cluster, "compute")
    # Then the late confirm starts nothing: at most the alternate runs
    (instance,) = truth.assert_consistent(cluster, uuids)
    assert instance.host != first
    assert instance.attempt > 1


def test_confirm_after_expiry_is_refused(cluster):
    # Given a prepared claim whose deadline has passed
    session, consumer = cluster.admin, str(uuid.uuid4())
    selections = select(session, [consumer])
    host = selections.host(0).partition("/")[0]
    truth.until("it expired", lambda: (consumer, selections.host(0)) not in truth.claims(cluster))
    # When its host confirms it, then the answer is EXPIRED, also as a typed error, and no claim is live
    answers = truth.call_as_agent(cluster, session.claims.confirm_claims, host, refs((consumer, 1)))
    assert answers.answers == [Answer.EXPIRED]
    assert session.call(session.claims.verify).clean


def test_abort_after_confirm_ends_nothing(cluster):
    # Given a prepared claim that its host has confirmed
    session, consumer = cluster.admin, str(uuid.uuid4())
    node = select(session, [consumer]).host(0)
    host, elsewhere = node.partition("/")[0], {"compute0": "compute1", "compute1": "compute0"}
    confirmed = truth.call_as_agent(cluster, session.claims.confirm_claims, host, refs((consumer, 1)))
    assert confirmed.answers == [Answer.CONFIRMED]
    # When the abort arrives, then it answers CONFIRMED and ends nothing: only the host may end the claim
    for _ in range(2):
        late = session.call(session.claims.abort_claims, refs((consumer, 1)))
        assert late.answers == [Answer.CONFIRMED]
        assert truth.claims(cluster)[consumer, node] == "confirmed"
    # And another host can neither confirm nor release it
    for verb in (session.claims.confirm_claims, session.claims.release_claims):
        answers = truth.call_as_agent(cluster, verb, elsewhere[host], refs((consumer, 1)))
        assert answers.answers == [Answer.FOREIGN]
    assert truth.claims(cluster)[consumer, node] == "confirmed"
    assert truth.call_as_agent(cluster, session.claims.release_claims, host, refs((consumer, 1))).answers == [
        Answer.RELEASED
    ]
    # And once released it stays released, even if it is confirmed or aborted
    ended = truth.call_as_agent(cluster, session.claims.confirm_claims, host, refs((consumer, 1)))
    assert ended.answers == [Answer.RELEASED]


def test_concurrent_abort_and_confirm_have_a_single_winner(cluster):
    # Given many prepared claims, when two callers confirm and abort each concurrently
    consumers = [str(uuid.uuid4()) for _ in range(40)]
    selections = select(cluster.admin, consumers)
    hosts = [selections.host(index) for index in range(len(consumers))]
    answers_by_verb: dict[str, dict[str, str]] = {"confirm": {}, "abort": {}}

    def call_all(verb: str) -> None:
        session = exercise.Session([str(cluster.admin_conf)])
        for consumer, host in zip(consumers, hosts, strict=True):
            claim_refs = refs((consumer, 1))
            if verb == "confirm":
                answers = truth.call_as_agent(
                    cluster, session.claims.confirm_claims, host.partition("/")[0], claim_refs
                )
            else:
                answers = session.call(session.claims.abort_claims, claim_refs)
            answers_by_verb[verb][consumer] = answers.answers[0]
        session.close()

    racers = [threading.Thread(target=call_all, args=(verb,)) for verb in answers_by_verb]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join()
    # Then both got the same answer, and the store agrees with it
    live = {key[0]: state for key, state in truth.claims(cluster).items()}
    for consumer in consumers:
        assert answers_by_verb["confirm"][consumer] == answers_by_verb["abort"][consumer]
        assert live.get(consumer) == ("confirmed" if answers_by_verb["abort"][consumer] == Answer.CONFIRMED else None)
    for consumer, host in zip(consumers, hosts, strict=True):
        name = host.partition("/")[0]
        truth.call_as_agent(cluster, cluster.admin.claims.release_claims, name, refs((consumer, 1)))
    assert cluster.admin.call(cluster.admin.claims.verify).clean


def test_delayed_prepare_after_abort(cluster):
    # Given a claim that was aborted
    session, consumer = cluster.admin, str(uuid.uuid4())
    selections = select(session, [consumer])
    assert session.call(session.claims.abort_claims, refs((consumer, 1))).answers == [Answer.ABORTED]
    # When the request that prepared it arrives again, late, as either call
    with pytest.raises(errors.ClaimEnded):
        select(session, [consumer])
    late = session.call(session.claims.prepare_claims, intents(consumer, 1, selections, [selections.host(0)]))
    # Then nothing is claimed
    assert late.answers == [Answer.ENDED]
    assert consumer not in {key[0] for key in truth.claims(cluster)}


def test_repeated_select_returns_the_same_answer(cluster):
    # Given a select that was answered
    session, consumers = cluster.admin, [str(uuid.uuid4()) for _ in range(3)]
    first = select(session, consumers)
    # When the call is repeated, on any worker
    again = [session.call(session.scheduler.select_destinations, spec(), consumers, 1) for _ in range(4)]
    # Then hosts, alternates and deadline equal those of the first answer, and each claim exists once
    for answer in again:
        assert [answer.host(index) for index in range(3)] == [first.host(index) for index in range(3)]
        assert [answer.alternates_of(index) for index in range(3)] == [first.alternates_of(index) for index in range(3)]
        assert answer.deadline_ms == first.deadline_ms
    claim_keys = [key for key in truth.claims(cluster) if key[0] in consumers]
    assert len(claim_keys) == 3
    session.call(session.claims.abort_claims, refs(*((consumer, 1) for consumer in consumers)))


def test_repeated_build_and_report_change_nothing(cluster):
    # Given a server that runs
    session, consumer = cluster.admin, str(uuid.uuid4())
    session.new_request()
    session.call(session.conductor.build_instances, spec(), [consumer])
    (instance,) = truth.assert_consistent(cluster, [consumer])
    assert instance.status == "ACTIVE", instance.reason
    # When the build call is repeated, its report arrives again, and so does a wrong one of an older attempt
    session.call(session.conductor.build_instances, spec(), [consumer])
    host = instance.host.partition("/")[0]
    for attempt, outcome in ((instance.attempt, "active"), (instance.attempt - 1, "failed")):
        report = objects.BuildReport.of(
            host=host, uuids=[consumer], attempts=[attempt], outcomes=[outcome], reasons=["again"]
        )
        session.call(session.conductor.report_builds, report)
    # Then record, guest and claim are unchanged
    (after,) = truth.assert_consistent(cluster, [consumer])
    assert (after.status, after.host, after.attempt) == ("ACTIVE", instance.host, instance.attempt)


def test_uuid_of_another_request_is_refused(cluster):
    # Given a server, when another request names its uuid, then the request is rejected and not recorded
    session, existing, fresh = cluster.admin, str(uuid.uuid4()), str(uuid.uuid4())
    session.new_request()
    session.call(session.conductor.build_instances, spec(), [existing])
    truth.wait_for_final_status(cluster, [existing])
    session.new_request()
    with pytest.raises(errors.InstanceConflict):
        session.call(
            session.conductor.build_instances,
            workload.WorkloadRequest("other", {"VCPU": 2}, 1).spec(),
            [fresh, existing],
        )
    with pytest.raises(errors.UnknownInstance):
        truth.records(cluster, [fresh])
