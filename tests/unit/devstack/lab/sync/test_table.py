# SPDX-License-Identifier: Apache-2.0
"""The digest of a host table."""

import pytest

from devstack.lab import default_driver, hosts
from devstack.lab.sync.table import digest
from scheduler_svc.core.table.table import HostTable

NODES = hosts.make_nodes(6)


def table(nodes, used=None, **changes):
    amounts = {name: dict((used or {}).get(name, {})) for name in nodes}
    snapshot = hosts.snapshot(nodes, amounts)
    for name, values in changes.items():
        getattr(snapshot, name).update(values)
    return HostTable.from_snapshot(snapshot, reads=default_driver.default().reads)


def test_order_of_the_rows_does_not_matter():
    assert digest(table(NODES)) == digest(table(dict(reversed(NODES.items()))))


@pytest.mark.parametrize(
    "changes",
    [
        {"used": {"compute0/node3": {"VCPU": 1}}},
        {"services": {"compute0": {"enabled": False}}},
        {"alive": {"compute0": False}},
        {"opened": {"compute0": 0}},
    ],
)
def test_change_of_contents_changes_the_digest(changes):
    assert digest(table(NODES, **changes)) != digest(table(NODES))


def test_missing_host_changes_the_digest():
    assert digest(table(dict(list(NODES.items())[:5]))) != digest(table(NODES))
