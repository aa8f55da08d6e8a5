# SPDX-License-Identifier: Apache-2.0
"""Boots servers without pause, in some threads, until it is terminated: ``boot_program.py CALLERS``.

It runs on a machine with the operator's configuration. A call without an answer is repeated, as every caller has to.
Its output has these lines; times are Unix times in seconds:

- ``acknowledged SERVER REQUESTED ANSWERED`` for each server that the conductors acknowledged,
- ``ended SERVER TIME STATUS`` at the end of its boot,
- ``failed SERVER ERROR`` for an error that no repetition mends, such as a record that is missing,
- ``finished COUNT`` at the end: the callers that ran until the termination.
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
from rpcapi.admin.session import Session
from rpcapi.admin.waiting import fetch_instances

RESOURCES = {"MEMORY_MB": 16}  # so that a host has capacity for thousands
END_STATUSES = ("ACTIVE", "ERROR")
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1.0
# A caller does not wait longer for the end of a boot: the host may be lost.
BOOT_TIMEOUT = 20.0

Answer = TypeVar("Answer")

ending = threading.Event()
printing = threading.Lock()


class Terminated(Exception):
    """Raised when the program is terminated while a call has no answer."""


def repeat(call: Callable[[], Answer]) -> Answer:
    """Return the answer of a call, which is repeated until it has one; raises Terminated."""
    while True:
        try:
            return call()
        except (messaging.MessagingTimeout, errors.Unavailable, errors.Overloaded) as error:
            logging.info("No answer: %s", error)
            if ending.is_set():
                raise Terminated from error
            time.sleep(FIRST_PAUSE)


def report(*words: object) -> None:
    with printing:
        print(*words, flush=True)


def boot(session: Session, spec: objects.RequestSpec, server: str) -> None:
    """Boot one server, and wait for the end of its boot."""
    session.new_request()
    requested = time.time()
    repeat(lambda: session.call(session.conductor.build_instances, spec, [server], first_sent=requested))
    acknowledged, pause = time.time(), FIRST_PAUSE
    report("acknowledged", server, requested, acknowledged)
    while time.time() < acknowledged + BOOT_TIMEOUT:
        (record,) = repeat(lambda: fetch_instances(session, [server]))
        if record.status in END_STATUSES:
            report("ended", server, time.time(), record.status)
            return
        time.sleep(pause)
        pause = min(1.5 * pause, LONGEST_PAUSE)


def run(session: Session, survivors: list[Session]) -> None:
    """Boot one server after the other until the program is terminated; then add the session to ``survivors``."""
    spec = objects.RequestSpec.of(flavor="load", resources=RESOURCES)
    while not ending.is_set():
        server = str(uuid.uuid4())
        try:
            boot(session, spec, server)
        except Terminated:
            break
        except Exception as error:
            logging.exception("The boot of server %s failed", server)
            report("failed", server, *repr(error).split())
            time.sleep(LONGEST_PAUSE)
    survivors.append(session)


def main() -> None:
    """Run the callers until SIGTERM, and until each has finished its last boot."""
    logging.basicConfig(level=logging.INFO, stream=sys.stderr)
    signal.signal(signal.SIGTERM, lambda *_: ending.set())
    session, survivors = Session(), list[Session]()
    callers = [
        threading.Thread(target=run, args=(session.for_request("load", attempts=1), survivors))
        for _ in range(int(sys.argv[1]))
    ]
    for caller in callers:
        caller.start()
    while any(caller.is_alive() for caller in callers):
        time.sleep(0.1)
    session.close()
    report("finished", len(survivors))


if __name__ == "__main__":
    main()
