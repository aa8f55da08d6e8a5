# SPDX-License-Identifier: Apache-2.0
"""Calls of the claim script and its baseline, prepared in advance so that only the calls are timed."""

import json
import uuid
from collections.abc import Iterator, Sequence
from importlib.resources import files
from typing import Any

import redis

from devstack.lab import hosts, partitions
from rpcapi.redis_failover.scripts import LuaScript, make_script
from rpcapi.resources.inventory import Inventory
from rpcapi.resources.names import host_of
from scheduler_svc.core.records import Candidate, ClaimBatch, Intent
from scheduler_svc.store.records import MAX_STEP_MS
from scheduler_svc.store.redis import prepare
from scheduler_svc.store.redis.scripts import load, script_keys

EMPTY_NODES = 500  # nodes with free capacity, used cyclically
FULL_NODES = 15
RESOURCES = {"VCPU": 1, "MEMORY_MB": 1024, "DISK_GB": 1}
LOG_LENGTH = 100_000
DECISION_BYTES = 1 << 40  # never reached: trimming comes in bursts and would distort either side
CLAIM, BARE = "claim", "bare"


def prepare_partitions(url: str) -> None:
    nodes = {**hosts.make_nodes(EMPTY_NODES), **{f"full{number}/node0": _full_node() for number in range(FULL_NODES)}}
    for partition in (CLAIM, BARE):
        with partitions.opened(url, partition) as store:
            hosts.join(store, nodes)


class ClaimCalls:
    """Prepared calls of both scripts, one consumer each; all candidates but the last are full."""

    def __init__(self, client: redis.Redis, url: str, candidates: int) -> None:
        self.client = client
        self._candidates = candidates
        self._scripts = {CLAIM: load("prepare"), BARE: bare_script()}
        for script in self._scripts.values():
            client.script_load(script.text)
        with partitions.opened(url, CLAIM) as store:
            self._snapshot = store.snapshot()

    def prepare_calls(self, script_name: str, count: int, first: int) -> list[tuple[Any, ...]]:
        script = self._scripts[script_name]
        keys = script_keys(script, script_name)
        make = self._claim_arguments if script_name == CLAIM else self._bare_arguments
        return [(script.sha, len(keys), *keys, *make(first + number)) for number in range(count)]

    def _claim_arguments(self, number: int) -> list[Any]:
        batch = self._batch(number)
        limits = {"log_length": LOG_LENGTH, "max_step_ms": MAX_STEP_MS}
        values = {**limits, **prepare.arguments(batch, DECISION_BYTES)}
        return self._scripts[CLAIM].arguments(prepare.rows(batch), **values)

    def _bare_arguments(self, number: int) -> list[Any]:
        batch = self._batch(number)
        consumer, names = batch.intents[0].consumer, [candidate.host for candidate in batch.intents[0].candidates]
        sums = json.dumps(RESOURCES, separators=(",", ":"))
        claim = {
            "schema": 1,
            "consumer": consumer,
            "attempt": 1,
            "generation": 1,
            "state": "prepared",
            "host": names[-1],
            "allocations": {names[-1]: RESOURCES},
            "alternates": "",
            "created_ms": hosts.TTL_MS,
            "deadline_ms": hosts.TTL_MS,
            "type": "INSTANCE",
            "project": batch.project,
            "user": batch.user,
            "request_id": batch.request_id,
            "group": None,
        }
        attempts = [[host, "FULL"] for host in names]
        record = {
            **(batch.record or {}),
            "schema": 1,
            "at_ms": hosts.TTL_MS,
            "outcome": "selected",
            "answered_position": 1,
            "verdicts": [{"consumer": consumer, "answer": "prepared", "host": names[-1], "tried": attempts}],
        }
        values: list[Any] = [
            LOG_LENGTH,
            consumer,
            json.dumps(claim, separators=(",", ":")),
            f"{names[-1]}|{consumer}",
            # The year 2100, so that none of these claims ever expires.
            4_102_444_800_000,
            sums,
            f'{{"{names[-1]}":{sums}}}',
            batch.request_id,
            json.dumps(record, separators=(",", ":")),
        ]
        return [*values, *(value for host in names for value in (host, host_of(host)))]

    def _batch(self, number: int) -> ClaimBatch:
        consumer = str(uuid.uuid4())
        names = [*self._full_nodes(), empty_node(number)]
        record = {"driver": "FilterDriver", "seed": number, "spec": {"resources": RESOURCES}, "hosts": EMPTY_NODES}
        intents = [Intent(consumer, 1, [Candidate(name) for name in names])]
        return hosts.claim_batch(self._snapshot, intents, RESOURCES, record)

    def _full_nodes(self) -> Iterator[str]:
        return (f"full{number}/node0" for number in range(self._candidates - 1))


def bare_script() -> LuaScript:
    body = files("devstack.lab.claim").joinpath("bare_claim.lua").read_text("utf-8")
    return make_script("bare_claim", body, load("prepare").words, ())


def send(client: redis.Redis, calls: Sequence[tuple[Any, ...]]) -> list[Any]:
    if len(calls) == 1:
        return [client.evalsha(*calls[0])]
    pipeline = client.pipeline(transaction=False)
    for call in calls:
        pipeline.evalsha(*call)
    return pipeline.execute()


def evalsha_us(client: redis.Redis) -> int:
    statistics: Any = client.info("commandstats")
    return int(statistics.get("cmdstat_evalsha", {}).get("usec", 0))


def empty_node(number: int) -> str:
    node = number % EMPTY_NODES
    return f"compute{node // hosts.NODES_PER_HOST}/node{node % hosts.NODES_PER_HOST}"


def _full_node() -> dict[str, Any]:
    inventories = {name: Inventory(1, reserved=1).as_dict() for name in RESOURCES}
    return {"inventories": inventories, "traits": [], "availability_zone": None, "metrics": {}}
