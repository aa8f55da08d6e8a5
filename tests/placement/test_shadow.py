# SPDX-License-Identifier: Apache-2.0
"""gantt-placement-shadow before a real Placement."""

import collections
import contextlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import pytest

from devstack.servers.ports import answers, free_port
from tests.placement.real_placement import RealPlacement
from tests.placement.test_switching import answers_of, fill
from tests.support.clusters.waiting import wait_until
from tests.support.placement.client import PlacementClient
from tests.support.placement.servers import Servers

STOP_SECONDS = 300
NUMBER_OF_READS = 40  # at least
SUMMARY = re.compile(r"Since the last summary: ([^;\n]*)")

pytestmark = [pytest.mark.placement, pytest.mark.timeout(3600)]


class Shadow(NamedTuple):
    """A running shadow, its port and that of Placement."""

    process: "subprocess.Popen[bytes]"
    log: Path
    port: int
    placement_port: int

    def stop(self) -> collections.Counter[str]:
        """End it when gantt has everything; return the number of requests by kind and outcome."""
        self.process.send_signal(signal.SIGTERM)
        text = self.log.read_text
        assert self.process.wait(STOP_SECONDS) == 0, text()
        outcomes: collections.Counter[str] = collections.Counter()
        for summary in SUMMARY.findall(text()):
            outcomes.update({name: int(number) for name, number in re.findall(r"([a-z][a-z_ ]*): (\d+)", summary)})
        return outcomes


@pytest.fixture
def shadow(placement_servers: Servers, tmp_path: Path) -> Iterator[Shadow]:
    """A shadow before a Placement with a database of its own, and an empty gantt-placement."""
    placement = RealPlacement(tmp_path / "placement", f"sqlite:///{tmp_path / 'placement.sqlite'}")
    placement.sync("head")
    gantt_port, port, log_path = placement_servers.port("default"), free_port(), tmp_path / "shadow.log"
    with contextlib.closing(PlacementClient(gantt_port)) as client:
        client.empty()
    with placement.serving() as placement_port:
        conf = tmp_path / "shadow.conf"
        conf.write_text(
            f"[placement_shadow]\nport = {port}\nplacement_url = http://127.0.0.1:{placement_port}\n"
            f"gantt_url = http://127.0.0.1:{gantt_port}\n[DEFAULT]\ngraceful_shutdown_timeout = {STOP_SECONDS}\n",
            encoding="utf-8",
        )
        command = [sys.executable, "-W", "ignore", "-m", "scheduler_svc.cmd.placement_shadow", "--config-file", conf]
        with log_path.open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
            try:
                wait_until(lambda: answers(port) or process.poll() is not None, "the start of the shadow")
                assert process.poll() is None, log_path.read_text()
                yield Shadow(process, log_path, port, placement_port)
            finally:
                process.kill()


@pytest.mark.parametrize("placement_servers", ["redis"], indirect=True)
def test_gantt_has_and_answers_what_clients_of_the_proxy_write_and_read(shadow: Shadow) -> None:
    with mock.patch.dict(os.environ), contextlib.closing(PlacementClient(shadow.port)) as client:
        fill(client)
        read = answers_of(client)
    assert len(read) > NUMBER_OF_READS
    outcomes = shadow.stop()
    assert outcomes.keys() == {"read equal", "write equal"}, shadow.log.read_text()
    assert outcomes["read equal"] > NUMBER_OF_READS
