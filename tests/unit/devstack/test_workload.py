# SPDX-License-Identifier: Apache-2.0
"""Requests for servers: the built-in mix, generated ones, and a trace with errors that name the line."""

import gzip
from collections import Counter
from pathlib import Path

import pytest

from devstack import workload
from devstack.workload import TraceError
from tests.support.clusters.fill import generate_requests

FLAVORS = {name: {"VCPU": share} for name, share in workload.MIX}
HEAD = "split,bin_ts,batch,vm,vcpu,mem_gb\n"


def rows(*servers: tuple[int, int, float]) -> str:
    return HEAD + "".join(
        f"a,0,{batch},{number},{vcpu},{memory}\n" for number, (batch, vcpu, memory) in enumerate(servers)
    )


@pytest.mark.parametrize("servers", [1, 7, 10, 50, 101])
def test_mix_has_the_requested_number_of_servers_in_its_shares(servers: int) -> None:
    counts = Counter({request.flavor: request.count for request in workload.builtin_requests(servers, FLAVORS)})
    assert counts.total() == servers
    if servers % 10 == 0:
        assert counts == {name: share * servers // 10 for name, share in workload.MIX}


def test_generated_requests_are_reproducible() -> None:
    requests = generate_requests(400, seed=7)
    assert sum(request.count for request in requests) == 400
    assert requests == generate_requests(400, seed=7) != generate_requests(400, seed=8)


@pytest.mark.parametrize("name", ["trace.csv", "trace.csv.gz"])
def test_servers_of_one_batch_and_shape_are_one_request(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    raw = rows((1, 2, 1.75), (1, 2, 1.75), (1, 4, 7), (2, 4, 7), (3, 1, 1)).encode()
    path.write_bytes(gzip.compress(raw) if path.suffix == ".gz" else raw)
    requests = [(request.flavor, request.resources, request.count) for request in workload.from_trace(path, 4)]
    assert requests == [
        ("trace-1", {"VCPU": 2, "MEMORY_MB": 1792}, 2),
        ("trace-1", {"VCPU": 4, "MEMORY_MB": 7168}, 1),
        ("trace-2", {"VCPU": 4, "MEMORY_MB": 7168}, 1),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "lacks the columns batch, mem_gb, vcpu"),
        ("batch,vcpu\n1,2\n", "lacks the columns mem_gb"),
        (HEAD, "contains no request"),
        (rows((1, 2, 1)) + "a,0,1,1,two,1\n", "line 3: vcpu or mem_gb is not a number"),
        (rows((1, 2, 1)) + "a,0,1\n", "line 3: vcpu or mem_gb is not a number"),
        (rows((1, 0, 1)), "line 2: vcpu and mem_gb must be more than 0"),
        (rows((1, 1, -1)), "line 2: vcpu and mem_gb must be more than 0"),
    ],
)
def test_malformed_trace_error_names_the_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "trace.csv"
    path.write_text(text)
    with pytest.raises(TraceError, match=message) as error_info:
        workload.from_trace(path, 10)
    assert str(path) in str(error_info.value)


def test_unreadable_trace_error_names_the_file(tmp_path: Path) -> None:
    for name, raw in (("absent.csv", None), ("torn.csv.gz", gzip.compress(rows((1, 1, 1)).encode())[:-9])):
        if raw is not None:
            (tmp_path / name).write_bytes(raw)
        with pytest.raises(TraceError, match=name):
            workload.from_trace(tmp_path / name, 10)
