# SPDX-License-Identifier: Apache-2.0
"""Files that wait for servers run beside files that compute, from the beginning of a parallel run to near its end."""

import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests import conftest
from tests.support.run_order import RABBITMQ, RABBITMQ_FIXTURES, first_worker_alone, spread, unit_of


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
    waiting = ["tests/chaos/test_a.py", "tests/functional/test_b.py"]
    assert spread_files(*computing) == computing
    assert spread_files(*waiting) == waiting
    assert spread_files() == []


def test_files_that_share_a_rabbitmq_node_are_one_unit_after_the_longest() -> None:
    contract, fence = "tests/contract/test_expiry.py", "tests/chaos/test_fence.py"
    notifications, longest = "tests/functional/test_notifications.py", "tests/functional/systemd/test_units.py"
    assert [unit_of(f"{file}::test") for file in (contract, fence, notifications)] == [RABBITMQ, fence, RABBITMQ]
    items = [SimpleNamespace(nodeid=nodeid) for nodeid in nodeids(contract, fence, notifications, longest)]
    assert [item.nodeid for item in spread(items)] == nodeids(longest, contract, notifications, fence)


def test_contract_files_without_the_shared_node_are_units_of_their_own() -> None:
    files = [f"tests/contract/test_{name}.py" for name in ("objects", "transport_rabbit", "placement_databases")]
    assert [unit_of(f"{file}::test") for file in files] == files


def test_fixtures_of_rabbitmq_nodes_have_the_names_that_are_searched_for() -> None:
    nodes = {name for name in vars(conftest) if "rabbit" in name and not name.startswith("make")}
    assert {name for name in nodes if RABBITMQ_FIXTURES.fullmatch(name)} == {"rabbit_node", "managed_rabbit"}


def worker(folder: Path, number: int) -> SimpleNamespace:
    option = SimpleNamespace(basetemp=str(folder / f"popen-gw{number}"))
    return SimpleNamespace(option=option, workerinput={"workerid": f"gw{number}"})


def collect(config: SimpleNamespace, collected: list[str]) -> None:
    with first_worker_alone(config):
        collected.append(config.workerinput["workerid"])


def test_other_processes_collect_after_the_first(tmp_path: Path) -> None:
    collected: list[str] = []
    others = [threading.Thread(target=collect, args=(worker(tmp_path, number), collected)) for number in (1, 2)]
    for other in others:
        other.start()
    others[0].join(0.3)
    assert collected == []
    collect(worker(tmp_path, 0), collected)
    for other in others:
        other.join()
    assert collected[0] == "gw0" and sorted(collected) == ["gw0", "gw1", "gw2"]


def test_a_collection_that_fails_is_awaited_no_longer(tmp_path: Path) -> None:
    with pytest.raises(ImportError), first_worker_alone(worker(tmp_path, 0)):
        raise ImportError
    collect(worker(tmp_path, 1), collected := [])
    assert collected == ["gw1"]


def test_a_single_process_waits_for_nothing() -> None:
    with first_worker_alone(SimpleNamespace()):
        pass
