# SPDX-License-Identifier: Apache-2.0
"""A minimal peer; its first argument selects its behaviour."""

import json
import os
import sys
import time
from multiprocessing.connection import Connection

BEHAVIOURS = {
    "well": lambda request: {"answer": [0.5] * request["values"].get("count", 0)},
    "tell": lambda request: {"answer": dict(os.environ)},
    "error": lambda request: {"error": f"no {request['verb']} today"},
    "hang": lambda request: time.sleep(600),
    "die": lambda request: sys.exit("it hurts"),
}


def main() -> None:
    pipe = Connection(int(os.environ["GANTT_LAB_PIPE"]))
    while True:
        reply = BEHAVIOURS[sys.argv[1]](json.loads(pipe.recv_bytes()))
        pipe.send_bytes(json.dumps(reply).encode())


if __name__ == "__main__":
    main()
