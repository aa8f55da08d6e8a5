# SPDX-License-Identifier: Apache-2.0
"""A process with the endpoints of all services, their stores in Redis, behind servers on real message buses.

It ends with its standard input. On each line of that it gets the name of a service and what to do: ``dump`` or
``settle``, or ``measure`` for the whole process; it answers with a line of JSON.
"""

import gc
import json
import logging
import os
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any

import oslo_messaging as messaging
from oslo_config import cfg

from rpcapi.messaging import bus
from rpcapi.serializer import GanttSerializer
from tests.property.calls import HOST
from tests.property.fuzzed_services import FuzzedService, all_services

PACKAGES = Path(__file__).resolve().parents[2]
LOG_FILE = "service.log"


def get_transport(url: str) -> Any:
    conf = cfg.ConfigOpts()
    conf([], project="gantt", default_config_files=[], default_config_dirs=[])
    return bus.get_transport(conf, url)


def target_of(transport: Any, topic: str) -> messaging.Target:
    """Return the one server of the topic."""
    return bus.exchange_of(transport, messaging.Target(topic=topic, server=HOST))


@contextmanager
def serve(services: Mapping[str, FuzzedService], url: str) -> Iterator[None]:
    """Serve all endpoints on a bus."""
    transport = get_transport(url)
    servers = [
        bus.get_server(transport, target_of(transport, topic), list(endpoints), GanttSerializer(), executor="threading")
        for service in services.values()
        for topic, endpoints in service.endpoints.items()
    ]
    for server in servers:
        server.start()
    yield
    for server in servers:
        server.stop()
    for server in servers:
        server.wait()
    transport.cleanup()


def measure() -> dict[str, int]:
    gc.collect()
    resident_pages = int(Path("/proc/self/statm").read_text().split()[1])
    return {"rss": resident_pages * os.sysconf("SC_PAGE_SIZE"), "threads": threading.active_count()}


def main(folder: Path, store_url: str, bus_urls: Sequence[str]) -> None:
    answers, sys.stdout = sys.stdout, sys.stderr  # nothing else may write between the answers
    logging.basicConfig(filename=folder / LOG_FILE, level=logging.INFO)
    with ExitStack() as stack:
        services = stack.enter_context(all_services(folder / "agent", store_url))
        for url in bus_urls:
            stack.enter_context(serve(services, url))
        print(json.dumps("ready"), file=answers, flush=True)
        for line in sys.stdin:
            verb, name = json.loads(line)
            answer = measure() if verb == "measure" else getattr(services[name], verb)()
            print(json.dumps(answer), file=answers, flush=True)


class FuzzedProcess:
    """The process, as seen by the test that has started it."""

    def __init__(self, folder: Path, store_url: str, bus_urls: Sequence[str]) -> None:
        self.log = folder / LOG_FILE
        command = [sys.executable, "-m", __name__, str(folder), store_url, *bus_urls]
        # A fixed number of arenas: the memory of a thread that has ended is used by the next.
        environment = {**os.environ, "MALLOC_ARENA_MAX": "1", "PYTHONPATH": str(PACKAGES)}
        with (folder / "output").open("wb") as output:
            self._process = Popen(command, stdin=PIPE, stdout=PIPE, stderr=output, text=True, env=environment)
        self._read()

    def do(self, verb: str, service: str | None = None) -> Any:
        """Do something in the process, and return its answer; raises AssertionError if the process has ended."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([verb, service]) + "\n")
        self._process.stdin.flush()
        return self._read()

    def _read(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, f"the service has ended: see {self.log.with_name('output')}"
        return json.loads(line)

    def stop(self) -> None:
        """End the process; kill it if it hangs."""
        self._process.stdin.close()  # type: ignore[union-attr]
        try:
            self._process.wait(60)
        finally:
            self._process.kill()
            self._process.wait()
            self._process.stdout.close()  # type: ignore[union-attr]


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3:])
