# SPDX-License-Identifier: Apache-2.0
"""Version of gantt, and the oldest supported RPC version of agents."""

import functools
import importlib.metadata
from collections.abc import Mapping

COMPUTE = "compute"  # topic of agents
OLDEST_AGENT = "1.0"


def installed_version() -> str:
    try:
        return importlib.metadata.version("gantt")
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


@functools.lru_cache(maxsize=256)
def parse_rpc_version(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def is_too_old(rpc_versions: Mapping[str, str] | None) -> bool:
    """Return whether an agent's RPC version is unsupported; without versions it is OLDEST_AGENT."""
    version = (rpc_versions or {}).get(COMPUTE, OLDEST_AGENT)
    return parse_rpc_version(version) < parse_rpc_version(OLDEST_AGENT)
