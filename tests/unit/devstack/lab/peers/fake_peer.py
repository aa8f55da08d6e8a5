# SPDX-License-Identifier: Apache-2.0
"""A peer of a few lines: what it does on a verb, its first argument says."""

import json
import os
import sys
import time

BEHAVIOURS = {
    "well": lambda asked: {"answer": [0.5] * asked["values"].get("count", 0)},
    "tell": lambda asked: {"answer": list(os.environ)},
    "error": lambda asked: {"error": f"no {asked['verb']} today"},
    "garbage": lambda asked: None,
    "other": lambda asked: {"neither": 1},
    "hang": lambda asked: time.sleep(600),
    "die": lambda asked: sys.exit("it hurts"),
}


def main() -> None:
    way = sys.argv[1]
    for line in sys.stdin:
        told = BEHAVIOURS[way](json.loads(line))
        print("this is no JSON" if told is None else json.dumps(told), flush=True)


if __name__ == "__main__":
    main()
