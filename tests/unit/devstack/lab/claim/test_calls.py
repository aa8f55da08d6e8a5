# SPDX-License-Identifier: Apache-2.0
"""Prepared calls of the claim script and its baseline."""

import json
from types import SimpleNamespace

import pytest

from devstack.lab.claim import calls
from devstack.lab.claim.calls import BARE, CLAIM, EMPTY_NODES, ClaimCalls


def test_baseline_declares_the_keys_of_the_claim_script():
    script = calls.bare_script()
    assert script.words == calls.load("prepare").words
    assert (script.name, script.args) == ("bare_claim", ())


@pytest.fixture
def prepared():
    created = object.__new__(ClaimCalls)
    created._candidates, created._snapshot = 3, SimpleNamespace(epoch=1, position=5)
    created._scripts = {CLAIM: calls.load("prepare"), BARE: calls.bare_script()}
    return created


@pytest.mark.parametrize("name", [CLAIM, BARE])
def test_each_call_is_for_another_consumer_with_the_keys_of_its_partition(prepared, name):
    first, second = prepared.prepare_calls(name, 2, 0)
    count = first[1]
    assert first[0] == second[0] == prepared._scripts[name].sha
    assert all(f"{{p:{name}}}" in key for key in first[2 : 2 + count])
    assert first[2 + count :] != second[2 + count :]


def test_all_candidates_but_the_last_are_full_and_nodes_take_turns(prepared):
    hosts = [candidate.host for candidate in prepared._batch(7).intents[0].candidates]
    assert hosts == ["full0/node0", "full1/node0", "compute0/node7"]
    last = prepared._batch(EMPTY_NODES + 51).intents[0].candidates[-1].host
    assert last == "compute1/node1"


def test_baseline_writes_what_the_claim_script_writes(prepared):
    ((_, count, *rest),) = prepared.prepare_calls(BARE, 1, 7)
    _, consumer, claim, key, *_ = rest[count:]
    document = json.loads(claim)
    assert (document["consumer"], document["state"], document["host"]) == (consumer, "prepared", "compute0/node7")
    assert key == f"compute0/node7|{consumer}"
