# SPDX-License-Identifier: Apache-2.0
"""The peer's side of the protocol: reads and writes one JSON object per line.

It runs in the peer's own environment: only the standard library and the peer may be imported here.
"""

import json
import os
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from typing import Any

Verb = Callable[..., Any]


def serve(verbs: Mapping[str, Verb]) -> None:
    """Answer ``{"verb": ..., "values": {...}}`` with ``{"answer": ...}`` or ``{"error": ...}`` until the input ends.

    The peer's own output goes to standard error.
    """
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            reply = {"answer": verbs[request["verb"]](**request["values"])}
        except Exception as why:
            # Any error of the peer becomes the reply.
            traceback.print_exc()
            reply = {"error": f"{type(why).__name__}: {why}"}
        out.write(json.dumps(reply) + "\n")
        out.flush()


def timed(call: Callable[[int], Any], first: int, count: int) -> list[float]:
    """Return the seconds of ``count`` calls, numbered from ``first``."""
    durations = []
    for number in range(first, first + count):
        began = time.perf_counter()
        call(number)
        durations.append(time.perf_counter() - began)
    return durations
