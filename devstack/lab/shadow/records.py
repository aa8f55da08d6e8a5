# SPDX-License-Identifier: Apache-2.0
"""Decision records in a file, as written by ``gantt decision export``; docs/shadow.md documents the format."""

import contextlib
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO

MAX_LINE_BYTES = 8 * 2**20  # a decision about a thousand instances has some hundred kilobytes
REFUSED = "refused"
OUTCOMES = ("selected", "shadow", REFUSED)


class RecordError(Exception):
    """Raised when a file of decisions cannot be read; the message names the file and the line."""


@dataclass(frozen=True, slots=True)
class ScoredHost:
    """Score of one of the best hosts, with each weigher's part."""

    score: float
    weights: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DecisionRow:
    """Decision about one request: hosts by consumer, rejected hosts by reason, best hosts."""

    hosts: Mapping[str, str | None] = field(default_factory=dict)
    refused: bool = False
    reasons: Mapping[str, int] = field(default_factory=dict)
    why: str = ""
    best: Mapping[str, ScoredHost] = field(default_factory=dict)
    host_count: int | None = None

    def decides(self, consumer: str) -> bool:
        """Whether the decision is about a consumer: a refusal need not name the request's instances."""
        return self.refused or consumer in self.hosts

    def host(self, consumer: str) -> str | None:
        """Return a consumer's host, None if refused. Raises KeyError for an unknown consumer."""
        return None if self.refused else self.hosts[consumer]


class DecisionRecords(contextlib.AbstractContextManager["DecisionRecords"]):
    """Decisions of a file by request id; only their offsets are kept in memory."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offsets: dict[str, list[tuple[int, int]]] = defaultdict(list)
        try:
            self._file: BinaryIO = path.open("rb")
        except OSError as why:
            raise RecordError(f"The decisions {path} cannot be read: {why}") from why
        try:
            self._index()
        except BaseException:
            self._file.close()
            raise

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def __iter__(self) -> Iterator[str]:
        return iter(self._offsets)

    def find(self, request_id: str) -> DecisionRow:
        """Return the decision about a request, empty without one; the last record of each consumer wins."""
        decisions = [self._read(offset, line) for offset, line in self._offsets.get(request_id, ())]
        if not decisions:
            return DecisionRow()
        hosts = {consumer: host for decision in decisions for consumer, host in decision.hosts.items()}
        return replace(decisions[-1], hosts=hosts)

    def _index(self) -> None:
        line = 0
        while True:
            offset = self._file.tell()
            text = self._file.readline(MAX_LINE_BYTES + 1)
            if not text:
                break
            line += 1
            if text.strip():
                self._offsets[self._parse(text, line)[0]].append((offset, line))
        if not self._offsets:
            raise RecordError(f"{self._path} contains no decision")

    def _read(self, offset: int, line: int) -> DecisionRow:
        self._file.seek(offset)
        return self._parse(self._file.readline(MAX_LINE_BYTES + 1), line)[1]

    def _parse(self, text: bytes, line: int) -> tuple[str, DecisionRow]:
        try:
            if len(text) > MAX_LINE_BYTES:
                raise ValueError(f"the line has more than {MAX_LINE_BYTES} bytes")
            document = json.loads(text)
            return _text(document, "request_id"), _parse_decision(document)
        except (ValueError, TypeError, KeyError, AttributeError) as why:
            reason = f"it lacks {why}" if isinstance(why, KeyError) else str(why)
            raise RecordError(f"{self._path}, line {line} is not a decision record: {reason}") from why


def _parse_decision(document: Mapping[str, Any]) -> DecisionRow:
    outcome = document["outcome"]
    if outcome not in OUTCOMES:
        raise ValueError(f"outcome is {outcome!r}, not one of {', '.join(OUTCOMES)}")
    hosts = {_text(item, "consumer"): item.get("host") for item in _list(document, "verdicts")}
    refused = outcome == REFUSED
    if not refused and not (hosts and all(isinstance(host, str) and host for host in hosts.values())):
        raise ValueError("the verdicts do not name a host for each consumer")
    best = {
        _text(item, "name"): ScoredHost(
            float(item["score"]), {str(key): float(v) for key, v in (item.get("weights") or {}).items()}
        )
        for item in _list(document, "best")
    }
    host_count = document.get("hosts")
    return DecisionRow(
        hosts=hosts,
        refused=refused,
        reasons={str(reason): int(count) for reason, count in (document.get("reasons") or {}).items()},
        why=str(document.get("why") or ""),
        best=best,
        host_count=None if host_count is None else int(host_count),
    )


def _text(document: Mapping[str, Any], key: str) -> str:
    value = document[key]
    if not isinstance(value, str) or not value:
        raise ValueError(f"{key} is {value!r}, not a non-empty string")
    return value


def _list(document: Mapping[str, Any], key: str) -> Sequence[Mapping[str, Any]]:
    value = document.get(key) or []
    if not isinstance(value, list):
        raise ValueError(f"{key} is not a list")
    return value
