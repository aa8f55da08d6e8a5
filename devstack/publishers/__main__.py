# SPDX-License-Identifier: Apache-2.0
"""Publish host state until stopped: python -m devstack.publishers --config-file FILE."""

import argparse
import logging
import signal
import sys
import threading

import oslo_messaging as messaging

from devstack.publishers.publisher import GROUP, StatePublisher, register_opts
from rpcapi import errors
from rpcapi.admin.session import Session

STARTING = 1.0  # seconds between rounds until a round finds no changes

LOG = logging.getLogger("devstack.publishers")


def main() -> int:
    parser = argparse.ArgumentParser(prog="publishers", description=__doc__)
    parser.add_argument("--config-file", action="append", required=True, help="the configuration")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    session = Session(arguments.config_file, project="service")
    register_opts(session.conf)
    group = session.conf[GROUP]
    publisher = StatePublisher(session, racks=group.racks, physnets=group.physnets)
    while not stopping.is_set():
        try:
            count = publisher.publish()
        except (errors.GanttError, messaging.MessagingException) as error:
            LOG.warning("Publishing failed, to be retried in the next round: %s", error)
        else:
            if count:
                LOG.info("Published %d documents", count)
        # While a cluster starts, its hosts and pools appear gradually.
        stopping.wait(group.interval if publisher.is_settled else min(STARTING, group.interval))
    session.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
