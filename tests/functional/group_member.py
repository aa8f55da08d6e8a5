# SPDX-License-Identifier: Apache-2.0
"""Program that joins a service group until it is killed. Arguments: URL, group, timeout, names."""

import logging
import signal
import sys

from rpcapi.daemon.coordination import CoordinationGroup, Membership

if __name__ == "__main__":
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})  # before there are threads that could take it
    logging.basicConfig(level=logging.WARNING)
    url, group, timeout, *names = sys.argv[1:]
    membership = Membership(CoordinationGroup(url, group, float(timeout)), names)
    membership.start()
    print("started", flush=True)
    signal.sigwait({signal.SIGTERM})
    membership.stop()
    membership.wait()
