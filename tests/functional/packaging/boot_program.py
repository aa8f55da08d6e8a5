# SPDX-License-Identifier: Apache-2.0
"""Boots servers without pause, in some threads, until it is terminated: ``boot_program.py CALLERS``.

It runs on a machine with the operator's configuration. Each line of its output is one server that the conductors
acknowledged: its uuid, the Unix times of the request, the acknowledgement and the end of the boot, and the status then.
A call without an answer is repeated, as every caller has to.
"""

import logging
import signal
import sys
import threading
import time
import uuid
from typing import Any

import oslo_messaging as messaging

from rpcapi import errors, objects
from rpcapi.cli.session import Session
from rpcapi.cli.waiting import fetch_instances

RESOURCES = {"MEMORY_MB": 16}  # so that a host has capacity for thousands
END_STATUSES = ("ACTIVE", "ERROR")
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1.0

ending = threading.Event()
printing = threading.Lock()


def call(function: Any) -> Any:
    """Return the answer of a call, which is repeated until it has one."""
    while True:
        try:
            return function()
        except (messaging.MessagingTimeout, errors.Unavailable) as error:
            logging.info("No answer: %s", error)


def boot(session: Session, spec: objects.RequestSpec) -> None:
    """Boot one server, and print it."""
    session.new_request()
    server, requested = str(uuid.uuid4()), time.time()
    call(lambda: session.call(session.conductor.build_instances, spec, [server], first_sent=requested))
    acknowledged, pause = time.time(), FIRST_PAUSE
    while (record := call(lambda: fetch_instances(session, [server]))[0]).status not in END_STATUSES:
        time.sleep(pause)
        pause = min(1.5 * pause, LONGEST_PAUSE)
    with printing:
        print(server, requested, acknowledged, time.time(), record.status, flush=True)


def run(session: Session) -> None:
    spec = objects.RequestSpec.of(flavor="load", resources=RESOURCES)
    while not ending.is_set():
        boot(session, spec)


def main() -> None:
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
