# SPDX-License-Identifier: Apache-2.0
"""OpenStack Placement served by cheroot until the input is closed: ``placement_http_worker.py CONFIGURATION PORT``."""

import os
import sys
import threading
from pathlib import Path

from cheroot import wsgi
from placement_side import deployed

THREADS = 4
IDLE_SECONDS = 3600  # connections wait while other peers are measured


def main(configuration: Path, port: int) -> None:
    server = wsgi.Server(
        ("127.0.0.1", port), deployed(configuration), numthreads=THREADS, timeout=IDLE_SECONDS, reuse_port=True
    )
    server.prepare()
    threading.Thread(target=server.serve, daemon=True).start()
    os.write(1, b"ready\n")
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
