# SPDX-License-Identifier: Apache-2.0
"""Fingerprints of the versioned objects: a change needs a new version."""

import copy
import json

import pytest
from oslo_versionedobjects import fixture

from rpcapi import objects
from rpcapi.objects.base import GanttObject, GanttObjectRegistry

# When an object changes: increase VERSION (1.0 unless the class has another one), add a docstring line and an
# obj_make_compatible step, update this table.
FINGERPRINTS = {
    "AuditAnswer": "1.0-78f0786b2a4d2f2ced08361113892f02",
    "AuditReport": "1.0-80b4c18c6fce8bb66314cbc7713e4520",
    "BuildReport": "1.0-0f087f2d053973335139f1110f6cd1ad",
    "BuildRequest": "1.0-f023cac612bd41f5659ddc57293c0a3c",
    "ChangePage": "1.0-c4fdc3e0ff6a08c969ea01527c4db929",
    "ClaimAnswers": "1.0-de98ba2919e2058e35a1dbc655637587",
    "ClaimIntents": "1.0-b7c1c0c61d622acc3e4f71622776eb42",
    "ClaimPage": "1.0-0866ae2c47cc426b2b5d4790bc7308c7",
    "ClaimRefs": "1.0-2fda9ef317dbe8bac731c1f5e2e261be",
    "CopyPage": "1.0-0378db453923bf43542136fb32d7103f",
    "Decision": "1.0-694689a68f0c83366c10e49c8209731f",
    "DecisionPage": "1.0-bb0ec6a5b45068a56fea4ccc20598484",
    "FilterList": "1.0-1225d335fdbc8408aa82af22371c5ea8",
    "GuestCopies": "1.0-c8e5beaabee716dec2820eab2ca1d0bc",
    "GuestOwners": "1.0-6f8ba852754c8e2e35bb5ae8274de056",
    "GuestPage": "1.0-3ee2aefdd1340b28fdecdd40610e80fc",
    "GuestOperations": "1.0-af38a344acb5bf70686412609ced68c8",
    "GuestTransitions": "1.0-437cc01abf62d1d8a4dd26e119a164fb",
    "HostState": "1.0-30cb03b00e6ab61724f993c226f0befa",
    "HostStatePage": "1.0-ca0875fbfd29fd94a57cf3f52f82c226",
    "Instance": "1.0-8599a84b9aa6b44e3e4b5a13bb5e6e37",
    "InstancePage": "1.0-a9c6d132ef56d0f8b70d4f8d82d762ff",
    "Migration": "1.0-f6a119b4184677f146f12e3eaf7e7bb6",
    "MigrationChecks": "1.0-72a473dbc7e6b001551ca0a61344cbce",
    "MigrationPage": "1.0-e974db8db84f172c37f40dfe77fa2aba",
    "RecordedHosts": "1.0-2e18397ebd607d4348c292654e2bb2d6",
    "NovaAudit": "1.0-f7f48b15021a62eca22a5209da0f6da2",
    "PartitionList": "1.0-0fa3f028fa39a0c89f27c9a425faeada",
    "ProjectQuota": "1.0-c76d793f58f33778206e7915f4a7ae58",
    "RequestSpec": "1.0-4f71b3b64644a4c491b45ffa14343f61",
    "SelectionAnswers": "1.0-c2f8d56305f860124131429da6c873c7",
    "SelectionRequests": "1.0-e4cfa7c69f81fa2a58e08c5b66265a92",
    "Selections": "1.0-5ae8bf61082b509a5f9c71e25aeb74af",
    "ServerGroup": "1.0-d23440331e67b4c1de55fdc8de1edc6f",
    "ServerGroupPage": "1.0-46d6d0ebe5386e163f4406db2f7d0cb6",
    "StatsAnswer": "1.0-028cff0e517ab0c6fed9f831929c9f2e",
    "StatsReport": "1.0-52b0015d10ea5528ffc0885e53285276",
    "StoreSizes": "1.0-315c00f9f1344d5b215311992bf2fa16",
    "VerifyReport": "1.0-8801c99ea2f10c7e077838d47e55d7b8",
}


