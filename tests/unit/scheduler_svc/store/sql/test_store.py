# SPDX-License-Identifier: Apache-2.0
"""The SQL backend: the choice of the database, and waiting for news."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from rpcapi import errors
from scheduler_svc.store.sql import store as sql_store
from scheduler_svc.store.sql.postgresql import Postgresql
from scheduler_svc.store.sql.sqlite import Sqlite
from scheduler_svc.store.sql.store import SqlStore
from tests.support.store.databases import sql_partition


def test_url_selects_the_database(run_folder: Path) -> None:
    for url, dialect in ((f"sqlite:///{run_folder / 's.sqlite'}", Sqlite), ("postgresql://u@h/db", Postgresql)):
        store = SqlStore(url, "p1")
        assert isinstance(store._dialect, dialect)
        store.close()


def test_unreadable_url_is_refused_without_showing_it() -> None:
    with pytest.raises(errors.BadConfiguration) as caught:
        SqlStore("secret", "p1")
    assert "secret" not in str(caught.value)


def test_follow_without_news_polls_at_growing_intervals(run_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    partition = sql_partition(f"sqlite:///{run_folder / 's.sqlite'}")
    store = partition.store
    position = store.snapshot().position
    seconds, pauses = [100.0], []

    def await_news(name: str, remaining: float, pause: float) -> None:
        pauses.append(pause)
        seconds[0] += pause

    monkeypatch.setattr(sql_store, "time", SimpleNamespace(monotonic=lambda: seconds[0]))
    monkeypatch.setattr(store._dialect, "await_news", await_news)
    assert store.follow(position, 200) == []
    assert pauses[:5] == [0.005, 0.01, 0.02, 0.04, 0.05]
    assert max(pauses) == sql_store.LONGEST_PAUSE
    assert seconds[0] - 100.0 == pytest.approx(0.2, abs=sql_store.LONGEST_PAUSE)
    store.close()


def test_follow_without_waiting_returns_at_once(run_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = sql_partition(f"sqlite:///{run_folder / 's.sqlite'}").store

    def await_news(*arguments: object) -> None:
        raise AssertionError("waited")

    monkeypatch.setattr(store._dialect, "await_news", await_news)
    assert store.follow(store.snapshot().position, 0) == []
    store.close()
