# SPDX-License-Identifier: Apache-2.0
"""Markers of the decision record in Redis."""

import pytest

from devstack.servers.redis import RedisServer
from rpcapi import errors
from scheduler_svc.store.redis import RedisStore
from tests.support.store.backends import redis_partition


@pytest.mark.parametrize("marker", ["", "1", "a-b", "1-1\n", "(1-1", f"1-{'9' * 20}", "-"])
def test_text_that_is_no_marker_is_refused_before_redis_reads_it(marker: str) -> None:
    store = RedisStore("redis://127.0.0.1:1/0", "p1")
    with pytest.raises(errors.InvalidRequest, match="is not a decision marker"):
        store.list_decisions(marker, 10)


def test_pages_contain_every_decision_once(redis_server: RedisServer) -> None:
    store = redis_partition(redis_server).store
    for number in range(5):
        store.record_decision(f"r{number}", {"number": number})
    numbers, marker = [], None
    for size in (2, 2, 1):
        page, marker = store.list_decisions(marker, 2)
        assert len(page) == size
        numbers += [document["number"] for _request, document in page]
    assert (numbers, marker) == (list(range(5)), None)
    store.close()


def test_decision_whose_entry_was_trimmed_is_unknown(redis_server: RedisServer) -> None:
    store = redis_partition(redis_server).store
    store.record_decision("r1", {"number": 1})
    redis_server.client().xtrim(f"gantt:{{p:{store.partition}}}:decisions", maxlen=0, approximate=False)
    with pytest.raises(errors.UnknownDecision):
        store.find_decision("r1")
    store.close()
