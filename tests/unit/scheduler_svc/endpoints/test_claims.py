# SPDX-License-Identifier: Apache-2.0
"""Topic ``claims.<partition>``, over the bus."""

import operator
import time
import uuid
from types import SimpleNamespace
from typing import Any

import pytest

from rpcapi import context, errors, objects
from rpcapi.clients.conductor import ConductorAPI
from rpcapi.resources.claims import Answer
from scheduler_svc.core.records import ClaimRef, ClaimResult
from scheduler_svc.endpoints.claims import ClaimsEndpoint
from tests.support.scheduler.hosts import SMALL_REQUEST, node
from tests.support.scheduler.workers import node_report


def test_claim_lifecycle_from_report_to_release(worker):
    worker.join("way", {"way/1": node_report()})
    ctxt = context.new("p", "u")
    uuids, selections = worker.select(2, ctxt, force_hosts=["way"])
    assert [selections.host(index) for index in range(2)] == ["way/1", "way/1"]
    assert selections.partition == "default"
    assert selections.deadline_ms > time.time() * 1000
    prepared = worker.claims.list_prepared_claims(ctxt).claims
    assert {claim["consumer"] for claim in prepared} == set(uuids)
    assert {claim["state"] for claim in prepared} == {"prepared"}
    assert len(worker.claims.list_prepared_claims(ctxt, limit=1).claims) == 1
    with pytest.raises(errors.InvalidRequest):
        worker.claims.list_prepared_claims(ctxt, limit=0)
    confirmed = worker.claims.confirm_claims(ctxt, "way", worker.refs(uuids))
    assert worker.claims.list_prepared_claims(ctxt).claims == []
    assert confirmed.answers == ["confirmed"] * 2
    page = worker.claims.list_claims(ctxt, host="way")
    assert {claim["consumer"] for claim in page.claims} == set(uuids)
    assert {claim["state"] for claim in page.claims} == {"confirmed"}
    aborted = worker.claims.abort_claims(ctxt, worker.refs(uuids[:1]))
    assert aborted.answers == ["confirmed"]
    assert "belongs to its host" in aborted.reasons[0]
    assert worker.claims.verify(ctxt).clean
    released = worker.claims.release_claims(ctxt, "way", worker.refs(uuids))
    assert released.answers == ["released"] * 2
    assert released.reasons == ["", ""]
    assert worker.claims.list_claims(ctxt, host="way").claims == []


def test_only_the_agent_of_the_registered_folder_acts_for_a_host(worker, monkeypatch):
    owner, namesake = (context.new(host_uuid=str(uuid.uuid4())) for _ in range(2))
    monkeypatch.setattr(worker, "host_uuid", owner.host_uuid)
    worker.join("own", {"own/1": node_report()})
    uuids, _selections = worker.select(1, context.new("p", "u"), force_hosts=["own"])
    refs = worker.refs(uuids)
    report = objects.AuditReport.of(
        host="own", epoch=1, consumers=[], attempts=[], states=[], names=[], allocations=[], owners=[]
    )
    calls = (
        lambda ctxt: worker.claims.abort_claims(ctxt, refs, "own"),
        lambda ctxt: worker.claims.confirm_claims(ctxt, "own", refs),
        lambda ctxt: worker.claims.release_claims(ctxt, "own", refs),
        lambda ctxt: worker.claims.audit_host(ctxt, report),
    )
    for call in calls:
        for ctxt in (namesake, context.new()):
            with pytest.raises(errors.HostIdentityConflict, match=f"state folder {owner.host_uuid} has this name"):
                call(ctxt)
        call(owner)


def test_moving_claims_keep_their_identities(worker):
    worker.join("mov", {"mov/1": node_report()})
    ctxt = context.new("p", "u")
    uuids, _selections = worker.select(2, ctxt, force_hosts=["mov"])
    worker.claims.confirm_claims(ctxt, "mov", worker.refs(uuids))
    migrations = [str(uuid.uuid4()) for _ in uuids]
    before = worker.claims.list_claims(ctxt, host="mov").claims
    for _ in range(2):  # a repeated call has the same answer
        begun = worker.claims.begin_moves(ctxt, worker.refs(uuids), migrations)
        assert (begun.answers, begun.consumers, begun.hosts) == (["confirmed"] * 2, uuids, ["mov/1"] * 2)
    after = worker.claims.list_claims(ctxt, host="mov").claims
    rows = {(claim["consumer"], claim["role"], claim["migration"], claim["type"]) for claim in after}
    assert rows == {(name, "source", moved, "MIGRATION") for name, moved in zip(uuids, migrations, strict=True)}
    key = operator.itemgetter("consumer")
    assert [claim["allocations"] for claim in sorted(after, key=key)] == [
        claim["allocations"] for claim in sorted(before, key=key)
    ]
    lookup = worker.claims.find_claims(ctxt, worker.refs(uuids))
    assert (lookup.answers, lookup.migrations) == (["confirmed"] * 2, migrations)
    assert worker.claims.verify(ctxt).clean
    # One is the only claim of its instance again, the other is released
    assert worker.claims.end_moves(ctxt, worker.refs(uuids[:1]), migrations[:1]).answers == ["confirmed"]
    assert worker.claims.release_claims(ctxt, "mov", worker.refs(uuids[1:])).answers == ["released"]
    (claim,) = worker.claims.list_claims(ctxt, host="mov").claims
    assert (claim["consumer"], claim["attempt"], claim["role"], claim["type"]) == (uuids[0], 1, "only", "INSTANCE")
    assert worker.claims.verify(ctxt).clean


