# SPDX-License-Identifier: Apache-2.0
"""Decision records in a file: a JSON object a line, as ``gantt decision export`` writes them; see docs/shadow.md."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

MOST_BYTES = 8 * 2**20  # a line: a decision about a thousand instances has some hundred kilobytes
REFUSED = "refused"
OUTCOMES = ("selected", "shadow", REFUSED)


class RecordError(Exception):
    """Raised when a file of decisions cannot be read; the message names the file and the line."""


@dataclass(frozen=True, slots=True)
class Scored:
    """One of the best hosts, by the decider's own score, and what each weigher gave to it."""

    score: float
    weights: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Decided:
    """What became of one request: a host for each consumer that got one, and why.

    ``reasons`` counts hosts that fell to each reason, ``looked_at`` is how many hosts there were (None: not told).
    """

    hosts: Mapping[str, str | None]
    refused: bool
    reasons: Mapping[str, int]
    why: str
    best: Mapping[str, Scored]
    looked_at: int | None

    def host(self, consumer: str) -> str | None:
        """Return the host of a consumer, None where it was refused; raises KeyError where it was not asked for."""
        return None if self.refused else self.hosts[consumer]


class Records:
    """One file's decisions by request id; only where each lies is kept in memory."""

    def __init__(self, path: Path) -> None:
        """Go through the file once; raises RecordError for the first line that is no decision record."""
        self._path = path
        self._places: dict[str, list[tuple[int, int]]] = defaultdict(list)
        try:
            self._file: BinaryIO = path.open("rb")
        except OSError as why:
            raise RecordError(f"The decisions {path} cannot be read: {why}") from why
        try:
            self._index()
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> "Records":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def __contains__(self, request_id: str) -> bool:
        return request_id in self._places

    def __iter__(self) -> Iterator[str]:
        """Yield the request ids, in the order in which they were decided first."""
        return iter(self._places)

    def find(self, request_id: str) -> Decided:
        """Return what became of a request: of several records about a consumer the last counts; raises KeyError."""
        found = [self._read(offset, line) for offset, line in self._places[request_id]]
        last = found[-1]
        hosts = {consumer: host for one in found for consumer, host in one.hosts.items()}
        return Decided(hosts, last.refused, last.reasons, last.why, last.best, last.looked_at)

    def _index(self) -> None:
        line = 0
        while True:
            offset = self._file.tell()
            text = self._file.readline(MOST_BYTES + 1)
            if not text:
                break
            line += 1
            if text.strip():
                self._places[self._parsed(text, line)[0]].append((offset, line))
        if not self._places:
            raise RecordError(f"{self._path} holds no decision")

    def _read(self, offset: int, line: int) -> Decided:
        self._file.seek(offset)
        return self._parsed(self._file.readline(MOST_BYTES + 1), line)[1]

    def _parsed(self, text: bytes, line: int) -> tuple[str, Decided]:
        try:
            if len(text) > MOST_BYTES:
                raise ValueError(f"it has more than {MOST_BYTES} bytes")
            told = json.loads(text)
            return _text(told, "request_id"), _decided(told)
        except (ValueError, TypeError, KeyError, AttributeError) as why:
            said = f"it lacks {why}" if isinstance(why, KeyError) else str(why)
            raise RecordError(f"{self._path}, line {line} is no decision record: {said}") from why


def _decided(told: Mapping[str, Any]) -> Decided:
    outcome = told["outcome"]
    if outcome not in OUTCOMES:
        raise ValueError(f"its outcome is {outcome!r}, none of {', '.join(OUTCOMES)}")
    hosts = {_text(one, "consumer"): one.get("host") for one in _list(told, "verdicts")}
    refused = outcome == REFUSED
    if not refused and not (hosts and all(isinstance(host, str) and host for host in hosts.values())):
        raise ValueError("it tells of hosts, but not of one for each consumer")
    best = {
        _text(one, "name"): Scored(
            float(one["score"]), {str(key): float(v) for key, v in (one.get("weights") or {}).items()}
        )
        for one in _list(told, "best")
    }
    looked_at = told.get("hosts")
    return Decided(
        hosts=hosts,
        refused=refused,
        reasons={str(reason): int(count) for reason, count in (told.get("reasons") or {}).items()},
        why=str(told.get("why") or ""),
        best=best,
        looked_at=None if looked_at is None else int(looked_at),
    )


def _text(told: Mapping[str, Any], key: str) -> str:
    value = told[key]
    if not isinstance(value, str) or not value:
        raise ValueError(f"{key} is {value!r}, no text")
    return value


def _list(told: Mapping[str, Any], key: str) -> Sequence[Mapping[str, Any]]:
    value = told.get(key) or []
    if not isinstance(value, list):
        raise ValueError(f"{key} is no list")
    return value
