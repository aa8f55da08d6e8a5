# SPDX-License-Identifier: Apache-2.0
"""Error messages for plugins that read a key that View.state or View.documents does not have."""

from collections.abc import Mapping

from scheduler_svc.core.namespaces.registry import COMPOSED

METRIC_PREFIX = "metrics."  # prefix of metric keys in namespace "compute"
# View members to use for keys without a state column. No other keys of these namespaces are stored.
MEMBERS: Mapping[str, Mapping[str, str]] = {
    "compute": {
        "inventories": "hosts.capacity or trees.capacity",
        "used": "hosts.free or trees.free",
        "traits": "hosts.has_all",
        "availability_zone": "in_zone",
        "facts": "facts",
        "host_ip": "in_network",
        "numa": "has_numa_cells",
        "kind": "of_kind",
        "root": "trees",
        "parent": "trees",
        "metrics": "state('compute', 'metrics.NAME')",
    },
    "service": {
        "alive": "services.alive",
        "enabled": "services.enabled",
        "too_old": "services.too_old",
        "audited": "services.opened",
    },
    "aggregate": {"hosts": "aggregates.members", "metadata": "aggregates.metadata", "name": "documents('aggregate')"},
}


def explain_key(namespace: str, key: str) -> str:
    members = MEMBERS.get(namespace, {})
    if key in members:
        return f"key {key!r} of namespace {namespace!r} is not a state column: use view.{members[key]}"
    if members and not (namespace == "compute" and key.startswith(METRIC_PREFIX)):
        return f"key {key!r} of namespace {namespace!r} is not stored by workers; a view has {', '.join(members)}"
    return f"key {key!r} of namespace {namespace!r} has no column: list it in the reads of the filter or weigher"


def explain_namespace(namespace: str) -> str:
    if namespace in COMPOSED:
        members = ", ".join(f"view.{member} ({key})" for key, member in MEMBERS[namespace].items())
        return f"namespace {namespace!r} has no documents in a worker; its keys are columns: {members}"
    return f"namespace {namespace!r} is not stored: list it in the reads of the filter or weigher"
