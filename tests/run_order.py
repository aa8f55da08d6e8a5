# SPDX-License-Identifier: Apache-2.0
"""The order of work in a parallel run: of the processes' collections, and of the test files."""

import contextlib
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

WAITING = ("tests/chaos/", "tests/contract/", "tests/functional/")  # mostly for servers, for a fourth of a core
LONGEST = "tests/functional/systemd/"  # minutes, most of them to make its machine

# The share of the computing files at which the last waiting file begins: the run ends with short files on all cores.
LAST_WAITING = 0.8

FIRST_WORKER = "gw0"
COLLECTION_SECONDS = 120.0


@contextlib.contextmanager
def first_worker_alone(config: pytest.Config) -> Iterator[None]:
    """Let the other processes of a parallel run collect after the first one.

    In a new checkout pytest compiles each test file, which is most of its collection. The other processes find the
    files compiled instead of all doing the same work at once.
    """
    worker = getattr(config, "workerinput", {}).get("workerid")
    if worker is None:
        yield
        return
    collected = Path(config.option.basetemp).with_name("collected")
    if worker == FIRST_WORKER:
        try:
            yield
        finally:
            collected.touch()
        return
    deadline = time.monotonic() + COLLECTION_SECONDS
    while not collected.exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    yield


def spread(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """Return the items with the files that wait spread over those that compute, the longest file first.

    The items of a file stay together and in their order. Every process of a run gets the same order.
    """
    files: dict[str, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.nodeid.partition("::")[0], []).append(item)
    waiting = [file for file in files if file.startswith(WAITING)]
    waiting.sort(key=lambda file: not file.startswith(LONGEST))
    computing = [file for file in files if not file.startswith(WAITING)]
    places = {file: LAST_WAITING * number / len(waiting) for number, file in enumerate(waiting)}
    places |= {file: number / len(computing) for number, file in enumerate(computing)}
    return [item for file in sorted(places, key=places.__getitem__) for item in files[file]]
