# SPDX-License-Identifier: Apache-2.0
"""Parser of arguments that name a service host."""

from rpcapi.cli.command import CommandFailed
from rpcapi.resources import names


def parse_service_host(text: str, action: str) -> str:
    """Return the canonical name of a service host; raises CommandFailed for a node."""
    name = names.canonical(text)
    host = names.host_of(name)
    if name != host:
        raise CommandFailed(f"{name} is a node; only a service host with all its nodes can be {action}: {host}")
    return host
