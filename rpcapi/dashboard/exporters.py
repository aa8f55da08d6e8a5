# SPDX-License-Identifier: Apache-2.0
"""Replica lag of each daemon's workers, from the daemons' metrics."""

import http.client
import itertools
import urllib.request
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple
from urllib.parse import urlsplit

from prometheus_client.parser import text_string_to_metric_families

from rpcapi.dashboard.cached import Cached

SECONDS = 3.0
MAX_PAGE = 4 << 20  # bytes
PARALLEL = 8
LAG, SILENCE, EPOCH = "gantt_replica_lag_entries", "gantt_replica_silence_seconds", "gantt_replica_epoch"


class ReplicaLag(NamedTuple):
    """Lag of one worker in one partition; ``why`` is the error of a daemon that did not answer."""

    daemon: str
    worker: str = ""
    partition: str = ""
    lag_entries: float | None = None
    silence_seconds: float | None = None
    epoch: float | None = None
    why: str = ""


class Exporters:
    def __init__(self, urls: Sequence[str], refresh_interval: float) -> None:
        self._urls = urls
        # One entry per worker and partition, or per daemon that does not answer.
        self.replica_lags = Cached(self._read, refresh_interval)

    def _read(self) -> Sequence[ReplicaLag]:
        with ThreadPoolExecutor(PARALLEL) as threads:
            return [entry for entries in threads.map(_read_daemon, self._urls) for entry in entries]


def _read_daemon(url: str) -> Sequence[ReplicaLag]:
    daemon = urlsplit(url).netloc.rpartition("@")[2]
    try:
        with urllib.request.urlopen(url, timeout=SECONDS) as answer:  # noqa: S310 - the operator's configuration
            page = answer.read(MAX_PAGE + 1)
        if len(page) > MAX_PAGE:
            return [ReplicaLag(daemon, why=f"its page of metrics has more than {MAX_PAGE} bytes")]
        return _parse(daemon, page.decode())
    except (OSError, ValueError, http.client.HTTPException) as error:
        return [ReplicaLag(daemon, why=str(error) or type(error).__name__)]


def _parse(daemon: str, page: str) -> Sequence[ReplicaLag]:
    figures: dict[tuple[str, str], dict[str, float]] = {}
    for sample in itertools.chain.from_iterable(family.samples for family in text_string_to_metric_families(page)):
        if sample.name in (LAG, SILENCE, EPOCH):
            place = sample.labels.get("pid", ""), sample.labels.get("partition", "")
            figures.setdefault(place, {})[sample.name] = sample.value
    if not figures:
        return [ReplicaLag(daemon, why="it exports nothing about a replica")]
    return [
        ReplicaLag(daemon, *place, values.get(LAG), values.get(SILENCE), values.get(EPOCH))
        for place, values in sorted(figures.items())
    ]
