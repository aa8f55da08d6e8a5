# SPDX-License-Identifier: Apache-2.0
"""The seed of random examples: fresh with each commit, and the same in each run of a commit."""

import functools
import os

from devstack.lab import saved_runs

VARIABLE = "GANTT_TEST_SEED"


@functools.cache
def current_seed() -> int:
    """Return the seed that the environment names, else that of the commit; 0 without a repository."""
    text = os.environ.get(VARIABLE)
    if text is not None:
        return int(text)
    commit = saved_runs.present_commit().rstrip("+")
    return 0 if commit == saved_runs.UNKNOWN_COMMIT else int(commit[:8], 16)


def describe() -> str:
    """Return how to repeat the examples of this run."""
    return f"examples: {VARIABLE}={current_seed()}"
