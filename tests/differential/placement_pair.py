# SPDX-License-Identifier: Apache-2.0
"""OpenStack Placement and our API with the same records, and one form for the answers of both."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from devstack.lab.peers.side import PeerProcess
from tests.differential import placement_clouds
from tests.differential.placement_writes import Question
from tests.support.scheduler.placement import PlacementApi

FIRST_MINOR_WITH_CODES = 23
ANY = "any"
ROLES = "admin,service"  # the second one may reshape


class ComparableAnswer(NamedTuple):
    """What clients may rely on: not the order of lists, times, and the wording of errors."""

    status: int
    headers: tuple[tuple[str, str | None], ...]
    document: Any


class PlacementPair:
    """Placement in its process, and our API."""

    def __init__(self, peer: PeerProcess, api: PlacementApi) -> None:
        self._peer = peer
        self.api = api

    def load(self, documents: list[dict[str, Any]]) -> None:
        """Create providers in our API, and replace those of Placement by them, with the same generations."""
        placement_clouds.load(self.api, documents)
        for document in documents:
            path = f"/resource_providers/{document['uuid']}"
            document["generation"] = self.api.call("GET", path).json["generation"]
        self._peer.ask("load", providers=documents)

    def ask(self, question: Question) -> tuple[ComparableAnswer, ComparableAnswer]:
        """Send a request to both; return Placement's answer and ours."""
        (expected,) = self.ask_placement([question])
        answer = self.api.call(
            question.method, question.path, question.body, version=question.version, HTTP_X_ROLES=ROLES
        )
        own = comparable(question, answer.status, answer.headers, answer.body.decode())
        return _with_times_of(own, comparable(question, *expected)), own

    def change(self, question: Question) -> None:
        """Send a write that both accept."""
        ((status, _, text),) = self.ask_placement([question])
        answer = self.api.call(question.method, question.path, question.body, version=question.version)
        assert max(status, answer.status) < 300, (question, text, answer)

    def ask_placement(self, questions: Iterable[Question]) -> list[tuple[int, dict[str, str], str]]:
        """Send requests to Placement; return status, headers and body of its answers."""
        requests = [
            {"method": entry.method, "path": entry.path, "version": entry.version, "body": entry.body, "roles": ROLES}
            for entry in questions
        ]
        answers: list[tuple[int, dict[str, str], str]] = self._peer.ask("send", requests=requests)
        return answers


def comparable(question: Question, status: int, headers: Mapping[str, str], body: str) -> ComparableAnswer:
    """Return an answer in the form in which answers are compared."""
    content_type = headers.get("content-type", "").partition(";")[0] if body else None
    shown = {
        "content-type": content_type,
        "cache-control": headers.get("cache-control"),
        "last-modified": ANY if "last-modified" in headers else None,
        "location": urlsplit(headers["location"]).path if "location" in headers else None,
    }
    document = json.loads(body) if body else None
    if status >= 400:
        document = [_error(question, entry) for entry in document["errors"]]
    return ComparableAnswer(status, tuple(shown.items()), in_order(document))


def _with_times_of(own: ComparableAnswer, expected: ComparableAnswer) -> ComparableAnswer:
    """Return Placement's answer with Last-Modified where only ours has it: see docs/differences.md."""
    headers = dict(expected.headers)
    if headers["cache-control"] and headers["last-modified"] is None:
        headers["last-modified"] = dict(own.headers)["last-modified"]
    return expected._replace(headers=tuple(headers.items()))


def in_order(value: Any) -> Any:
    """Return a document with all lists sorted."""
    if isinstance(value, dict):
        return {key: in_order(item) for key, item in value.items()}
    return sorted(map(in_order, value), key=repr) if isinstance(value, list) else value


def _error(question: Question, error: Mapping[str, Any]) -> dict[str, Any]:
    shown = {"status": error["status"], "title": error["title"], "has detail": bool(error["detail"])}
    if int(question.version.partition(".")[2]) >= FIRST_MINOR_WITH_CODES:
        shown["code"] = error["code"]
    return {**shown, "members": sorted(error.keys() - {"max_version", "min_version"})}
