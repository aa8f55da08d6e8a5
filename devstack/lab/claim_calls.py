# SPDX-License-Identifier: Apache-2.0
"""The claim script and its floor as calls that are ready to send: nothing is left to make while they are timed."""

import hashlib
import json
import uuid
from collections.abc import Iterator, Sequence
from importlib.resources import files
from typing import Any

import redis

from devstack.lab import hosts
from rpcapi.model.inventory import Inventory
from rpcapi.model.names import host_of
from scheduler_svc.store.records import Batch, Candidate, Intent
from scheduler_svc.store.redis import RedisStore
from scheduler_svc.store.redis.prepare import arguments
from scheduler_svc.store.redis.scripts import Script, load

ROOMY = 500  # nodes that take claims, one after the other
FULL = 15  # nodes that never take one
ASKED = {"VCPU": 1, "MEMORY_MB": 1024, "DISK_GB": 1}
TTL_MS = 86_400_000  # no deadline passes while the lab runs
LOG_LENGTH = 100_000
MOST_DECISIONS = 1_000_000  # more than are made: dropping old ones comes in lots, and would fall to either side
MINE, BARE = "claim", "bare"


def prepare_partitions(url: str) -> None:
    """Let the same nodes join two partitions: one for the claim script, one for its floor."""
    nodes = {**hosts.make(ROOMY), **{f"full{number}/node0": _full() for number in range(FULL)}}
    for partition in (MINE, BARE):
        store = RedisStore(url, partition)
        store.check_identity()
        hosts.join(store, nodes)
        store.close()


class ClaimCalls:
    """Calls of the claim script for one consumer each: all candidates but the last are full."""

    def __init__(self, client: redis.Redis, url: str, candidates: int) -> None:
        self.client = client
        self._candidates = candidates
        self._scripts = {MINE: load("prepare"), BARE: bare_script()}
        for script in self._scripts.values():
            client.script_load(script.text)
        store = RedisStore(url, MINE)
        seen = store.snapshot()
        store.close()
        self._epoch, self._position = seen.epoch, seen.position

    def ready(self, which: str, count: int, first: int) -> list[tuple[Any, ...]]:
        """Return ``count`` argument lists of EVALSHA, for nodes from number ``first`` on."""
        script = self._scripts[which]
        keys = script.keys(which)
        make = self._mine if which == MINE else self._bare
        return [(script.sha, len(keys), *keys, *make(first + number)) for number in range(count)]

    def _mine(self, number: int) -> list[Any]:
        return [LOG_LENGTH, *arguments(self._batch(number), MOST_DECISIONS)]

    def _bare(self, number: int) -> list[Any]:
        batch = self._batch(number)
        consumer, tried = batch.intents[0].consumer, [each.host for each in batch.intents[0].candidates]
        sums = json.dumps(ASKED, separators=(",", ":"))
        claim = {
            "schema": 1,
            "consumer": consumer,
            "attempt": 1,
            "generation": 1,
            "state": "prepared",
            "host": tried[-1],
            "allocations": {tried[-1]: ASKED},
            "alternates": "",
            "created_ms": TTL_MS,
            "deadline_ms": TTL_MS,
            "type": "INSTANCE",
            "project": batch.project,
            "user": batch.user,
            "request_id": batch.request_id,
            "group": None,
        }
        told = [[host, "FULL"] for host in tried]
        record = {
            **(batch.record or {}),
            "schema": 1,
            "at_ms": TTL_MS,
            "outcome": "selected",
            "answered_position": 1,
            "verdicts": [{"consumer": consumer, "answer": "prepared", "host": tried[-1], "tried": told}],
        }
        values: list[Any] = [
            LOG_LENGTH,
            consumer,
            json.dumps(claim, separators=(",", ":")),
            f"{tried[-1]}|{consumer}",
            # A day of 2100, so that none of these is ever past its deadline.
            4_102_444_800_000,
            sums,
            f'{{"{tried[-1]}":{sums}}}',
            batch.request_id,
            json.dumps(record, separators=(",", ":")),
        ]
        return [*values, *(value for host in tried for value in (host, host_of(host)))]

    def _batch(self, number: int) -> Batch:
        consumer = str(uuid.uuid4())
        tried = [*self._full_ones(), _roomy(number)]
        return Batch(
            request_id=f"req-{consumer}",
            project="lab",
            user="lab",
            resources=ASKED,
            intents=[Intent(consumer, 1, [Candidate(host) for host in tried])],
            epoch=self._epoch,
            position=self._position,
            ttl_ms=TTL_MS,
            record={"driver": "FilterDriver", "seed": number, "spec": {"resources": ASKED}, "hosts": ROOMY},
        )

    def _full_ones(self) -> Iterator[str]:
        return (f"full{number}/node0" for number in range(self._candidates - 1))


def bare_script() -> Script:
    """Return the floor, with the keys of the claim script."""
    words = load("prepare").words
    table = ", ".join(f"{word} = KEYS[{index}]" for index, word in enumerate(words, 1))
    body = files("devstack.lab").joinpath("bare_claim.lua").read_text("utf-8")
    text = f"local K = {{ {table} }}\n{body}"
    return Script("bare_claim", text, hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest(), words)


def send(client: redis.Redis, calls: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Send the calls in one go and return the answers."""
    pipeline = client.pipeline(transaction=False)
    for call in calls:
        pipeline.evalsha(*call)
    return pipeline.execute()


def _roomy(number: int) -> str:
    node = number % ROOMY
    return f"compute{node // hosts.NODES_PER_HOST}/node{node % hosts.NODES_PER_HOST}"


def _full() -> dict[str, Any]:
    inventories = {name: Inventory(1, reserved=1).as_dict() for name in ASKED}
    return {"inventories": inventories, "traits": [], "availability_zone": None, "metrics": {}}
