# SPDX-License-Identifier: Apache-2.0
"""Regression: log lines of a green process carried the id of the newest request instead of their own."""

import subprocess
import sys
import textwrap

PROGRAM = textwrap.dedent(
    """
    from oslo_log import log  # as a daemon's master does, before monkey-patching
    from rpcapi.messaging import green

    green.patch()

    import threading
    from oslo_context import context as current
    from rpcapi import context

    both = threading.Barrier(2)
    kept = []

    def handle():
        mine = context.new()
        mine.update_store()
        both.wait()
        kept.append(current.get_current().request_id == mine.request_id)

    handlers = [threading.Thread(target=handle) for _ in range(2)]
    for handler in handlers:
        handler.start()
    for handler in handlers:
        handler.join()
    print(kept)
    """
)


def test_green_threads_keep_separate_request_contexts() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "[True, True]"
