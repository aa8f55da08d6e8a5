# SPDX-License-Identifier: Apache-2.0
"""RPC interface of Nova's scheduler, version 4.5."""

from collections.abc import Iterator, Mapping
from typing import Any

import oslo_messaging as messaging

from rpcapi import errors
from rpcapi.context import RequestContext
from rpcapi.validation.instances import check_uuids
from scheduler_svc.nova.bus import selection
from scheduler_svc.nova.bus.answering import answers_nova
from scheduler_svc.nova.bus.host_chooser import HostChooser
from scheduler_svc.nova.bus.primitives import DATA
from scheduler_svc.nova.bus.waking import BridgeWaker

TOPIC = "scheduler"
VERSION = "4.5"


class NovaSchedulerEndpoint:
    """Endpoint that selects hosts. The other methods are unauthenticated casts, which only wake the bridge."""

    target = messaging.Target(version=VERSION)

    def __init__(self, chooser: HostChooser, waker: BridgeWaker, *, max_instances: int) -> None:
        self._chooser = chooser
        self._waker = waker
        self._max_instances = max_instances

    @answers_nova
    def select_destinations(
        self,
        ctxt: RequestContext,
        *,
        spec_obj: Any = None,
        instance_uuids: Any = None,
        return_objects: Any = False,
        return_alternates: Any = False,
        **older: Any,
    ) -> list[Any]:
        """Return a list per instance: its Selection and its alternates. Without ``return_objects``, return mappings."""
        if spec_obj is None:
            raise errors.MalformedObject(name="call", why=f"spec_obj is missing, got {', '.join(older) or 'nothing'}")
        if instance_uuids is not None:
            check_uuids(instance_uuids, self._max_instances)
        with_objects = return_objects is True
        choices = self._chooser.select(
            ctxt, spec_obj, instance_uuids, with_alternates=with_objects and return_alternates is True
        )
        return (
            self._chooser.to_objects(choices)
            if with_objects
            else [selection.to_dict(choice.host) for choice in choices]
        )

    @answers_nova
    def update_aggregates(self, ctxt: RequestContext, *, aggregates: Any = None, **newer: Any) -> None:
        """Wake the bridge for an aggregate, a list of aggregates, or an AggregateList."""
        for name in _uuids(aggregates):
            self._waker.wake(f"aggregate {name}")

    @answers_nova
    def delete_aggregate(self, ctxt: RequestContext, *, aggregate: Any = None, **newer: Any) -> None:
        for name in _uuids(aggregate):
            self._waker.wake(f"aggregate {name}")

    @answers_nova
    def update_instance_info(self, ctxt: RequestContext, *, host_name: Any = None, **details: Any) -> None:
        self._wake_host(host_name)

    @answers_nova
    def delete_instance_info(self, ctxt: RequestContext, *, host_name: Any = None, **details: Any) -> None:
        self._wake_host(host_name)

    @answers_nova
    def sync_instance_info(self, ctxt: RequestContext, *, host_name: Any = None, **details: Any) -> None:
        """Do nothing: hosts call this periodically, and allocations already show their instances."""

    def _wake_host(self, name: Any) -> None:
        if isinstance(name, str):
            self._waker.wake(f"host {name}")


class BaseEndpoint:
    target = messaging.Target(namespace="baseapi", version="1.1")

    @answers_nova
    def ping(self, ctxt: RequestContext, *, arg: Any = None) -> Mapping[str, Any]:
        return {"service": TOPIC, "arg": arg}

    @answers_nova
    def get_backdoor_port(self, ctxt: RequestContext) -> None:
        """Return None: there is no backdoor."""


def _uuids(aggregates: Any) -> Iterator[str]:
    if isinstance(aggregates, list):
        for aggregate in aggregates:
            yield from _uuids(aggregate)
    elif isinstance(aggregates, dict) and isinstance(aggregates.get(DATA), dict):
        data = aggregates[DATA]
        if isinstance(data.get("uuid"), str):
            yield data["uuid"]
        elif "objects" in data:
            yield from _uuids(data["objects"])
