# SPDX-License-Identifier: Apache-2.0
"""The entry point of the daemons, without processes."""

from typing import Any

import pytest
from oslo_config import cfg

from rpcapi import errors
from rpcapi.daemon import concurrency, logs, main, master, metrics_folder


@pytest.fixture
def masters(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The (roles, on_worker_exit) of each master that was created; each run returns 7."""
    created: list[Any] = []

    class Master:
        def __init__(self, conf: Any, roles: Any, notifier: Any, on_worker_exit: Any) -> None:
            created.append((roles, on_worker_exit))

        def run(self) -> int:
            return 7

    monkeypatch.setattr(master, "Master", Master)
    monkeypatch.setattr(logs, "setup", lambda conf, prog, version: None)
    monkeypatch.setattr(concurrency, "require_no_worker_modules", lambda: None)
    return created


def run(tmp_path: Any, text: str = "", **values: Any) -> int:
    path = tmp_path / "toy.conf"
    path.write_text(f"[DEFAULT]\ntransport_url = rabbit://h/\n{text}")
    return main.run("gantt-toy", "some.module:make", argv=["--config-file", str(path)], **values)


def test_daemon_has_one_worker_by_default(masters: list[Any], tmp_path: Any) -> None:
    assert run(tmp_path) == 7
    (((role,), _),) = masters
    assert (role.name, role.index) == ("worker 0", 0)


def test_exporter_is_a_process_of_its_own_beside_the_workers(
    masters: list[Any], tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    removed: list[int] = []
    monkeypatch.setattr(metrics_folder, "remove_gauges", lambda folder, index: removed.append(index))
    assert run(tmp_path, "[metrics]\nlisten = 127.0.0.1:0\n", workers=lambda conf: 2) == 7
    ((roles, on_worker_exit),) = masters
    assert [(role.name, role.index) for role in roles] == [("metrics exporter", -1), ("worker 0", 0), ("worker 1", 1)]
    on_worker_exit(roles[2])
    assert removed == [1]


def test_rejected_configuration_is_one_line_and_starts_nothing(
    masters: list[Any], tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    def check(conf: cfg.ConfigOpts) -> None:
        raise errors.BadConfiguration(why="there is no filter 'colour'")

    assert run(tmp_path, check=check) == 78
    assert capsys.readouterr().err == "gantt-toy: Bad configuration: there is no filter 'colour'\n"
    assert masters == []
