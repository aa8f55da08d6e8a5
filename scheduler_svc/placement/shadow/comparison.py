# SPDX-License-Identifier: Apache-2.0
"""Comparison of two servers' answers to the same request, regardless of the order in lists."""

import json
import urllib.parse
from typing import Any

from scheduler_svc.placement.shadow.exchanges import ProxiedResponse, SentRequest

CANDIDATES = "/allocation_candidates"
REQUESTS = "allocation_requests"
MAX_TEXT = 300  # characters quoted of a body or value


def difference(request: SentRequest, expected: ProxiedResponse, actual: ProxiedResponse) -> str | None:
    """Return how ``actual`` differs from ``expected``, None if it does not.

    Compares the status and, of successful reads, the document, but not the messages of errors. Of candidates cut off by
    a limit, it compares only the number.
    """
    if expected.status != actual.status:
        return f"it answered {expected.status}, gantt {actual.status}: {_text(actual.body)}"
    if request.is_write or expected.is_error:
        return None
    expected_document, actual_document = _document(expected.body), _document(actual.body)
    if expected_document == actual_document:
        return None
    if _is_limited(request, expected_document) and isinstance(actual_document, dict):
        counts = [len(document.get(REQUESTS, ())) for document in (expected_document, actual_document)]
        return None if counts[0] == counts[1] else f"it has {counts[0]} candidates, gantt {counts[1]}"
    return _first_difference(expected_document, actual_document, "")


def _document(body: bytes) -> Any:
    """Parse a JSON document and sort its lists; return other bodies as text."""
    try:
        return _ordered(json.loads(body))
    except ValueError:
        return body.decode(errors="replace")


def _ordered(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _ordered(part) for key, part in value.items()}
    if isinstance(value, list):
        return sorted((_ordered(part) for part in value), key=_canonical)
    return value


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _is_limited(request: SentRequest, document: Any) -> bool:
    path, _, query = request.target.partition("?")
    if not path.endswith(CANDIDATES) or not isinstance(document, dict):
        return False
    (limit, *_) = urllib.parse.parse_qs(query).get("limit", [""])
    return limit.isdecimal() and len(document.get(REQUESTS, ())) == int(limit)


def _first_difference(expected: Any, actual: Any, where: str) -> str:
    if isinstance(expected, dict) and isinstance(actual, dict):
        for key in sorted(expected.keys() | actual.keys()):
            if expected.get(key) != actual.get(key):
                return _first_difference(expected.get(key), actual.get(key), f"{where}/{key}")
    if isinstance(expected, list) and isinstance(actual, list):
        texts = [[_canonical(part) for part in document] for document in (expected, actual)]
        missing = [text for text in texts[0] if text not in set(texts[1])]
        surplus = [text for text in texts[1] if text not in set(texts[0])]
        return (
            f"{where or '/'}: {len(expected)} entries, gantt has {len(actual)}; missing in gantt: "
            f"{_text(str(missing[:1]))}, only in gantt: {_text(str(surplus[:1]))}"
        )
    return f"{where or '/'}: {_text(_canonical(expected))}, gantt has {_text(_canonical(actual))}"


def _text(value: str | bytes) -> str:
    text = value.decode(errors="replace") if isinstance(value, bytes) else value
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}..."
