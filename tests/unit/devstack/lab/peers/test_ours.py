# SPDX-License-Identifier: Apache-2.0
"""gantt's side of the comparison of candidates."""

from devstack.lab import hosts
from devstack.lab.peers.ours import LIMIT, candidates_subject


def test_candidates_are_hosts_with_free_capacity_up_to_the_limit():
    empty = candidates_subject(hosts.table(LIMIT + 50, max_load=0.0))(0)
    assert len(empty) == len(set(empty)) == LIMIT
    full_table = hosts.table(60, max_load=0.0)
    for row in range(60):
        full_table.services.enabled[row] = False
    assert candidates_subject(full_table)(0) == []
