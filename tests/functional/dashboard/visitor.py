# SPDX-License-Identifier: Apache-2.0
"""Requests to the dashboard as a browser without scripts makes them."""

import html
import http.cookiejar
import json
import re
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from email.message import Message
from typing import Any, NamedTuple, TypeVar

from tests.support.clusters.booting import gantt
from tests.support.clusters.clusters import RunningCluster

Result = TypeVar("Result")
SECONDS = 30


class Answer(NamedTuple):
    """Status, path after redirects, headers and text of an answer."""

    status: int
    path: str
    headers: Message
    text: str

    @property
    def heading(self) -> str:
        """The heading of the page."""
        return self._inner("h1")

    @property
    def alert(self) -> str:
        """What the page says of an error."""
        return self._inner("p", ' class="error" role="alert"')

    def _inner(self, tag: str, attributes: str = "") -> str:
        match = re.search(f"<{tag}{attributes}>(.*?)</{tag}>", self.text, re.S)
        return html.unescape(match[1]) if match else ""


class Visitor:
    """A browser at the dashboard of ``url``, with cookies."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.cookies = http.cookiejar.CookieJar()
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self.cookies))

    def get(self, path: str, headers: Mapping[str, str] | None = None) -> Answer:
        """Return the answer to a GET."""
        return self._open(path, None, headers)

    def post(self, path: str, form: Mapping[str, str], headers: Mapping[str, str] | None = None) -> Answer:
        """Return the answer to a form, after redirects."""
        return self._open(path, urllib.parse.urlencode(form).encode(), headers)

    def sign_in(self, token: str, target: str = "/") -> Answer:
        """Send the token."""
        return self.post(f"/sign-in?next={urllib.parse.quote(target, safe='')}", {"token": token})

    def submit(self, path: str, **form: str) -> Answer:
        """Send a form of the page ``path``, with the token that the page has."""
        token = re.search(r'name="csrf_token" value="([0-9a-f]+)"', self.get(path).text)
        assert token, "the page has no form"
        return self.post(path, {"csrf_token": token[1], **form})

    def _open(self, path: str, body: bytes | None, headers: Mapping[str, str] | None) -> Answer:
        request = urllib.request.Request(self.url + path, data=body, headers=dict(headers or {}))  # noqa: S310 - of tests
        try:
            response = self._opener.open(request, timeout=SECONDS)
        except urllib.error.HTTPError as error:
            response = error
        with response:
            path = response.geturl().removeprefix(self.url)
            return Answer(response.status, path, response.headers, response.read().decode())


def eventually(condition: Callable[[], Result], what: str, seconds: float = SECONDS) -> Result:
    """Return the first true answer of ``condition``."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        answer = condition()
        if answer:
            return answer
        time.sleep(0.2)
    raise AssertionError(f"Timed out waiting for {what}")


def is_served(visitor: Visitor) -> bool:
    """Return whether the dashboard answers."""
    try:
        return visitor.get("/sign-in").status == 200
    except OSError:
        return False


def shown(visitor: Visitor, path: str, text: str) -> str:
    """Return a page that has a text, "" while it has not."""
    page = visitor.get(path).text
    return page if text in page else ""


def gantt_json(cluster: RunningCluster, *arguments: str) -> Any:
    """Run the operator's command and return what it prints as JSON."""
    return json.loads(gantt(cluster, *arguments, "-f", "json"))
