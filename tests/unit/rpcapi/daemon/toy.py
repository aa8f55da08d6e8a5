# SPDX-License-Identifier: Apache-2.0
"""A toy daemon that records the framework's calls; the tests start it as a program."""

import fcntl
import os
import sys
import threading
from pathlib import Path

from oslo_config import cfg

from rpcapi import errors
from rpcapi.daemon.main import run
from rpcapi.daemon.waiting import ShutdownRequested, wait_for

OPTS = [
    cfg.IntOpt("workers", default=1, min=1),
    cfg.StrOpt("folder", default="."),
    cfg.StrOpt("greeting", default="hello", mutable=True),
    cfg.StrOpt("start", default="serve", choices=["serve", "wait", "crash", "refuse", "give_up"]),
    cfg.StrOpt("drain", default="quick", choices=["quick", "flight", "stuck"]),
    cfg.IntOpt("hang_index", default=-1),
    cfg.IntOpt("refusing_index", default=-1, mutable=True),
]


def register_opts(conf: cfg.ConfigOpts) -> None:
    """Register the toy's options."""
    conf.register_opts(OPTS, group="toy")


class Toy:
    """Writes lines of (event, worker index, process id, greeting) into ``events`` in its folder."""

    def __init__(self, conf: cfg.ConfigOpts, index: int) -> None:
        from rpcapi.daemon import metrics  # noqa: PLC0415 - only a worker may import it

        self.conf, self.index = conf, index
        self.folder = Path(conf.toy.folder)
        self.stopping = threading.Event()
        self.served = metrics.counter("toy_served", "Times that a worker began to serve.")
        self.load = metrics.gauge("toy_load", "Load of each worker.")
        self.write("made")

    def write(self, event: str) -> None:
        with (self.folder / "events").open("a") as file:
            file.write(f"{event} {self.index} {os.getpid()} {self.conf.toy.greeting}\n")

    def start(self) -> None:
        if self.conf.toy.start == "crash" or (self.folder / "broken").exists():
            self.write("crash")
            raise RuntimeError("the toy is broken")
        if self.conf.toy.start == "refuse":
            raise errors.BadConfiguration(why="there is no filter 'colour'")
        if self.conf.toy.start == "give_up":
            raise ShutdownRequested("the broker")
        if self.conf.toy.start == "wait":
            wait_for("the broker", self.probe, self.stopping, first_pause=0.05, max_pause=0.2)
        self.served.inc()
        self.load.set(2)
        threading.Thread(target=self.hang, daemon=True).start()
        self.write("start")

    def probe(self) -> None:
        if not (self.folder / "broker").exists():
            raise ConnectionRefusedError("amqp://gantt:swordfish@broker:5672 refuses")

    def hang(self) -> None:
        """Block in the kernel, together with eventlet's hub, while a test holds the lock."""
        if self.conf.toy.hang_index == self.index:
            self.stopping.wait(0.2)
            with (self.folder / "lock").open("w") as file:
                fcntl.flock(file, fcntl.LOCK_EX)

    def stop(self) -> None:
        self.stopping.set()
        self.write("stop")

    def wait(self) -> None:
        if self.conf.toy.drain == "flight":
            threading.Event().wait(0.5)
        if self.conf.toy.drain == "stuck":
            threading.Event().wait()
        self.write("drained")

    def reset(self) -> None:
        if self.conf.toy.refusing_index == self.index:
            raise errors.BadConfiguration(why="there is no filter 'colour'")
        self.write("reset")


def main() -> int:
    """Run the daemon 'gantt-toy'."""
    return run(
        "gantt-toy",
        "tests.unit.rpcapi.daemon.toy:Toy",
        register_opts=[register_opts],
        workers=lambda conf: conf.toy.workers,
    )


if __name__ == "__main__":
    sys.exit(main())
