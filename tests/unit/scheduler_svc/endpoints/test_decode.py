# SPDX-License-Identifier: Apache-2.0
"""Objects from the bus as domain records."""

import pytest

from rpcapi import context, errors, objects
from rpcapi.resources.claims import ClaimRole, GroupPolicy, MoveEnd
from rpcapi.resources.groups import freeze
from scheduler_svc.core.records import Candidate, ClaimGroup, Intent
from scheduler_svc.endpoints import decode
from scheduler_svc.scheduling import requests
from scheduler_svc.store.records import RunningClaim


def test_request_is_of_the_calls_context():
    ctxt = context.new("p", "u")
    request = decode.request(ctxt, objects.RequestSpec.of(resources={"VCPU": 1}))
    assert (request.id, request.project, request.user, request.resources) == (ctxt.request_id, "p", "u", {"VCPU": 1})
    nobody = decode.request(context.new(), objects.RequestSpec.of(resources={"VCPU": 1}))
    assert (nobody.project, nobody.user, nobody.group) == ("", "", None)


def test_fields_of_the_spec_become_tuples_and_canonical_names():
    spec = objects.RequestSpec.of(
        resources={"VCPU": 1},
        required_traits=["HW_CPU_X86_AVX2"],
        any_traits=[["CUSTOM_A", "CUSTOM_B"]],
        member_of=[["gold", "silver"]],
        ignore_hosts=["h1", "h2/n1"],
        force_hosts=["h3/n2"],
        availability_zone="az1",
        group_id="g",
        group_policy="anti-affinity",
        group_max_per_host=2,
        groups={"_gpu": {"resources": {"VGPU": 1}}},
        groups_policy="isolate",
    )
    request = decode.request(context.new(), spec)
    assert (request.ignore_hosts, request.force_hosts) == (("h1", "h2/n1"), ("h3/n2",))
    assert (request.required_traits, request.any_traits) == (("HW_CPU_X86_AVX2",), (("CUSTOM_A", "CUSTOM_B"),))
    assert (request.member_of, request.availability_zone) == ((("gold", "silver"),), "az1")
    assert request.group == ClaimGroup("g", GroupPolicy.ANTI_AFFINITY, 2)
    assert [(group.suffix, group.resources) for group in request.groups] == [("_gpu", {"VGPU": 1})]
    assert request.groups_policy == "isolate"


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"resources": {}}, errors.InvalidSpec),
        ({"resources": {"WARP": 1}}, errors.UnknownResourceClass),
        ({"resources": {"VCPU": 1}, "required_traits": ["SHINY"]}, errors.UnknownTrait),
    ],
)
def test_invalid_spec_is_refused(fields, error):
    with pytest.raises(error):
        decode.request(context.new(), objects.RequestSpec.of(**fields))


def test_copied_fields_have_the_same_default_in_both():
    request = decode.request(context.new(), objects.RequestSpec.of(resources={"VCPU": 1}))
    for name in requests.COPIED - {"resources"}:
        assert getattr(request, name) == freeze(objects.RequestSpec.fields[name].default), name


def test_intents_have_canonical_candidates():
    claim_intents = objects.ClaimIntents.of(
        spec=objects.RequestSpec.of(resources={"VCPU": 1}),
        consumers=["c1", "c2"],
        attempts=[2, 1],
        replaces=[1, None],
        candidates=[["h1", ["h2", "n1"]], []],
        epoch=1,
        position=1,
    )
    assert decode.intents(claim_intents) == [
        Intent("c1", 2, [Candidate("h1"), Candidate("h2/n1")], 1),
        Intent("c2", 1, [], None),
    ]


MOVE = {"role": "destination", "migration": "00000000-0000-4000-8000-000000000001", "source_attempt": 1}


def test_moves_are_those_of_destinations():
    assert decode.moves([], 2) == [MoveEnd(), MoveEnd()]
    assert decode.moves([None, MOVE], 2) == [MoveEnd(), MoveEnd(ClaimRole.DESTINATION, MOVE["migration"], 1)]


