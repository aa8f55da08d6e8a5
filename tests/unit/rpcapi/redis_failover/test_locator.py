# SPDX-License-Identifier: Apache-2.0
"""Location of the primary through sentinels and cluster nodes."""

from typing import Any

import pytest
import redis

from rpcapi.conf import redis_url
from rpcapi.redis_failover.locator import SentinelLocator, SlotOwnerLocator, make_locator

UNREACHABLE = redis.ConnectionError("unreachable")
OLD, NEW = ("old", 1), ("new", 1)


def make_scripted(kind: type, url: str, *arguments: Any, **answers: Any) -> Any:
    """Return a locator of hosts with scripted answers; it records the queried hosts."""

    class ScriptedLocator(kind):  # type: ignore[misc,valid-type]
        def _ask(self, url: str) -> Any:
            name = url.partition("@")[2].partition(":")[0]
            self.queried.append(name)
            if isinstance(self.answers[name], Exception):
                raise self.answers[name]
            return self.answers[name]

    ScriptedLocator.answers, ScriptedLocator.queried = answers, []
    return ScriptedLocator(redis_url.parse_nodes(url, "store"), *arguments)


def sentinels(**answers: Any) -> Any:
    logins = "?sentinel_username=a&sentinel_password=b"
    return make_scripted(SentinelLocator, f"redis+sentinel://{','.join(answers)}/s{logins}", **answers)


def cluster(**answers: Any) -> Any:
    return make_scripted(SlotOwnerLocator, f"redis+cluster://a:b@{','.join(answers)}", "gantt:{p:x}:", **answers)


def test_newest_configuration_of_the_sentinels_wins() -> None:
    assert sentinels(h1=(1, OLD), h2=(2, NEW), h3=(2, NEW)).primary() == NEW
    assert sentinels(h1=(2, NEW), h2=(1, OLD), h3=(1, OLD)).primary() == NEW


def test_query_ends_after_a_majority_of_sentinels() -> None:
    queried = sentinels(h1=(1, OLD), h2=(1, OLD), h3=(1, OLD))
    queried.primary()
    assert queried.queried == ["h1", "h2"]


def test_unreachable_sentinels_are_queried_last() -> None:
    queried = sentinels(h1=UNREACHABLE, h2=(1, NEW), h3=(1, NEW))
    assert queried.primary() == NEW
    queried.queried.clear()
    assert queried.primary() == NEW
    assert queried.queried == ["h2", "h3"]


def test_only_reachable_sentinel_is_used() -> None:
    assert sentinels(h1=UNREACHABLE, h2=UNREACHABLE, h3=(3, NEW)).primary() == NEW


def test_error_lists_all_unreachable_sentinels() -> None:
    with pytest.raises(
        redis.ConnectionError, match=r"the primary of service 's'.*h1:26379: unreachable; h2:26379: unreachable"
    ):
        sentinels(h1=UNREACHABLE, h2=UNREACHABLE).primary()


def test_change_of_the_primary_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    queried = sentinels(h1=(1, OLD))
    queried.primary()
    queried.primary()
    assert caplog.messages == []
    queried.answers["h1"] = (2, NEW)
    queried.primary()
    assert caplog.messages == ["The primary of service 's' is now new:1"]


def test_cluster_nodes_are_queried_in_turn() -> None:
    queried = cluster(h1=OLD, h2=NEW)
    assert [queried.primary() for _ in range(3)] == [OLD, NEW, OLD]


def test_unreachable_node_and_node_without_owner_are_skipped() -> None:
    assert cluster(h1=UNREACHABLE, h2=None, h3=NEW).primary() == NEW
    with pytest.raises(redis.ConnectionError, match=r"the primary of slot \d+ cannot be located"):
        cluster(h1=UNREACHABLE, h2=None).primary()


def test_unreachable_seeds_raise_connection_errors() -> None:
    for url in ("redis+sentinel://127.0.0.1:1/s", "redis+cluster://127.0.0.1:1"):
        with pytest.raises(redis.ConnectionError, match=r"127\.0\.0\.1:1"):
            make_locator(redis_url.parse_nodes(url, "store"), "gantt:{p:x}:").primary()
