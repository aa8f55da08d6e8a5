# SPDX-License-Identifier: Apache-2.0
"""Reading a request trace: meaning of a row, and errors that name the line of a malformed one."""

import pytest

from devstack.lab.replay.synthetic import SyntheticTrace
from devstack.lab.replay.trace import TraceFile
from devstack.workload import TraceError
from tests.unit.devstack.lab.replay.traces import HEADER, read_all, write

GOOD = "300,7,2,3.5,900,1200,0"


@pytest.mark.parametrize("name", ["trace.csv", "trace.csv.gz"])
def test_row_is_read_as_a_server(tmp_path, name):
    path = write(tmp_path / name, "0,6,1,0.75,0,0,0", GOOD, "600,8,4,7,300,300,1")
    first, second, third = read_all(TraceFile(path))
    assert (first.arrives, first.batch, first.vcpus, first.memory_mb) == (0, "6", 1, 768)
    assert first.ends > first.arrives, "it must end after it arrives, however short its lifetime"
    assert (second.vcpus, second.memory_mb) == (2, 3584)
    assert 300 + 900 <= second.ends <= 300 + 1200
    assert third.ends is None, "a server that runs at the trace's end does not end in it"


def test_equal_lifetimes_are_spread_over_their_bounds_reproducibly(tmp_path):
    trace = TraceFile(write(tmp_path / "t.csv", *["0,6,1,1,1000,2000,0"] * 200))
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
    servers = TraceFile(write(tmp_path / "t.csv", GOOD, row)).servers()
    # It is read as a stream: rows above are returned first
    assert next(servers).vcpus == 2
    with pytest.raises(TraceError, match=rf"t\.csv, line 3: .*{message}"):
        next(servers)


def test_file_that_is_not_a_trace_is_refused(tmp_path):
    with pytest.raises(TraceError, match="lacks the columns mem_gb, censored"):
        read_all(TraceFile(write(tmp_path / "t.csv", header=HEADER.replace("mem_gb,", "").replace(",censored", ""))))
    with pytest.raises(TraceError, match="cannot be read"):
        read_all(TraceFile(tmp_path / "absent.csv"))
    torn = write(tmp_path / "t.csv.gz", *[GOOD] * 5000)
    torn.write_bytes(torn.read_bytes()[:60])
    with pytest.raises(TraceError, match="cannot be read"):
        read_all(TraceFile(torn))
    (tmp_path / "binary.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(TraceError, match="cannot be read"):
        read_all(TraceFile(tmp_path / "binary.csv"))


def test_synthetic_trace_is_reproducible():
    servers = read_all(SyntheticTrace(2000, seed=3))
    assert len(servers) == 2000
    assert servers == read_all(SyntheticTrace(2000, seed=3))
    assert servers != read_all(SyntheticTrace(2000, seed=4))
    arrivals = [server.arrives for server in servers]
    assert arrivals == sorted(arrivals)
    lifetimes = sorted(server.ends - server.arrives for server in servers)
    assert lifetimes[0] > 0
    assert lifetimes[1000] < sum(lifetimes) / 2000 / 2, "most are short-lived, a few long-lived"
    assert max(sum(server.batch == batch for server in servers) for batch in {server.batch for server in servers}) > 1
