# SPDX-License-Identifier: Apache-2.0
"""RPC versions that the daemons of this release serve and report."""

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
    """Return the RPC version by topic that a daemon serves; empty for daemons without RPC."""
    return {client.TOPIC: client.VERSION for client in SERVED.get(binary, ())}