def gantt_classes():
    """Return the registered classes of gantt; other users of oslo.versionedobjects share the registry."""
    classes_by_name = {}
    for name, classes in GanttObjectRegistry.obj_classes().items():
        own_classes = [cls for cls in classes if issubclass(cls, GanttObject)]
        if own_classes:
            classes_by_name[name] = own_classes
    return classes_by_name


def test_fingerprints_are_unchanged():
    expected, actual = fixture.ObjectVersionChecker(gantt_classes()).test_hashes(FINGERPRINTS)
    assert actual == expected, "An object changed: see the comment at FINGERPRINTS"


def test_all_objects_are_exported_with_one_version():
    assert sorted(gantt_classes()) == sorted(objects.__all__)
    assert all(len(classes) == 1 for classes in gantt_classes().values())


@pytest.mark.parametrize("name", objects.__all__)
def test_docstring_lists_all_versions_after_the_first(name):
    cls = getattr(objects, name)
    minors = range(1, int(cls.VERSION.partition(".")[2]) + 1)
    assert all(f"Version 1.{minor}: " in cls.__doc__ for minor in minors)


@pytest.mark.parametrize("name", objects.__all__)
def test_object_is_read_back_from_json(name):
    sent = sample(name)
    primitive = json.loads(json.dumps(sent.obj_to_primitive()))
    received = GanttObject.obj_from_primitive(copy.deepcopy(primitive))
    assert received.obj_to_primitive() == sent.obj_to_primitive() == primitive


SPEC = {"resources": {"VCPU": 1}, "group_id": "g", "group_policy": "affinity", "hints": {"a": [1, None, {"b": 0.5}]}}
MIGRATION = {
    **{"uuid": "m", "instance": "u", "kind": "resize", "status": "finished", "source_host": "h/n"},
    **{"source_attempt": 1, "request_id": "r", "created_ms": 1, "updated_ms": 2},
}

INSTANCE = {
    "uuid": "u",
    "request_id": "r",
    "project_id": "p",
    "user_id": "u",
    "status": "ACTIVE",
    "attempt": 1,
    "history": [{"attempt": 1}],
    "created_ms": 1,
    "updated_ms": 2,
    "name": "n",
    "migration": "m",
    "group_id": "g",
}
STATE = {"namespace": "compute", "name": "h", "version": 1, "document": {"used": {"VCPU": 1}, "zone": None}}
GROUP = {"id": "g", "name": "web", "project": "p", "policy": "anti-affinity", "max_per_host": 2}
REFS = {"consumers": ["a"], "attempts": [1]}