def test_claim_that_cannot_move_stays_as_it_is(worker):
    worker.join("stay", {"stay/1": node_report()})
    ctxt = context.new("p", "u")
    (prepared, confirmed), _selections = worker.select(2, ctxt, force_hosts=["stay"])
    worker.claims.confirm_claims(ctxt, "stay", worker.refs([confirmed]))
    migration, unknown = str(uuid.uuid4()), str(uuid.uuid4())
    before = worker.claims.list_claims(ctxt, host="stay").claims
    refused = worker.claims.begin_moves(ctxt, worker.refs([prepared, unknown]), [migration, str(uuid.uuid4())])
    assert (refused.answers, refused.consumers) == (["prepared", "unknown"], [prepared, unknown])
    # A migration is no consumer with a claim of its own
    assert worker.claims.begin_moves(ctxt, worker.refs([confirmed]), [prepared]).answers == ["conflict"]
    for migrations in ([], [migration, unknown], [7], ["a b"]):
        with pytest.raises(errors.InvalidRequest):
            worker.claims.begin_moves(ctxt, worker.refs([confirmed]), migrations)
    assert worker.claims.list_claims(ctxt, host="stay").claims == before


def test_alternate_claim_replaces_refused_attempt(worker):
    worker.join("alt", {"alt/1": node_report(), "alt/2": node_report()})
    ctxt = context.new()
    (consumer,), selections = worker.select(1, ctxt, force_hosts=["alt"])
    (alternate,) = selections.alternates_of(0)
    intents = objects.ClaimIntents.of(
        spec=objects.RequestSpec.of(resources=SMALL_REQUEST),
        consumers=[consumer],
        attempts=[2],
        replaces=[1],
        candidates=[[alternate]],
        epoch=selections.epoch,
        position=selections.position,
    )
    answers = worker.claims.prepare_claims(ctxt, intents)
    assert (answers.answers, answers.hosts) == (["prepared"], [alternate])
    refused = intents.obj_clone()
    refused.spec.resources = {"VCPU": 100}
    refused.attempts, refused.replaces = [3], [2]
    report = worker.claims.prepare_claims(ctxt, refused)
    assert (report.answers, report.hosts) == (["refused"], [None])
    assert report.reasons[0].startswith(f"{alternate}: ")


def test_audit_reasserts_running_claims_and_settles_the_rest(worker):
    worker.join("aud", {"aud/1": node_report()})
    epoch = worker.store.state.epoch
    worker.store.state.opened.pop("aud")  # as in an epoch in which the host has not audited
    consumer = str(uuid.uuid4())
    owner = {"type": "INSTANCE", "project": "p", "user": "u", "request_id": "r"}
    columns = {
        "consumers": [consumer],
        "attempts": [1],
        "states": ["confirmed"],
        "names": ["aud/1"],
        "allocations": [{"aud/1": SMALL_REQUEST}],
        "owners": [owner],
    }
    answer = worker.audit("aud", epoch, **columns)
    assert (answer.answers, answer.reasserted) == (["confirmed"], 1)
    orphaned = worker.audit("aud", epoch)
    assert orphaned.orphans == 1 and orphaned.again_s > 0
    assert worker.audit("aud", epoch - 1, **columns).answers == []
    with pytest.raises(errors.MalformedObject, match="lacks project"):
        worker.audit("aud", epoch, **(columns | {"owners": [{"type": "INSTANCE", "user": "u", "request_id": "r"}]}))
    with pytest.raises(errors.MalformedObject, match="unknown claim state"):
        worker.audit("aud", epoch, **(columns | {"states": ["running"]}))


def test_contradicting_audit_is_passed_on_and_settled_by_vouching(worker, monkeypatch):
    casts = []
    monkeypatch.setattr(ConductorAPI, "check_unverified", lambda _api, _ctxt, *arguments: casts.append(arguments))
    worker.join("con", {"con/1": node_report()})
    consumer = str(uuid.uuid4())
    columns = {
        "consumers": [consumer],
        "attempts": [1],
        "states": ["confirmed"],
        "names": ["con/1"],
        "allocations": [{"con/1": SMALL_REQUEST}],
        "owners": [{"type": "INSTANCE", "project": "p", "user": "u", "request_id": "r"}],
    }
    epoch = worker.store.state.epoch
    worker.audit("con", epoch)
    assert worker.audit("con", epoch, **columns).answers == ["unverified"]
    assert [(host, refs.pairs()) for _partition, host, refs in casts] == [("con", [(consumer, 1)])]
    (claim,) = worker.claims.list_claims(context.new(), host="con").claims
    assert (claim["consumer"], claim["state"]) == (consumer, "unverified")
    refs = objects.ClaimRefs.of(consumers=[consumer], attempts=[1])
    assert worker.claims.find_claims(context.new(), refs).answers == ["closed"]
    assert worker.claims.vouch_for_claims(context.new(), "con", refs).answers == ["confirmed"]
    assert worker.claims.find_claims(context.new(), refs).hosts == ["con/1"]


