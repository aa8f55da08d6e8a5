# SPDX-License-Identifier: Apache-2.0
"""Each sampled case runs with one of so many commits in a row, and whenever its file is named."""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.support import CHECKOUT, seed, stride
from tests.support.stride import COMMITS, VARIABLE

FILE = Path("/tests/test_cases.py")


def case(nodeid: str, mark: pytest.MarkDecorator | None = pytest.mark.sampled) -> SimpleNamespace:
    marks = {} if mark is None else {mark.name: mark}
    return SimpleNamespace(nodeid=f"{FILE}::{nodeid}", path=FILE, get_closest_marker=marks.get)


def run_with_commit(cases: list[SimpleNamespace], number: int, named: Iterable[Path] = ()) -> list[str]:
    others = {item.nodeid for item in stride.cases_of_other_commits(cases, number, set(named))}
    return [item.nodeid for item in cases if item.nodeid not in others]


def cases_of(test: str, count: int) -> list[SimpleNamespace]:
    return [case(f"{test}[{number}]") for number in range(count)]


def test_commits_in_a_row_run_every_case_once() -> None:
    cases = [*cases_of("test_many", 50), *cases_of("test_few", 3), case("test_alone")]
    runs = Counter(nodeid for number in range(COMMITS) for nodeid in run_with_commit(cases, number))
    assert runs == Counter(item.nodeid for item in cases)


def test_each_commit_runs_cases_of_a_large_family() -> None:
    cases = cases_of("test_many", 3 * COMMITS)
    assert [len(run_with_commit(cases, number)) for number in range(COMMITS)] == [3] * COMMITS


def test_tests_with_one_case_are_spread_over_the_commits() -> None:
    cases = [case(f"test_{number}") for number in range(200)]
    assert all(10 < len(run_with_commit(cases, number)) < 50 for number in range(COMMITS))


def test_other_cases_always_run() -> None:
    cases = [case(f"test_backend[{name}]", None) for name in ("memory", "redis")]
    assert all(len(run_with_commit(cases, number)) == 2 for number in range(COMMITS))


def test_one_value_of_a_fixture_runs_with_each_commit() -> None:
    params = stride.in_turn(["a", "b", "c"])
    cases = [case(f"test_{number}[{param.values[0]}]", param.marks[0]) for number in range(4) for param in params]
    runs = [run_with_commit(cases, number) for number in range(3)]
    assert [{nodeid[-2] for nodeid in run} for run in runs] == [{"a"}, {"b"}, {"c"}]
    assert Counter(nodeid for run in runs for nodeid in run) == Counter(item.nodeid for item in cases)


def test_every_case_of_a_named_file_runs() -> None:
    cases = cases_of("test_many", 20)
    assert len(run_with_commit(cases, 0, named=[FILE])) == 20


@pytest.fixture
def uncached() -> Iterator[None]:
    """Forget the number of the commit before and after the test."""
    stride.commit_number.cache_clear()
    yield
    stride.commit_number.cache_clear()


@pytest.mark.usefixtures("uncached")
def test_the_environment_names_the_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "21")
    assert [stride.offset(step) for step in (1, 5, 7)] == [0, 1, 0]
    assert f"{VARIABLE}=21" in stride.describe()


def make_commits(folder: Path, count: int) -> None:
    git = ["git", "-C", str(folder), "-c", "user.name=Nobody", "-c", "user.email=nobody@example.org"]
    for _ in range(count):
        subprocess.run([*git, "commit", "--quiet", "--allow-empty", "--message", "empty"], check=True)


def number_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(stride, "CHECKOUT", folder)
    monkeypatch.delenv(VARIABLE, raising=False)
    stride.commit_number.cache_clear()
    return stride.commit_number()


@pytest.mark.usefixtures("uncached")
def test_each_commit_has_the_next_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    for number in (1, 2, 3):
        make_commits(tmp_path, 1)
        assert number_in(tmp_path, monkeypatch) == number


@pytest.mark.usefixtures("uncached")
def test_without_history_the_seed_is_the_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    origin, shallow, empty = tmp_path / "origin", tmp_path / "shallow", tmp_path / "empty"
    subprocess.run(["git", "init", "--quiet", str(origin)], check=True)
    make_commits(origin, 3)
    subprocess.run(["git", "clone", "--quiet", "--depth", "1", origin.as_uri(), str(shallow)], check=True)
    empty.mkdir()
    assert number_in(shallow, monkeypatch) == seed.current_seed()
    assert number_in(empty, monkeypatch) == seed.current_seed()


TESTS = """
import pytest

@pytest.mark.sampled
@pytest.mark.parametrize("number", range(16))
def test_many(number):
    pass
"""


@pytest.mark.parametrize(
    ("arguments", "count"),
    [
        pytest.param(["."], 2, id="folder"),
        pytest.param([".", "--long", "-m", "long"], 14, id="only long"),
        pytest.param(["test_cases.py"], 16, id="file"),
        pytest.param(["test_cases.py::test_many[9]"], 1, id="test"),
    ],
)
def test_run_selects_its_cases(arguments: list[str], count: int, tmp_path: Path) -> None:
    (tmp_path / "test_cases.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-c", "/dev/null", "--rootdir", str(tmp_path)]
    run = subprocess.run(
        [*command, *arguments],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(CHECKOUT), VARIABLE: "1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert f" {count} passed" in run.stdout
    assert f"{VARIABLE}=1" in run.stdout