@pytest.mark.parametrize(
    "documents",
    [
        *([MOVE], [MOVE] * 3, 5, [5, MOVE], [[], MOVE]),
        *([MOVE | {"role": role}, None] for role in ("only", "source", "x", None)),
        *([MOVE | {"migration": migration}, None] for migration in ("x", None, 5)),
        *([MOVE | {"source_attempt": attempt}, None] for attempt in (0, None, "1", True, 2**60)),
    ],
)
def test_malformed_moves_are_refused(documents):
    with pytest.raises(errors.InvalidRequest):
        decode.moves(documents, 2)


def test_references_are_pairs_of_consumer_and_attempt():
    refs = decode.refs(objects.ClaimRefs.of(consumers=["c1", "c2"], attempts=[1, 3]))
    assert refs == [("c1", 1), ("c2", 3)]


AFFINITY = {"group_id": "g", "group_policy": "affinity"}
OWNER = {"type": "INSTANCE", "project": "p", "user": "u", "request_id": "r"}


def audit_report(owner=OWNER, state="confirmed"):
    return objects.AuditReport.of(
        host="h1",
        epoch=1,
        consumers=["c1"],
        attempts=[2],
        states=[state],
        names=["h1/n1"],
        allocations=[{"h1/n1": {"VCPU": 1}}],
        owners=[owner],
    )


@pytest.mark.parametrize(("state", "confirmed"), [("confirmed", True), ("prepared", False)])
def test_running_claims_of_an_audit(state, confirmed):
    (running,) = decode.running(audit_report(OWNER | AFFINITY, state))
    assert running == RunningClaim(
        "c1",
        2,
        confirmed,
        "h1/n1",
        {"h1/n1": {"VCPU": 1}},
        **OWNER,
        group=ClaimGroup("g", GroupPolicy.AFFINITY, 1),
    )


@pytest.mark.parametrize(
    ("report", "why"),
    [
        (audit_report(state="released"), "unknown claim state 'released'"),
        (audit_report(state="x" * 500), "unknown claim state 'x{40}'"),
        (audit_report({"type": "INSTANCE", "user": 5, "request_id": "r"}), "owner of c1 lacks project, user"),
        (audit_report(OWNER | {"group_id": "g", "group_policy": "none"}), "server group"),
        (audit_report(OWNER | MOVE | {"source_attempt": None}), "c1: .*must name the attempt at its source"),
        (audit_report(OWNER | {"role": "source"}), "is not the uuid of a migration"),
        (audit_report(OWNER | AFFINITY | {"group_max_per_host": "many"}), "server group"),
        (audit_report(OWNER | AFFINITY | {"group_max_per_host": None}), "server group"),
    ],
)
def test_malformed_running_claim_is_refused(report, why):
    with pytest.raises(errors.MalformedObject, match=why):
        decode.running(report)


def test_running_claim_has_its_end_of_a_move():
    (running,) = decode.running(audit_report(OWNER | MOVE))
    assert (running.role, running.migration, running.source_attempt) == ("destination", MOVE["migration"], 1)
    (running,) = decode.running(audit_report(OWNER | {"role": "source", "migration": MOVE["migration"]}))
    assert (running.role, running.migration, running.source_attempt) == ("source", MOVE["migration"], None)


def test_intent_has_the_move_of_its_destination():
    spec = objects.RequestSpec.of(resources={"VCPU": 1})
    intents = objects.ClaimIntents.of(
        spec=spec,
        consumers=["c1"],
        attempts=[2],
        replaces=[None],
        candidates=[["h1"]],
        epoch=1,
        position=1,
        moves=[MOVE],
    )
    (intent,) = decode.intents(intents)
    assert (intent.migration, intent.source_attempt) == (MOVE["migration"], 1)


@pytest.mark.parametrize("role", ["only", "source"])
def test_move_of_a_new_attempt_is_that_of_a_destination(role):
    with pytest.raises(errors.InvalidRequest):
        decode.moves([{"role": role, "migration": MOVE["migration"]}], 1)


@pytest.mark.parametrize("owner", [{}, {"role": "only"}])
def test_running_claim_with_a_migration_needs_a_role(owner):
    with pytest.raises(errors.MalformedObject):
        decode.running(audit_report(OWNER | {"migration": MOVE["migration"]} | owner))
