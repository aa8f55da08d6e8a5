# SPDX-License-Identifier: Apache-2.0
"""Peer's side of the pipe protocol, in JSON. Imports only the standard library, for the peer's environment."""

import json
import os
import time
import traceback
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from typing import Any

Verb = Callable[..., Any]


def serve(verbs: Mapping[str, Verb]) -> None:
    """Answer ``{"verb": ..., "values": {...}}`` with ``{"answer": ...}`` or ``{"error": ...}`` until the pipe ends."""
    pipe = Connection(int(os.environ["GANTT_LAB_PIPE"]))
    while True:
        try:
            request = json.loads(pipe.recv_bytes())
        except EOFError:
            return
        try:
            reply = {"answer": verbs[request["verb"]](**request["values"])}
        except Exception as why:
            traceback.print_exc()
            reply = {"error": f"{type(why).__name__}: {why}"}
        pipe.send_bytes(json.dumps(reply).encode())


def timed(call: Callable[[int], Any], first: int, count: int) -> list[float]:
    """Return the seconds of each of ``count`` calls, numbered from ``first``."""
    durations = []
    for number in range(first, first + count):
        began = time.perf_counter()
        call(number)
        durations.append(time.perf_counter() - began)
    return durations
