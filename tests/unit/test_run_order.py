# SPDX-License-Identifier: Apache-2.0
"""Files that wait for servers run beside files that compute, from the beginning of a parallel run to near its end."""

from types import SimpleNamespace

from tests.run_order import spread


def nodeids(*files: str, tests: int = 2) -> list[str]:
    return [f"{file}::test_{number}" for file in files for number in range(tests)]


def spread_files(*files: str) -> list[str]:
    """Return the files in the order of the run; asserts that the tests of each stay together and in their order."""
    order = [item.nodeid for item in spread([SimpleNamespace(nodeid=nodeid) for nodeid in nodeids(*files)])]
    first_tests = [nodeid.partition("::")[0] for nodeid in order[::2]]
    assert order == nodeids(*first_tests)
    assert sorted(first_tests) == sorted(files)
    return first_tests


def test_waiting_files_are_spread_and_short_files_are_last() -> None:
    waiting = [f"tests/chaos/test_{number}.py" for number in range(4)]
    computing = [f"tests/unit/test_{number}.py" for number in range(9)]

    order = spread_files(*waiting, *computing)

    assert [order.index(file) for file in waiting] == [0, 3, 6, 9]
    assert [file for file in order if file in computing] == computing


def test_longest_file_is_first() -> None:
    longest = "tests/functional/systemd/test_units.py"
    assert spread_files("tests/chaos/test_a.py", longest, "tests/unit/test_b.py")[0] == longest


def test_files_of_one_kind_keep_their_order() -> None:
    computing = ["tests/property/test_a.py", "tests/unit/test_b.py"]
    waiting = ["tests/chaos/test_a.py", "tests/contract/test_b.py"]
    assert spread_files(*computing) == computing
    assert spread_files(*waiting) == waiting
    assert spread_files() == []
