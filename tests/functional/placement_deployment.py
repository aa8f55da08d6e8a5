# SPDX-License-Identifier: Apache-2.0
"""A cluster with gantt-placement, and clients that check what it acknowledged."""

import contextlib
import http.client
import itertools
import json
import os
import subprocess
import sys
import time
import uuid
from pathlib import Path
from typing import Any

from devstack import exercise
from tests.support.clusters import clusters
from tests.support.placement.client import PlacementClient
from tests.support.store.backends import redis_partition

READY_SECONDS = 90.0
PAUSE = 0.05  # before a request that got no answer is repeated
NO_ANSWER = (OSError, http.client.HTTPException)


class Client:
    """A client with a connection for each request, so that both processes get requests."""

    def __init__(self, port: int) -> None:
        self._port = port

    def call(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Send a request; return its status and document, None without one. Raises one of NO_ANSWER."""
        with contextlib.closing(PlacementClient(self._port)) as client:
            return client.call(method, path, body)

    def delete(self, path: str) -> None:
        """Delete what is at a path."""
        status, answer = self.call("DELETE", path)
        assert status == 204, answer


class Deployment:
    """A cluster with gantt-placement, a client of each and the store."""

    def __init__(self, running: clusters.RunningCluster) -> None:
        self._cluster = running.cluster
        self.daemon = running.cluster.daemons["placement"]
        self._conf = running.cluster.client_conf
        port = running.cluster.size.placement_port
        assert port is not None
        self.client = Client(port)
        self.partition = redis_partition(
            running.cluster.store, url=running.cluster.store.url("scheduler"), partition="default"
        )

    def restart(self) -> None:
        """Stop gantt-placement by SIGTERM, and start it again."""
        assert self._cluster.placement_url is not None
        self.daemon.stop(READY_SECONDS)
        self._cluster.start_daemon("placement")
        exercise.wait_for_placement(self._cluster.placement_url, READY_SECONDS)

    def get(self, path: str) -> Any:
        """Return a document of the API."""
        status, document = self.client.call("GET", path)
        assert status == 200, (path, document)
        return document

    def make_provider(self, total: int) -> str:
        """Create a provider with this many VCPUs; return its UUID."""
        provider = str(uuid.uuid4())
        body = {"name": provider, "uuid": provider}
        assert self.client.call("POST", "/resource_providers", body)[0] == 200
        inventory = {"resource_provider_generation": 0, "inventories": {"VCPU": {"total": total, "max_unit": total}}}
        assert self.client.call("PUT", f"/resource_providers/{provider}/inventories", inventory)[0] == 200
        return provider

    def warning(self) -> str:
        """Return what `gantt-status` warns of the API, "" for nothing."""
        answer = self.run_command("gantt-status", "--config-file", str(self._conf), "upgrade", "check", "--json")
        (row,) = (row for row in json.loads(answer)["checks"] if row["check"] == "Placement API")
        return str(row["details"]) if row["result"] else ""

    def run_command(self, program: str, *arguments: str) -> str:
        """Run a command of an operator; return its output."""
        path = Path(sys.executable).with_name(program)
        environment = {**os.environ, "GANTT_CONFIG_FILE": str(self._conf)}
        return subprocess.run(
            [path, *arguments], capture_output=True, text=True, env=environment, timeout=120, check=False
        ).stdout

    def used(self, provider: str) -> int:
        """Return the VCPUs in use, as the API shows them."""
        return int(self.get(f"/resource_providers/{provider}/usages")["usages"].get("VCPU", 0))


def holding(project: str, amounts: dict[str, int], generation: int | None) -> dict[str, Any]:
    """Return the body of a request for allocations of VCPUs, by provider."""
    return {
        "allocations": {provider: {"resources": {"VCPU": amount}} for provider, amount in amounts.items()},
        "project_id": project,
        "user_id": "u",
        "consumer_type": "INSTANCE",
        "consumer_generation": generation,
    }


class Writer:
    """Replaces what a consumer and a pair of consumers hold; remembers what was acknowledged.

    ``loses_store``: the store goes away too, and a 503 is no answer then: the write may have been made. In the epoch
    that follows, all generations are larger (ADR 0221): a write with one that was read before is refused, and not made.
    """

    def __init__(self, name: str, client: Client, providers: list[str], *, loses_store: bool = False) -> None:
        self._name = name
        self._no_answers = {503} if loses_store else set()
        self._loses_store = loses_store
        self._client = client
        self._providers = providers
        self.consumer, *self.pair = (str(uuid.uuid4()) for _ in range(3))
        self.acknowledged = 0  # number of writes
        self.unanswered = 0
        self._last: dict[str, int] = {}  # by consumer, the number of its last acknowledged write
        self._possible: dict[str, list[int]] = {}  # by consumer, later writes that got no answer
        self._numbers = itertools.count(1)

    def write(self) -> None:
        """Replace what the consumer or the pair holds; an answer may not come."""
        number = next(self._numbers)
        consumers = [self.consumer] if number % 2 else self.pair
        states = {consumer: self._read(consumer) for consumer in consumers}
        bodies = {
            consumer: holding(f"{self._name}-{number}", dict.fromkeys(self._providers, number % 5 + 1), state)
            for consumer, state in states.items()
        }
        try:
            if number % 2:
                status, answer = self._client.call("PUT", f"/allocations/{self.consumer}", bodies[self.consumer])
            else:
                status, answer = self._client.call("POST", "/allocations", bodies)
        except NO_ANSWER:
            status, answer = None, None
        if status is None or status in self._no_answers:
            self.unanswered += 1
            for consumer in consumers:
                self._possible.setdefault(consumer, []).append(number)
            return
        if status == 409 and self._loses_store:
            assert any((self._read(consumer) or 0) > (states[consumer] or 0) for consumer in consumers), answer
            return
        assert status == 204, answer
        self.acknowledged += 1
        for consumer in consumers:
            self._last[consumer] = number
            self._possible[consumer] = []

    def check(self) -> dict[str, int]:
        """Check what is stored; return what all consumers hold from each provider."""
        numbers = {consumer: self._stored_number(consumer) for consumer in (self.consumer, *self.pair)}
        assert len({numbers[consumer] for consumer in self.pair}) == 1, numbers
        total = sum(number % 5 + 1 for number in numbers.values() if number)
        return dict.fromkeys(self._providers, total)

    def _read(self, consumer: str) -> int | None:
        """Return the consumer's generation, None if it holds nothing; check that nothing acknowledged is lost."""
        self._stored_number(consumer)
        return self._generation

    def _stored_number(self, consumer: str) -> int:
        """Return the number of the write that is stored, 0 for none."""
        document = self._get(f"/allocations/{consumer}")
        self._generation = document.get("consumer_generation")
        number = int(document["project_id"].rpartition("-")[2]) if document["allocations"] else 0
        assert number in (self._last.get(consumer, 0), *self._possible.get(consumer, [])), (
            f"{consumer} holds write {number}; {self._last.get(consumer)} was acknowledged"
        )
        amounts = {provider: entry["resources"] for provider, entry in document["allocations"].items()}
        expected = {provider: {"VCPU": number % 5 + 1} for provider in self._providers} if number else {}
        assert amounts == expected
        return number

    def _get(self, path: str) -> Any:
        deadline = time.monotonic() + READY_SECONDS
        while True:
            try:
                status, document = self._client.call("GET", path)
            except NO_ANSWER:
                status = None
            if status is None or status in self._no_answers:
                assert time.monotonic() < deadline, "gantt-placement does not answer any more"
                time.sleep(PAUSE)
                continue
            assert status == 200, document
            return document
