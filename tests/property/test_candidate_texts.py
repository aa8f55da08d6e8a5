# SPDX-License-Identifier: Apache-2.0
"""Summaries of candidates that are asked for again and again while providers change, against what providers have."""

import itertools
from dataclasses import replace
from random import Random

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from rpcapi.resources.groups import RequestGroup
from rpcapi.resources.trees.tree import TreeRequest
from scheduler_svc.core.provider_uuids import uuid_of
from scheduler_svc.core.records import LogEntry
from scheduler_svc.core.table.table import HostTable
from scheduler_svc.placement.http.candidate_documents import CandidateDocuments
from scheduler_svc.placement.model.candidates.finder import CandidateFinder
from scheduler_svc.placement.model.candidates.request import CandidateRequest
from tests.support.scheduler.hosts import node, provider, snapshot

VERSIONS = [29, 39]
CLASSES = ["VCPU", "MEMORY_MB", *(f"CUSTOM_{number}" for number in range(3))]
TRAITS = [f"CUSTOM_{number}" for number in range(70)]  # more than fit into a word
NAMES = [f"h{number}" for number in range(6)]
REQUEST = TreeRequest([RequestGroup("", {"VCPU": 1})])


class Fresh:
    """A replica that has everything."""

    def require(self):
        return 0


class ChangingHosts:
    """A table, and the documents and usage that it should have."""

    def __init__(self, random):
        self.table = HostTable()
        self._random = random
        self._shapes = [self._shape() for _ in range(3)]  # so few that a host often replaces an equal one
        self._positions = itertools.count(101)
        self._nodes = {}
        self._used = {}
        self.load()

    def report(self):
        """Set what a host has."""
        name = self._random.choice(NAMES)
        self._nodes[name] = self._random.choice(self._shapes)
        self._apply("provider", {name: provider(name, self._nodes[name])})

    def claim(self):
        """Set what is used of a host, also of one that does not exist."""
        name = self._random.choice(NAMES)
        self._used[name] = {resource_class: self._random.randint(0, 3) for resource_class in self._classes()}
        self._apply("used", {name: self._used[name]})

    def delete(self):
        """Delete a host; what is used of it remains."""
        name = self._random.choice(NAMES)
        self._nodes.pop(name, None)
        self._apply("gone", [name])

    def load(self):
        """Replace all hosts by others: a row may be that of another host then."""
        self._nodes = {name: self._random.choice(self._shapes) for name in NAMES if self._random.random() < 0.5}
        self._used = {name: {"VCPU": self._random.randint(0, 1)} for name in self._nodes}
        self.table.load(replace(snapshot(self._nodes, self._used), position=next(self._positions)))

    def summaries(self):
        """Return the summaries of the hosts with a free VCPU."""
        return {
            uuid_of(name): {
                "resources": {
                    resource_class: {
                        "capacity": inventory["capacity"],
                        "used": self._used.get(name, {}).get(resource_class, 0),
                    }
                    for resource_class, inventory in document["inventories"].items()
                },
                "traits": sorted(document["traits"]),
                "parent_provider_uuid": None,
                "root_provider_uuid": uuid_of(name),
            }
            for name, document in self._nodes.items()
            if self._used.get(name, {}).get("VCPU", 0) < document["inventories"]["VCPU"]["capacity"]
        }

    def _apply(self, kind, payload):
        self.table.apply(LogEntry(next(self._positions), kind, payload))

    def _shape(self):
        amounts = {resource_class: self._random.randint(1, 4) for resource_class in {"VCPU", *self._classes()}}
        return node(amounts, self._random.sample(TRAITS, self._random.choice([0, 1, 1, 20])))

    def _classes(self):
        return self._random.sample(CLASSES, self._random.randint(0, 2))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_summaries_are_those_of_the_providers_now(seed):
    random = Random(seed)
    hosts = ChangingHosts(random)
    finder, documents = CandidateFinder(hosts.table, Fresh()), CandidateDocuments()
    for change in random.choices([hosts.report, hosts.claim, hosts.delete, hosts.load], [4, 4, 2, 1], k=30):
        change()
        limit = random.choice([None, 2])
        deadline = finder.deadline()
        answer = finder.find(CandidateRequest(REQUEST, limit), deadline)
        content = documents.to_json(answer, REQUEST, random.choice(VERSIONS), deadline, is_limited=limit is not None)
        document, expected = orjson.loads(content), hosts.summaries()
        summaries = document["provider_summaries"]
        assert len(summaries) == min(len(expected), limit or len(expected))
        assert summaries == {uuid: expected[uuid] for uuid in summaries}
        requests = [list(request["allocations"]) for request in document["allocation_requests"]]
        assert requests == [[uuid] for uuid in summaries]
