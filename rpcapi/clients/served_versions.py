# SPDX-License-Identifier: Apache-2.0
"""The RPC versions that the daemons of this release serve, as they report them to the scheduler."""

from collections.abc import Mapping

from rpcapi.clients.claims import ClaimsAPI
from rpcapi.clients.client import ServiceClient
from rpcapi.clients.compute import ComputeAPI
from rpcapi.clients.conductor import ConductorAPI
from rpcapi.clients.scheduler import BusBackend

SERVED: Mapping[str, tuple[type[ServiceClient], ...]] = {
    "gantt-conductor": (ConductorAPI,),
    "gantt-scheduler": (BusBackend, ClaimsAPI),
    "gantt-compute": (ComputeAPI,),
}


def served_versions(binary: str) -> dict[str, str]:
    """Return the version that a daemon of this release serves on each of its topics; empty for other daemons."""
    return {client.TOPIC: client.VERSION for client in SERVED.get(binary, ())}
