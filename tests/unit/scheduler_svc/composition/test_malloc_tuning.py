# SPDX-License-Identifier: Apache-2.0
"""Columns that are dropped and made anew cost no page faults."""

import subprocess
import sys

import pytest

DECISIONS, AT_ONCE, BYTES, PAGE = 50, 10, 800_000, 4096
COUNT_FAULTS = f"""
import resource, threading
import numpy as np
from scheduler_svc.composition.malloc_tuning import keep_freed_memory

def make_columns(count):
    for _ in range(count):
        [np.ones({BYTES}, np.uint8) for _ in range({AT_ONCE})]

def count_faults():
    make_columns(2)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    make_columns({DECISIONS})
    faults.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)

faults = []
{{prepare}}
{{run}}
print(faults[0])
"""
RUNS = {
    "main thread": "count_faults()",
    "other thread": "thread = threading.Thread(target=count_faults); thread.start(); thread.join()",
}


def faults(prepare, run):
    script = COUNT_FAULTS.format(prepare=prepare, run=run)
    return int(subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, timeout=60).stdout)


PAGES = DECISIONS * AT_ONCE * BYTES // PAGE


@pytest.mark.parametrize("thread", RUNS)
def test_columns_that_are_made_anew_have_their_pages(thread):
    assert faults("keep_freed_memory()", RUNS[thread]) < PAGES / 100


def test_columns_have_none_by_default():
    # In other threads it depends on what NumPy allocates beside the columns: up to version 2.3 they keep their pages.
    assert faults("", RUNS["main thread"]) > PAGES / 2
