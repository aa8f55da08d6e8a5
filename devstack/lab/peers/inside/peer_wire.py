# SPDX-License-Identifier: Apache-2.0
"""The peer's end of the line: a JSON object a line comes in, and one goes out.

This folder is run by the Python of a peer's own environment, which holds nothing of ours: only the standard library
and the peer may be imported here.
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

    What the peer itself prints goes to standard error, so that it cannot be taken for an answer.
    """
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            told = {"answer": verbs[asked["verb"]](**asked["values"])}
        except Exception as why:
            # The edge of a process: whatever the peer raises is what there is to tell.
            traceback.print_exc()
            told = {"error": f"{type(why).__name__}: {why}"}
        out.write(json.dumps(told) + "\n")
        out.flush()


def timed(call: Callable[[int], Any], first: int, count: int) -> list[float]:
    """Return the seconds that each of ``count`` calls took, numbered from ``first``."""
    taken = []
    for number in range(first, first + count):
        began = time.perf_counter()
        call(number)
        taken.append(time.perf_counter() - began)
    return taken
