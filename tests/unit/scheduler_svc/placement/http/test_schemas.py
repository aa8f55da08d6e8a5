# SPDX-License-Identifier: Apache-2.0
"""Validators accept what jsonschema accepts, line breaks at the end excepted."""

import copy
import json
import random

import pytest

from scheduler_svc.placement.http import schemas

PROVIDER, CONSUMER = "2f6d1a4e-6a52-4d0b-9d4a-0d3c5a1f7e11", "7b1c9e52-30f4-4f0e-8a2d-6e5d4c3b2a10"
ODD = [None, True, 0, -1, 1.0, 2.5, 10**20, "", "x", "VCPU", "VCPU\n", PROVIDER, PROVIDER + "\n", [], [1], {}, {"a": 1}]
OWNED = {
    "allocations": {PROVIDER: {"resources": {"VCPU": 1, "CUSTOM_A": 2}, "generation": 3}},
    "project_id": "p",
    "user_id": "u",
    "consumer_generation": None,
    "mappings": {"": [PROVIDER], "_A": [PROVIDER]},
    "consumer_type": "INSTANCE",
}
INVENTORY = {"total": 8, "reserved": 0, "max_unit": 8, "step_size": 1, "allocation_ratio": 1.5}
ALL_INVENTORIES = {"resource_provider_generation": 1, "inventories": {"VCPU": INVENTORY}}
CASES = {
    "allocations": (schemas.ALLOCATIONS[0][1], OWNED),
    "listed allocations": (
        schemas.ALLOCATIONS[-1][1],
        {"allocations": [{"resource_provider": {"uuid": PROVIDER}, "resources": {"VCPU": 1}}]},
    ),
    "several consumers": (schemas.ALLOCATIONS_OF_MANY[0][1], {CONSUMER: OWNED}),
    "inventories": (schemas.INVENTORIES, ALL_INVENTORIES),
    "reshape": (schemas.RESHAPE[0][1], {"inventories": {PROVIDER: ALL_INVENTORIES}, "allocations": {CONSUMER: OWNED}}),
    "candidates": (
        schemas.CANDIDATES_QUERY[0][1],
        {"limit": ["5"], "resources": ["VCPU:1"], "required1": ["A", "B"], "in_tree_B": [PROVIDER]},
    ),
    "usages": (schemas.USAGES_QUERY[0][1], {"project_id": ["p"], "consumer_type": ["unknown"]}),
}


def mutate(document, rng):
    """Change one thing somewhere in a document."""
    containers, todo = [], [document]
    while todo:
        container = todo.pop()
        containers.append(container)
        parts = container.values() if isinstance(container, dict) else container
        todo += [part for part in parts if isinstance(part, (dict, list)) and part]
    container = rng.choice(containers)
    key = rng.choice(list(container) if isinstance(container, dict) else range(len(container)))
    match rng.randrange(3):
        case 0:
            del container[key]
        case 1:
            container[key] = copy.deepcopy(rng.choice(ODD))
        case _ if isinstance(container, dict):
            container[str(rng.choice(ODD))] = container.pop(key)


def has_line_break(document):
    """Return whether a text in a document has a line break."""
    return r"\n" in json.dumps(document)


@pytest.mark.parametrize("name", CASES)
def test_accepted_documents_are_those_of_jsonschema(name):
    validator, valid = CASES[name]
    assert validator.is_valid(valid)
    rng = random.Random(name)
    verdicts = []
    for _ in range(1500):
        document = copy.deepcopy(valid)
        for _ in range(rng.randrange(1, 3)):
            if document:
                mutate(document, rng)
        is_valid = validator.is_valid(document)
        if is_valid != validator._validator.is_valid(document):
            assert not is_valid and has_line_break(document), document
        assert is_valid == (next(validator.iter_errors(document), None) is None), document
        verdicts.append(is_valid)
    assert set(verdicts) == {True, False}
