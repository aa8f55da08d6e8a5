# SPDX-License-Identifier: Apache-2.0
"""A Nova's hosts, a scheduler worker that answers on its bus, and a client that calls as Nova's services do."""

import copy
import json
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Self

import oslo_messaging as messaging

from rpcapi.messaging import foreign_bus
from scheduler_svc.nova import namespaces
from scheduler_svc.nova.bridge import signals
from scheduler_svc.service import SchedulerService
from tests.support.nova import queries
from tests.support.nova.nova import CELL, compute_node
from tests.support.scheduler.placement import PlacementApi
from tests.support.scheduler.workers import ShortPollStore, new_conf

Primitive = dict[str, Any]  # of a versioned object

NAMESPACES = ["aggregate", "trait", "resource_class", "compute_node", "nova_bridge", "server_group", signals.NAMESPACE]
CALL_SECONDS = 60
SIZES = {"VCPU": 8, "MEMORY_MB": 4096, "DISK_GB": 100}


class NovaClient:
    """Calls the scheduler with primitives, as Nova's services do with their objects."""

    def __init__(
        self,
        url: str,
        exchange: str = "nova",
        call_monitor_timeout: float = 60,
        rabbit: Mapping[str, Any] | None = None,
        lock_path: str = "",
    ) -> None:
        self.transport = foreign_bus.get_transport(url, exchange, threads=4, rabbit=rabbit, lock_path=lock_path)
        target = messaging.Target(topic="scheduler", version="4.0")
        self.client = messaging.get_rpc_client(
            self.transport, target, timeout=CALL_SECONDS, call_monitor_timeout=call_monitor_timeout
        )

    def select(
        self,
        spec: Primitive,
        uuids: Sequence[str],
        context: Mapping[str, Any] | None = None,
        *,
        version: str = "4.5",
        return_objects: bool = True,
        return_alternates: bool = True,
    ) -> Any:
        arguments: dict[str, Any] = {
            "spec_obj": spec,
            "instance_uuids": uuids,
            "return_objects": return_objects,
            "return_alternates": return_alternates,
        }
        return self.call(context, "select_destinations", version=version, **arguments)

    def call(
        self,
        context: Mapping[str, Any] | None,
        method: str,
        *,
        version: str = "4.5",
        namespace: str | None = None,
        **arguments: Any,
    ) -> Any:
        options = {"version": version} | ({"namespace": namespace} if namespace else {})
        return self.client.prepare(**options).call(context or new_context(), method, **arguments)

    def cast_to_all(self, method: str, *, version: str = "4.2", **arguments: Any) -> None:
        self.client.prepare(fanout=True, version=version).cast(new_context(), method, **arguments)


class NovaCloud:
    """A worker on a memory store with hosts of Nova.

    ``options`` are those of [nova]; ``rabbit`` are those of RabbitMQ, for the worker and its client.
    """

    def __init__(self, url: str = "fake://", rabbit: Mapping[str, Any] | None = None, **options: Any) -> None:
        self.store = ShortPollStore("default", namespaces=NAMESPACES)
        self.placement = PlacementApi(self.store)
        self.conf = new_conf()
        for name, value in {"enabled": True, "transport_url": url, **options}.items():
            self.conf.set_override(name, value, group="nova")
        self.rabbit = rabbit or {}
        self.conf.register_opts(foreign_bus.rabbit_options(), group="nova_rabbit")
        for name, value in self.rabbit.items():
            self.conf.set_override(name, value, group="nova_rabbit")
        self.service = SchedulerService(self.conf, 0, lambda partition: self.store)
        self.client: Any = None
        self.is_stopped = False
        self.url = url
        state = {"read_ms": round(self.store.clock_ms()), "interval_ms": 5000, "cells": {}, "all_computes_own": False}
        self.put(namespaces.BRIDGE_NAMESPACE, namespaces.BRIDGE, state)

    def start(self) -> Self:
        try:
            self.service.start()
            self.client = NovaClient(self.url, rabbit=self.rabbit, lock_path=self.conf.nova.lock_path)
        except BaseException:  # what has started would answer calls of later tests
            self.stop()
            raise
        return self

    def stop(self) -> None:
        if self.is_stopped:
            return
        self.is_stopped = True
        self.service.stop()
        self.service.wait()

    def add_host(self, name: str, sizes: Mapping[str, int] = SIZES, traits: Sequence[str] = (), **changes: Any) -> str:
        """Add a compute node with its provider; return its uuid."""
        provider = self.placement.create(name)
        self.placement.set_inventories(provider, **sizes)
        if traits:
            self.set_traits(provider, traits)
        self.put("compute_node", f"@api/{provider}", compute_node(**{"service_host": name, "node": name, **changes}))
        return provider

    def set_traits(self, provider: str, traits: Sequence[str]) -> None:
        for trait in traits:
            assert self.placement.call("PUT", f"/traits/{trait}").status in (201, 204, 400)
        generation = self.placement.call("GET", f"/resource_providers/{provider}").json["generation"]
        body = {"resource_provider_generation": generation, "traits": list(traits)}
        answer = self.placement.call("PUT", f"/resource_providers/{provider}/traits", body)
        assert answer.status == 200, answer

    def put(self, namespace: str, name: str, document: Mapping[str, Any]) -> None:
        self.store.put_state(namespace, name, 0, document)

    def follow(self) -> None:
        """Wait until the worker knows all that was stored."""
        replica = self.service._worker.scheduling.partitions.own.replica  # type: ignore[union-attr]
        assert replica.reach(self.store.state.position, 30)

    def select(self, spec: Primitive, count: int = 1, **options: Any) -> tuple[list[str], Any]:
        self.follow()
        uuids = [str(uuid.uuid4()) for _ in range(count)]
        return uuids, self.client.select(spec, uuids, **options)

    def allocations_of(self, consumer: str) -> tuple[dict[str, dict[str, int]], int | None]:
        """Return what a consumer holds, by provider, and its generation, as Placement's clients read it."""
        answer = self.placement.call("GET", f"/allocations/{consumer}").json
        return {name: entry["resources"] for name, entry in answer["allocations"].items()}, answer.get(
            "consumer_generation"
        )


def new_context(**fields: Any) -> dict[str, Any]:
    return {"request_id": f"req-{uuid.uuid4()}", "project_id": "p", "user_id": "u", "is_admin": True} | fields


def spec(case: str = "plain", **fields: Any) -> Primitive:
    """Return a recorded RequestSpec with other values for these fields."""
    primitive: Primitive = copy.deepcopy(queries.RECORDED[case]["primitive"])
    primitive["nova_object.data"] |= fields
    return primitive


def destination(**fields: Any) -> Primitive:
    return nova_object("Destination", "1.4", fields)


def cell(name: str = CELL) -> Primitive:
    return nova_object("CellMapping", "1.1", {"uuid": name})


def nova_object(name: str, version: str, fields: Mapping[str, Any]) -> Primitive:
    return {
        "nova_object.name": name,
        "nova_object.namespace": "nova",
        "nova_object.version": version,
        "nova_object.data": fields,
    }


def fields_of(selection: Primitive) -> dict[str, Any]:
    fields: dict[str, Any] = selection["nova_object.data"]
    return fields


def hosts_of(selections: Sequence[Sequence[Primitive]]) -> list[list[str]]:
    """Return the service hosts of each instance, the selected one first."""
    return [[fields_of(selection)["service_host"] for selection in row] for row in selections]


def allocation_request(selection: Primitive) -> Any:
    return json.loads(fields_of(selection)["allocation_request"])
