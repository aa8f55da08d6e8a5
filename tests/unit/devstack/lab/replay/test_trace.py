# SPDX-License-Identifier: Apache-2.0
"""Request traces: meaning of a row, errors that name the line of a malformed one, and generated traces."""

import itertools
from collections import Counter

import pytest

from devstack.lab.replay.trace import BATCH_SIZES, BIN_S, FLAVORS, LONGEST_S, SHORTEST_S, synthetic_trace, trace_file
from devstack.workload import TraceError
from tests.unit.devstack.lab.replay.traces import HEADER, read_all, write

GOOD = "300,7,2,3.5,900,1200,0"


@pytest.mark.parametrize("name", ["trace.csv", "trace.csv.gz"])
def test_row_is_read_as_a_server(tmp_path, name):
    path = write(tmp_path / name, "0,6,1,0.75,0,0,0", GOOD, "600,8,4,7,300,300,1")
    first, second, third = read_all(trace_file(path))
    assert (first.arrives, first.batch, first.vcpus, first.memory_mb) == (0, "6", 1, 768)
    assert first.ends > first.arrives, "it must end after it arrives, however short its lifetime"
    assert (second.vcpus, second.memory_mb) == (2, 3584)
    assert 300 + 900 <= second.ends <= 300 + 1200
    assert third.ends is None, "a server that runs at the trace's end does not end in it"


def test_equal_lifetimes_are_spread_over_their_bounds_reproducibly(tmp_path):
    trace = trace_file(write(tmp_path / "t.csv", *["0,6,1,1,1000,2000,0"] * 200))
    ends = [server.ends for server in read_all(trace)]
    assert len(set(ends)) == 200
    assert 1400 < sum(ends) / len(ends) < 1600
    assert [server.ends for server in read_all(trace)] == ends


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("x,7,2,3.5,900,900,0", "'x'"),
        ("300,7,2,3.5,900", "NoneType"),
        ("300,7,0,3.5,900,900,0", "vcpu is 0"),
        ("300,7,two,3.5,900,900,0", "'two'"),
        ("300,7,2,-1,900,900,0", "mem_gb is -1"),
        ("300,7,2,nan,900,900,0", "mem_gb is nan"),
        ("300,7,2,inf,900,900,0", "mem_gb is inf"),
        ("300,7,2,0.0001,900,900,0", "mem_gb is 0.0001"),
        ("300,7,9999999999,1,900,900,0", "vcpu is 9999999999"),
        ("300,7,2,3.5,900,600,0", "dur_hi_s is 600"),
        ("300,7,2,3.5,900,900,maybe", "censored is 'maybe'"),
        ("299,7,2,3.5,900,900,0", "before the row above"),
        ("300,7,2,3.5,900,900," + "0" * 200_000, "field"),
    ],
)
def test_malformed_row_error_names_its_line(tmp_path, row, message):
    servers = trace_file(write(tmp_path / "t.csv", GOOD, row)).servers()
    # It is read as a stream: rows above are returned first
    assert next(servers).vcpus == 2
    with pytest.raises(TraceError, match=rf"t\.csv, line 3: .*{message}"):
        next(servers)


def test_file_that_is_not_a_trace_is_refused(tmp_path):
    with pytest.raises(TraceError, match="lacks the columns mem_gb, censored"):
        read_all(trace_file(write(tmp_path / "t.csv", header=HEADER.replace("mem_gb,", "").replace(",censored", ""))))
    with pytest.raises(TraceError, match="cannot be read"):
        read_all(trace_file(tmp_path / "absent.csv"))
    torn = write(tmp_path / "t.csv.gz", *[GOOD] * 5000)
    torn.write_bytes(torn.read_bytes()[:60])
    with pytest.raises(TraceError, match="cannot be read"):
        read_all(trace_file(torn))
    (tmp_path / "binary.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(TraceError, match="cannot be read"):
        read_all(trace_file(tmp_path / "binary.csv"))


def test_trace_can_be_read_repeatedly_and_depends_on_its_seed():
    trace = synthetic_trace(300)
    assert list(trace.servers()) == list(trace.servers())
    assert list(trace.servers()) != list(synthetic_trace(300, seed=2).servers())
    assert (trace.name, synthetic_trace(1, seed=2).name) == ("synthetic-1", "synthetic-2")


def test_trace_has_exactly_the_number_of_servers():
    assert [len(list(synthetic_trace(count).servers())) for count in (0, 1, 7, 500)] == [0, 1, 7, 500]


def test_servers_arrive_in_order_and_end_within_bounds():
    servers = list(synthetic_trace(2000).servers())
    assert all(first.arrives <= second.arrives for first, second in itertools.pairwise(servers))
    for server in servers:
        assert server.arrives % BIN_S == 0
        assert SHORTEST_S <= server.ends - server.arrives <= LONGEST_S
        assert (server.vcpus, server.memory_mb) in {(vcpus, memory) for vcpus, memory, _ in FLAVORS}


def test_servers_of_a_batch_are_alike():
    batches = {}
    for server in synthetic_trace(2000).servers():
        batches.setdefault(server.batch, []).append(server)
    assert all(len({(s.arrives, s.vcpus, s.memory_mb) for s in batch}) == 1 for batch in batches.values())
    sizes = Counter(len(batch) for batch in list(batches.values())[:-1])
    assert set(sizes) <= {size for size, _ in BATCH_SIZES}
    assert sizes[1] == max(sizes.values())