def test_fencing_ends_claims_and_verify_lists_awaited_hosts(worker):
    worker.join("fen", {"fen": node()})
    worker.select(force_hosts=["fen"])
    assert worker.claims.verify(context.new()).awaited == []
    with pytest.raises(errors.HostIsUp, match="'fen' is up"):
        worker.claims.fence_host(context.new(), "fen", "token-1")
    assert worker.claims.fence_host(context.new(), "fen", "token-1", force=True) == 1
    assert worker.claims.fence_host(context.new(), "fen", "token-1") == 1
    assert worker.claims.fence_host(context.new(), "fen", "token-2", force=True) == 0
    with pytest.raises(errors.UnknownHost, match="'nobody'"):
        worker.claims.fence_host(context.new(), "nobody", "token-1")
    with pytest.raises(errors.InvalidName, match="one of its nodes"):
        worker.claims.fence_host(context.new(), "fen/n1", "token-1")


@pytest.mark.parametrize(
    ("error", "ask"),
    [
        (errors.InvalidRequest, lambda worker: worker.claims.list_claims(context.new(), limit=5000)),
        (errors.InvalidName, lambda worker: worker.claims.confirm_claims(context.new(), "a/b", worker.refs(["x"]))),
    ],
)
def test_invalid_input_is_a_typed_error_and_changes_nothing(worker, error, ask):
    before = (dict(worker.store.state.claims), set(worker.store.state.providers))
    with pytest.raises(error):
        ask(worker)
    assert (dict(worker.store.state.claims), set(worker.store.state.providers)) == before


@pytest.mark.parametrize(("host", "answer"), [(None, Answer.CLOSED), ("h1", Answer.UNKNOWN)])
def test_abort_without_a_host_is_one_in_all_partitions_with_its_destinations(host, answer):
    calls = []

    def abort(refs, host, destinations, host_uuid):
        assert host_uuid == (None if host is None else "")
        calls.append(("store", refs, host, destinations))
        return [ClaimResult(*ref, Answer.UNKNOWN) for ref in refs]

    def abort_everywhere(name, refs, answers, destinations):
        calls.append(("partitions", name, refs, destinations))
        return [ClaimResult(*ref, Answer.CLOSED) for ref in refs]

    unused: Any = None
    endpoint = ClaimsEndpoint(
        SimpleNamespace(partition="p", abort=abort),  # type: ignore[arg-type]
        unused,
        0,
        unused,
        on_unverified=unused,
        stamps=unused,
        earlier_attempts=SimpleNamespace(abort=abort_everywhere),  # type: ignore[arg-type]
    )
    refs = objects.ClaimRefs.of(consumers=["c1", "c2"], attempts=[1, 2])
    pairs, destinations = [ClaimRef("c1", 1), ClaimRef("c2", 2)], ["h2", None]
    answers = endpoint.abort_claims(context.new(), refs=refs, host=host, destinations=destinations)
    assert answers.answers == [answer] * 2
    expected = [("store", pairs, host, destinations), ("partitions", "p", pairs, destinations)]
    assert calls == expected[: 1 if host else 2]


@pytest.mark.parametrize("destination", [0, 1, [], ["h1"]])
def test_invalid_destinations_of_an_abort_are_refused(worker, destination):
    with pytest.raises(errors.InvalidRequest, match="is not a resource name: it is not a string"):
        worker.claims.abort_claims(context.new(), worker.refs([str(uuid.uuid4())]), destinations=[destination])


def test_changes_of_host_state_are_listed_after_a_position(worker):
    ctxt = context.new("p", "u")
    epochs = worker.scheduler.list_partitions(ctxt)
    epoch, position = epochs.epochs[0], worker.store.state.position
    worker.join("chg", {"chg/1": node_report()})
    page = worker.claims.list_changes(ctxt, epoch, position)
    assert {"service", "provider", "alive", "opened"} <= {change["kind"] for change in page.changes}
    assert "used" not in {change["kind"] for change in page.changes}
    assert all(change["epoch"] == epoch and change["position"] > position for change in page.changes)
    (opened,) = worker.claims.list_changes(ctxt, epoch, position, ["opened"]).changes
    assert opened["payload"] == {"chg": epoch}
    assert not worker.claims.list_changes(ctxt, epoch, position, limit=1).at_end


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ((-1, 0), "epoch"),
        ((1, "5"), "position"),
        ((1, 0, ["weather"]), "kinds"),
        ((1, 0, [["used"]]), "kinds"),
        ((1, 0, None, 0), "limit"),
        ((1, 0, None, 100_000), "limit"),
    ],
)
def test_malformed_requests_for_changes_are_refused(worker, arguments, named):
    with pytest.raises(errors.InvalidRequest, match=named):
        worker.claims.list_changes(context.new("p", "u"), *arguments)
