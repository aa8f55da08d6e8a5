# SPDX-License-Identifier: Apache-2.0
"""Host aggregates of a test."""

import contextlib
import uuid
from collections.abc import Iterator, Sequence

from tests.nova.known_hosts import wait_for_aggregate
from tests.support.nova.checked_cloud import CheckedCloud


@contextlib.contextmanager
def host_aggregate(cloud: CheckedCloud, hosts: Sequence[str], **metadata: str) -> Iterator[None]:
    """An aggregate of hosts with metadata, of which the scheduler knows; it is removed at the end."""
    record = cloud.nova.call("POST", "/os-aggregates", {"aggregate": {"name": f"rack-{uuid.uuid4()}"}})["aggregate"]
    path = f"/os-aggregates/{record['id']}"
    members = []
    try:
        # A zone must be set before there are servers on the hosts.
        cloud.nova.call("POST", f"{path}/action", {"set_metadata": {"metadata": metadata}})
        for host in hosts:
            cloud.nova.call("POST", f"{path}/action", {"add_host": {"host": host}})
            members.append(host)
        wait_for_aggregate(cloud, record["uuid"], len(hosts), metadata)
        yield
    finally:
        for host in members:
            cloud.nova.call("POST", f"{path}/action", {"remove_host": {"host": host}})
        cloud.nova.call("DELETE", path)
        wait_for_aggregate(cloud, record["uuid"], 0, {})
