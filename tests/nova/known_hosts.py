# SPDX-License-Identifier: Apache-2.0
"""What gantt knows of Nova's hosts: the bridge's documents, which follow Nova's databases after a moment."""

import contextlib
from typing import Any

from devstack.nova.client import wait_until
from tests.support.nova.checked_cloud import CheckedCloud

HOSTS, AGGREGATES = "compute_node", "aggregate"


def documents(cloud: CheckedCloud, namespace: str) -> dict[str, dict[str, Any]]:
    """Return the documents of a namespace by their name."""
    with contextlib.closing(cloud.open_store(namespace)) as store:
        return {name: dict(document) for name, _, document in store.list_state(namespace)[0]}


def wait_for_host(cloud: CheckedCloud, host: str, **fields: object) -> None:
    """Wait until gantt knows the fields of a host, where it decides; nova-scheduler reads the databases themselves."""
    if cloud.size.scheduler == "gantt":
        wait_until(lambda: _has(cloud, host, fields), f"the bridge to read {fields} of {host}")


def wait_for_aggregate(cloud: CheckedCloud, uuid: str, hosts: int, metadata: dict[str, str]) -> None:
    """Wait until gantt knows the metadata and the number of hosts of an aggregate, where it decides."""
    if cloud.size.scheduler != "gantt":
        return

    def is_known() -> bool:
        document = documents(cloud, AGGREGATES).get(uuid, {"hosts": [], "metadata": {}})
        return len(document["hosts"]) == hosts and document["metadata"] == metadata

    wait_until(is_known, f"the bridge to read the aggregate {uuid}")


def _has(cloud: CheckedCloud, host: str, fields: dict[str, object]) -> bool:
    (document,) = [item for item in documents(cloud, HOSTS).values() if item["service_host"] == host]
    return all(document[name] == value for name, value in fields.items())
