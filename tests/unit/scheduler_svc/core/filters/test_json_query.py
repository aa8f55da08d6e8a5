# SPDX-License-Identifier: Apache-2.0
"""JsonFilter: queries evaluated on columns."""

import json

import pytest

from tests.unit.scheduler_svc.core.filters.cloud import make_nodes, passing_hosts

NODES = {
    **make_nodes("h1/a", facts={"hypervisor_type": "QEMU", "row": 1}, host_ip="10.0.0.1", metrics={"instances": 3}),
    **make_nodes("h1/b", facts={"hypervisor_type": "Xen", "row": "2", "big": True}, host_ip="10.0.0.2"),
    **make_nodes("h2"),
}
ALL = list(NODES)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ([">=", "$free_ram_mb", 1024], ALL),
        (["and", [">=", "$free_ram_mb", 1024], ["<", "$num_instances", 3]], ["h1/b", "h2"]),
        (["or", ["=", "$hypervisor_type", "QEMU"], ["=", "$host", "h2"]], ["h1/a", "h2"]),
        (["not", ["=", "$hypervisor_type", "QEMU"]], ["h1/b", "h2"]),
        (["and", ["not", ["=", "$host", "h1"]]], ["h2"]),
        (["in", "$nodename", "h1/a", "h2", "h3"], ["h1/a", "h2"]),
        (["in", "$host_ip", "10.0.0.2", "::1"], ["h1/b"]),
        (["=", "$vcpus_used", 0], ALL),
        (["=", "$vcpus_total", "8"], []),
        (["=", 8, "$vcpus_total", 8.0], ALL),
        (["<", "$facts.row", 2], ["h1/a"]),
        (["=", "$facts.row", "2"], ["h1/b"]),
        (["=", "$facts.row", 1, 1], ["h1/a", "h2"]),
        (["<=", "$facts.row", 5, 7], ["h1/a", "h2"]),
        (["<", "$facts.row", "$vcpus_total"], ["h1/a"]),
        (["=", 1, "$facts.row", 1], ["h1/a", "h2"]),
        (["=", "$facts.row"], []),
        (["or", "$facts.big"], ["h1/b"]),
        (["and", "$facts.big"], ["h1/a", "h1/b", "h2"]),
        (["not", "$facts.big", ["=", 1, 1]], []),
        (["=", ["<", "$num_instances", 3], True], ["h1/b", "h2"]),
        ([">", "$metrics.heat", 0], []),
        (["=", "$facts.row", "$facts.row"], ["h1/a", "h1/b"]),
        (["=", 1, 2], []),
        ([], ALL),
        (None, ALL),
    ],
)
def test_hosts_for_which_the_query_is_true_pass(query, expected):
    assert passing_hosts("JsonFilter", NODES, hints={"query": query}) == expected
    assert passing_hosts("JsonFilter", NODES, hints={"query": json.dumps(query)}) == expected
