# SPDX-License-Identifier: Apache-2.0
"""A minimal peer; its first argument selects its behaviour."""

import json
import os
import sys
import time

BEHAVIOURS = {
    "well": lambda request: {"answer": [0.5] * request["values"].get("count", 0)},
    "tell": lambda request: {"answer": dict(os.environ)},
    "error": lambda request: {"error": f"no {request['verb']} today"},
    "garbage": lambda request: None,
    "other": lambda request: {"neither": 1},
    "hang": lambda request: time.sleep(600),
    "die": lambda request: sys.exit("it hurts"),
}


def main() -> None:
    behaviour = sys.argv[1]
    for line in sys.stdin:
        reply = BEHAVIOURS[behaviour](json.loads(line))
        print("this is no JSON" if reply is None else json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
