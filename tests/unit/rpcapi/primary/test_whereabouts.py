# SPDX-License-Identifier: Apache-2.0
"""Whom to believe of those that tell where the primary is."""

from typing import Any

import pytest
import redis

from rpcapi.conf import redis_nodes
from rpcapi.primary.whereabouts import Sentinels, SlotOwner, find

AWAY = redis.ConnectionError("away")
OLD, NEW = ("old", 1), ("new", 1)


def scripted(kind: type, url: str, *more: Any, **answers: Any) -> Any:
    """Return whereabouts of hosts that answer as told, and note who is asked."""

    class Scripted(kind):  # type: ignore[misc,valid-type]
        def _ask(self, url: str) -> Any:
            name = url.partition("@")[2].partition(":")[0]
            self.asked.append(name)
            if isinstance(self.answers[name], Exception):
                raise self.answers[name]
            return self.answers[name]

    Scripted.answers, Scripted.asked = answers, []
    return Scripted(redis_nodes.parse(url, "store"), *more)


def sentinels(**answers: Any) -> Any:
    logins = "?sentinel_username=a&sentinel_password=b"
    return scripted(Sentinels, f"redis+sentinel://{','.join(answers)}/s{logins}", **answers)


def cluster(**answers: Any) -> Any:
    return scripted(SlotOwner, f"redis+cluster://a:b@{','.join(answers)}", "gantt:{p:x}:", **answers)


def test_newest_word_of_the_sentinels_is_believed() -> None:
    assert sentinels(h1=(1, OLD), h2=(2, NEW), h3=(2, NEW)).primary() == NEW
    assert sentinels(h1=(2, NEW), h2=(1, OLD), h3=(1, OLD)).primary() == NEW


def test_more_than_half_are_enough() -> None:
    asked = sentinels(h1=(1, OLD), h2=(1, OLD), h3=(1, OLD))
    asked.primary()
    assert asked.asked == ["h1", "h2"]


def test_silent_sentinels_are_asked_last_the_next_time() -> None:
    asked = sentinels(h1=AWAY, h2=(1, NEW), h3=(1, NEW))
    assert asked.primary() == NEW
    asked.asked.clear()
    assert asked.primary() == NEW
    assert asked.asked == ["h2", "h3"]


def test_one_sentinel_that_is_left_is_believed() -> None:
    assert sentinels(h1=AWAY, h2=AWAY, h3=(3, NEW)).primary() == NEW


def test_when_no_sentinel_answers_each_is_named() -> None:
    with pytest.raises(redis.ConnectionError, match=r"the primary of service 's'.*h1:26379: away; h2:26379: away"):
        sentinels(h1=AWAY, h2=AWAY).primary()


def test_operator_is_told_when_another_took_over(caplog: pytest.LogCaptureFixture) -> None:
    asked = sentinels(h1=(1, OLD))
    asked.primary()
    asked.primary()
    assert caplog.messages == []
    asked.answers["h1"] = (2, NEW)
    asked.primary()
    assert caplog.messages == ["The primary of service 's' is now new:1"]


def test_nodes_of_a_cluster_are_asked_in_turn() -> None:
    asked = cluster(h1=OLD, h2=NEW)
    assert [asked.primary() for _ in range(3)] == [OLD, NEW, OLD]


def test_node_that_is_away_or_knows_no_owner_is_passed_over() -> None:
    assert cluster(h1=AWAY, h2=None, h3=NEW).primary() == NEW
    with pytest.raises(redis.ConnectionError, match=r"the primary of slot \d+ is"):
        cluster(h1=AWAY, h2=None).primary()


def test_sentinels_and_nodes_that_are_not_there() -> None:
    for url in ("redis+sentinel://127.0.0.1:1/s", "redis+cluster://127.0.0.1:1"):
        with pytest.raises(redis.ConnectionError, match=r"127\.0\.0\.1:1"):
            find(redis_nodes.parse(url, "store"), "gantt:{p:x}:").primary()
