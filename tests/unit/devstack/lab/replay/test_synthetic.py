# SPDX-License-Identifier: Apache-2.0
"""The generated trace."""

import itertools
from collections import Counter

from devstack.lab.replay.synthetic import BATCH_SIZES, BIN_S, FLAVORS, LONGEST_S, SyntheticTrace
from devstack.lab.replay.trace import SHORTEST_S


def test_trace_can_be_read_repeatedly_and_depends_on_its_seed():
    trace = SyntheticTrace(300)
    assert list(trace.servers()) == list(trace.servers())
    assert list(trace.servers()) != list(SyntheticTrace(300, seed=2).servers())
    assert (trace.name, SyntheticTrace(1, seed=2).name) == ("synthetic-1", "synthetic-2")


def test_trace_has_exactly_the_number_of_servers():
    assert [len(list(SyntheticTrace(count).servers())) for count in (0, 1, 7, 500)] == [0, 1, 7, 500]


def test_servers_arrive_in_order_and_end_within_bounds():
    servers = list(SyntheticTrace(2000).servers())
    assert all(first.arrives <= second.arrives for first, second in itertools.pairwise(servers))
    for server in servers:
        assert server.arrives % BIN_S == 0
        assert SHORTEST_S <= server.ends - server.arrives <= LONGEST_S
        assert (server.vcpus, server.memory_mb) in {(vcpus, memory) for vcpus, memory, _ in FLAVORS}


def test_servers_of_a_batch_are_alike():
    batches = {}
    for server in SyntheticTrace(2000).servers():
        batches.setdefault(server.batch, []).append(server)
    assert all(len({(s.arrives, s.vcpus, s.memory_mb) for s in batch}) == 1 for batch in batches.values())
    sizes = Counter(len(batch) for batch in list(batches.values())[:-1])
    assert set(sizes) <= {size for size, _ in BATCH_SIZES}
    assert sizes[1] == max(sizes.values())
