# SPDX-License-Identifier: Apache-2.0
"""WSGI server (cheroot) of a module's ``application``: ``serve.py MODULE PORT``."""

import importlib
import signal
import sys

from cheroot import wsgi

THREADS = 16
IDLE_SECONDS = 75


def main(module: str, port: int) -> None:
    sys.argv = [module]  # the application reads its program's arguments
    application = importlib.import_module(module).application
    server = wsgi.Server(("127.0.0.1", port), application, numthreads=THREADS, timeout=IDLE_SECONDS)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    server.safe_start()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