def sample(name):
    """Return an object of that class with a value in every column."""
    values = {
        "AuditAnswer": REFS | {"epoch": 1, "answers": ["confirmed"]},
        "AuditReport": REFS
        | {"host": "h", "epoch": 1, "states": ["confirmed"], "names": ["h"], "allocations": [{}], "owners": [{}]},
        "GuestTransitions": {
            "partition": "cell1",
            "uuids": ["a"],
            "attempts": [1],
            "actions": ["stop"],
            "numbers": [2],
            "moves": [{"migration": "m", "role": "source"}],
        },
        "GuestOperations": {
            "partition": "cell1",
            "uuids": ["a"],
            "attempts": [1],
            "actions": ["reboot"],
            "numbers": [1700000000000],
        },
        "GuestCopies": {
            "partition": "cell1",
            "uuids": ["a"],
            "attempts": [1],
            "migrations": ["m"],
            "numbers": [2],
            "actions": ["start"],
            "destinations": ["h/n"],
            "with_disk": [True],
            "post_copy": [False],
        },
        "MigrationChecks": {"instances": ["a"], "names": ["h/n"], "facts": [{"storage": "nfs"}], "reasons": [""]},
        "CopyPage": {"migrations": ["m"], "numbers": [2], "phases": ["running"], "reasons": [""]}
        | {"total_mb": [2048], "remaining_mb": [1024], "copied_mb": [1024]},
        "BuildReport": {"host": "h", "uuids": ["a"], "attempts": [1], "outcomes": ["active"], "reasons": [""]},
        "ChangePage": {"changes": [{"kind": "gone"}], "epoch": 1, "position": 2, "at_end": True},
        "ClaimAnswers": REFS
        | {"answers": ["prepared"], "hosts": [None], "reasons": [""], "deadlines_ms": [None]}
        | {"migrations": ["m"], "ends": ["released"]},
        "ClaimPage": {"claims": [{"consumer": "a"}]},
        "ClaimRefs": REFS,
        "Decision": {"request_id": "r", "partition": "p", "document": {"reasons": {"ram": 1}}},
        "FilterList": {"worker": "s:0", "names": ["F"], "kinds": ["filter"], "forms": [None], "sources": ["acme 1.0"]}
        | {"enabled": [True], "reads": [{"compute": ["traits"]}], "calls": [1], "errors": [0], "seconds": [0.5]}
        | {"hosts": [3], "last_errors": [None]},
        "HostState": STATE,
        "Instance": INSTANCE,
        "Migration": MIGRATION,
        "PartitionList": {
            "names": ["p"],
            "available": [True],
            "epochs": [1],
            "positions": [2],
            "hosts": [3],
            "alive": [3],
        }
        | {"claims": [{"prepared": 1}]},
        "ProjectQuota": {"resources": ["VCPU"], "used": [1], "limits": [None]},
        "RequestSpec": SPEC,
        "Selections": {"partition": "p", "attempt": 1, "names": ["a"], "chosen": [0], "alternates": [[0]]}
        | {"deadline_ms": 1, "epoch": 1, "position": 1},
        "StoreSizes": {"collections": ["log"], "entries": [1], "bytes": [2], "bounds": [0], "rotates": [True]},
        "NovaAudit": {"leaks": [{"consumer": "c"}], "marker": "m"},
        "ServerGroup": GROUP,
        "StatsAnswer": {"sequence": 1, "epoch": 1},
        "StatsReport": {"incarnation": 1, "sequence": 1, "nodes": {"h": {"traits": []}}},
        "VerifyReport": {"partition": "p", "epoch": 1, "position": 1, "claims": {"confirmed": 1}}
        | {"providers": 1, "problems": ["x"], "excess": [{}]},
    }
    owner = {"partition": "p", "project_id": "", "user_id": ""}
    intents = REFS | {"replaces": [None], "candidates": [["h"]], "epoch": 1, "position": 1}
    guests = {"uuids": ["u"], "attempts": [1], "names": ["h/n"], "states": ["running"]}
    nested = {
        "BuildRequest": lambda: (
            {"spec": sample("RequestSpec"), "uuids": ["a"], "attempts": [1], "names": ["h"]}
            | {"powered_off": ["a"], "moves": [{"role": "destination"}]}
            | owner
        ),
        "ClaimIntents": lambda: {"spec": sample("RequestSpec")} | intents,
        "DecisionPage": lambda: {"decisions": [sample("Decision")], "marker": "m"},
        "HostStatePage": lambda: {"states": [sample("HostState")]},
        "GuestPage": lambda: guests | {"marker": "m"},
        "GuestOwners": lambda: guests | {"owners": [{"project": "p"}]},
        "InstancePage": lambda: {"instances": [sample("Instance")], "marker": "u"},
        "MigrationPage": lambda: {"migrations": [sample("Migration")], "marker": "1"},
        "RecordedHosts": lambda: {"hosts": ["h1"], "epoch": 7},
        "ServerGroupPage": lambda: {"groups": [sample("ServerGroup")], "marker": "g"},
        "SelectionAnswers": lambda: (
            {"selections": [sample("Selections")], "served": [0, None]}
            | {"codes": [None, "no_valid_host"], "reasons": ["", "full"], "details": [{}, {"reasons": {"full": 1}}]}
        ),
        "SelectionRequests": lambda: (
            {"specs": [sample("RequestSpec")], "request_ids": ["r"]}
            | {"uuids": [["a"]], "attempts": [1]}
            | {"projects": ["p"], "users": ["u"], "deadlines": [1.5], "fresh": [True]}
        ),
    }
    return getattr(objects, name).of(**(nested[name]() if name in nested else values[name]))
