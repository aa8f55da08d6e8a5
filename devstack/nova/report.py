# SPDX-License-Identifier: Apache-2.0
"""Text table of a Nova cloud's servers, and usage hints."""

import collections
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from prettytable import PrettyTable

from devstack.nova.cloud import NovaCloud

DOWN = "./devstack/nova.sh --down"


def text(cloud: NovaCloud, servers: Iterable[Mapping[str, Any]], differences: Sequence[str]) -> str:
    by_host = collections.defaultdict(list)
    for server in servers:
        by_host[server["OS-EXT-SRV-ATTR:host"] or "-"].append(server["status"])
    usages = {provider["name"]: _usage(cloud, provider["uuid"]) for provider in cloud.placement.providers()}
    table = PrettyTable(["host", "servers", "status", "used by Placement"], align="l")
    for host in sorted({*usages, *by_host}):
        statuses = collections.Counter(by_host[host])
        listed = ", ".join(f"{count} {status}" for status, count in sorted(statuses.items()))
        table.add_row([host, len(by_host[host]), listed, usages.get(host, "")])
    verdict = "equal" if not differences else "; ".join(differences)
    return f"{table.get_string()}\nAllocations in Placement and Nova's records: {verdict}."


def hint(cloud: NovaCloud) -> str:
    identity = f"{cloud.parts.urls.fakes}/identity/v3"
    return "\n".join(
        [
            f"{cloud.size.placement} serves Placement, {cloud.size.scheduler} the scheduler.",
            f"Use it with:       export OS_AUTH_URL={identity} OS_USERNAME=admin OS_PASSWORD=any OS_PROJECT_NAME=demo "
            "OS_USER_DOMAIN_ID=default OS_PROJECT_DOMAIN_ID=default; openstack server list",
            f"Logs are in        {cloud.layout.log}",
            f"Stop it with:      {DOWN}",
        ]
    )


def _usage(cloud: NovaCloud, provider: str) -> str:
    return ", ".join(f"{amount} {name}" for name, amount in sorted(cloud.placement.usages(provider).items()))
