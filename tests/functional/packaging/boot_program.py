# SPDX-License-Identifier: Apache-2.0
"""Boots servers without pause, in some threads, until it is terminated: ``boot_program.py CALLERS``.

It runs on a machine with the operator's configuration. A call without an answer is repeated, as every caller has to.
It prints a line for each server that the conductors acknowledged, with the Unix times of the request and of the
answer, and another one at the end of its boot, with the time and the status.
"""

import logging
import signal
import sys
import threading
import time
import uuid
from collections.abc import Callable
from typing import TypeVar

import oslo_messaging as messaging

from rpcapi import errors, objects
from rpcapi.cli.session import Session
from rpcapi.cli.waiting import fetch_instances

RESOURCES = {"MEMORY_MB": 16}  # so that a host has capacity for thousands
END_STATUSES = ("ACTIVE", "ERROR")
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1.0
# A caller leaves a server to itself then: its host may be lost.
PATIENCE_SECONDS = 20.0

Answer = TypeVar("Answer")

ending = threading.Event()
printing = threading.Lock()


def repeat(call: Callable[[], Answer]) -> Answer:
    """Return the answer of a call, which is repeated until it has one."""
    while True:
        try:
            return call()
        except (messaging.MessagingTimeout, errors.Unavailable, errors.Overloaded) as error:
            logging.info("No answer: %s", error)
            time.sleep(FIRST_PAUSE)


def report(*words: object) -> None:
    with printing:
        print(*words, flush=True)


def boot(session: Session, spec: objects.RequestSpec) -> None:
    """Boot one server."""
    session.new_request()
    server, requested = str(uuid.uuid4()), time.time()
    repeat(lambda: session.call(session.conductor.build_instances, spec, [server], first_sent=requested))
    acknowledged, pause = time.time(), FIRST_PAUSE
    report("acknowledged", server, requested, acknowledged)
    while time.time() < acknowledged + PATIENCE_SECONDS:
        (record,) = repeat(lambda: fetch_instances(session, [server]))
        if record.status in END_STATUSES:
            report("ended", server, time.time(), record.status)
            return
        time.sleep(pause)
        pause = min(1.5 * pause, LONGEST_PAUSE)


def run(session: Session) -> None:
    """Boot one server after the other."""
    spec = objects.RequestSpec.of(flavor="load", resources=RESOURCES)
    while not ending.is_set():
        boot(session, spec)


def main() -> None:
    """Run the callers until SIGTERM, and until each has finished its last boot."""
    logging.basicConfig(level=logging.INFO, stream=sys.stderr)
    signal.signal(signal.SIGTERM, lambda *_: ending.set())
    session = Session()
    callers = [
        threading.Thread(target=run, args=(session.for_request("load", attempts=1),)) for _ in range(int(sys.argv[1]))
    ]
    for caller in callers:
        caller.start()
    while any(caller.is_alive() for caller in callers):
        time.sleep(0.1)
    session.close()


if __name__ == "__main__":
    main()
