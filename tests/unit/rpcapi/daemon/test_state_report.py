# SPDX-License-Identifier: Apache-2.0
"""Reports of workers' state on SIGUSR2."""

import os
import re
import signal
import subprocess
import sys

import pytest
from oslo_config import cfg

from rpcapi.daemon import state_report
from tests.unit.rpcapi.daemon.conftest import ToyDaemon, eventually

END = "==== End of the state of worker {} ===="


def test_every_worker_writes_a_report_and_goes_on(toy: ToyDaemon, executor: str) -> None:
    toy.begin(workers=2, executor=executor, greeting="redis://toy:swordfish@127.0.0.1/0")
    assert toy.process is not None
    workers = {index: pid for _, index, pid, _ in toy.events("start")}
    for pid in (toy.process.pid, *workers.values()):  # as a service manager does
        os.kill(pid, signal.SIGUSR2)
    eventually(lambda: all(END.format(index) in toy.text() for index in workers), "the reports")
    report = toy.text()
    # Under eventlet native threads have no names.
    assert re.search(r"^Thread (MainThread|\d+):\n", report, re.M) and "in write" in report
    assert "toy.workers" in report and "redis://***:***@127.0.0.1/0" in report
    assert "swordfish" not in report

    os.kill(workers[0], signal.SIGUSR2)
    eventually(lambda: toy.text().count(END.format(0)) == 2, "a second report")
    toy.process.send_signal(signal.SIGTERM)
    assert toy.exit_status() == 0


@pytest.fixture
def conf() -> cfg.ConfigOpts:
    conf = cfg.ConfigOpts()
    conf.register_opts(
        [cfg.StrOpt("key", secret=True, default="swordfish"), cfg.StrOpt("name", default="n")], group="g"
    )
    conf([])
    return conf


def test_a_section_that_fails_does_not_prevent_the_others(
    conf: cfg.ConfigOpts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state_report, "_sections", {})

    def fail() -> dict[str, object]:
        raise ValueError("no table")

    state_report.add_section("Broken", fail)
    state_report.add_section("Partitions", lambda: {"default": "epoch 1"})
    text = state_report.text("worker 0", conf)
    assert (
        "---- Broken ----\ncannot be described: ValueError('no table')\n---- Partitions ----\ndefault: epoch 1\n"
        in text
    )
    assert "g.name" in text


COLLECTING = """
import gc, threading
from oslo_config import cfg
from rpcapi.daemon import state_report

conf = cfg.ConfigOpts()
conf([])
stop = threading.Event()
threading.Thread(target=stop.wait, name="waiter", daemon=True).start()
gc.callbacks.append(lambda phase, info: threading.local())
gc.set_threshold(1)
report = state_report.text("worker 0", conf)
print(gc.isenabled(), "Thread waiter:" in report)
"""


def test_collection_of_garbage_meanwhile_does_not_stop_the_process() -> None:
    # A process of its own: one that hangs there cannot be interrupted, also not by a signal.
    command = [sys.executable, "-c", COLLECTING]
    process = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert process.stdout == "True True\n", process.stderr


def test_secret_options_are_masked(conf: cfg.ConfigOpts) -> None:
    text = state_report.text("worker 0", conf)
    assert "g.key" in text and "swordfish" not in text
