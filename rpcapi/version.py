# SPDX-License-Identifier: Apache-2.0
"""The version of gantt, and the oldest supported RPC version of agents."""

import functools
import importlib.metadata
from collections.abc import Mapping

COMPUTE = "compute"  # the topic of agents
OLDEST_AGENT = "1.6"  # RPC version of the oldest supported agent


def installed_version() -> str:
    """Return the installed version, or 'unknown' when run from a source tree."""
    try:
        return importlib.metadata.version("gantt")
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


@functools.lru_cache(maxsize=256)
def parse_rpc_version(version: str) -> tuple[int, ...]:
    """Return the numbers of an RPC version such as "1.10"."""
    return tuple(map(int, version.split(".")))


def is_too_old(rpc_versions: Mapping[str, str] | None) -> bool:
    """Return whether versions by topic are an unsupported agent's; an agent without versions has OLDEST_AGENT."""
    version = (rpc_versions or {}).get(COMPUTE, OLDEST_AGENT)
    return parse_rpc_version(version) < parse_rpc_version(OLDEST_AGENT)
