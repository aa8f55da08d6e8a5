# SPDX-License-Identifier: Apache-2.0
"""The choice among similar cases that a commit makes: all run within a known number of commits in a row."""

import functools
import os
import subprocess
import zlib
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support import CHECKOUT, seed

VARIABLE = "GANTT_TEST_STRIDE"
COMMITS = 8  # in a row run every case marked ``sampled``


@functools.cache
def commit_number() -> int:
    """Return the number that the environment names, else that of the commit on the main line."""
    text = os.environ.get(VARIABLE)
    return _commits_so_far() if text is None else int(text)


def offset(step: int) -> int:
    """Return where a walk that takes every ``step``-th case begins; so many commits in a row take each case."""
    return commit_number() % step


def in_turn(values: Sequence[object]) -> list[Any]:
    """Return the values of a parameter of which each commit runs one, and as many commits in a row run all.

    For fixtures of a module, whose cases belong together.
    """
    return [
        pytest.param(value, marks=pytest.mark.sampled(case=index, of=len(values))) for index, value in enumerate(values)
    ]


def describe() -> str:
    """Return how to repeat the selection of this run."""
    return f"sampled cases: {VARIABLE}={commit_number()} modulo {COMMITS}"


def cases_of_other_commits(items: Iterable[pytest.Item], number: int, named: Container[Path]) -> Iterator[pytest.Item]:
    """Yield the sampled cases that do not run with the commit of a number, except those of the named files.

    Consecutive cases of a test run with consecutive commits. The first one's depends on the test's name, so that tests
    with few cases do not all run with the same commit. A mark may have a turn of its own, see ``in_turn``.
    """
    counts: Counter[str] = Counter()
    for item in items:
        mark = item.get_closest_marker("sampled")
        if mark is None:
            continue
        test = item.nodeid.partition("[")[0]
        case = mark.kwargs.get("case", zlib.crc32(test.encode()) + counts[test])
        counts[test] += 1
        if (case - number) % mark.kwargs.get("of", COMMITS) and item.path not in named:
            yield item


def named_files(config: pytest.Config) -> set[Path]:
    """Return the files that the command line names, by themselves or by their tests."""
    paths = {config.invocation_params.dir / argument.partition("::")[0] for argument in config.args}
    return {path for path in paths if path.is_file()}


def _commits_so_far() -> int:
    """Return the length of the main line; without its history the seed, which also changes with each commit."""
    try:
        is_shallow = _git("rev-parse", "--is-shallow-repository") == "true"
        return seed.current_seed() if is_shallow else int(_git("rev-list", "--first-parent", "--count", "HEAD"))
    except (OSError, subprocess.SubprocessError):
        return seed.current_seed()


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(CHECKOUT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
