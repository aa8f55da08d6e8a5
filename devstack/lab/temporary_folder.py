# SPDX-License-Identifier: Apache-2.0
"""A temporary folder with what runs in it for the duration of a measurement."""

import contextlib
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from devstack.lab.interruption import defer_signals

ProcessT = TypeVar("ProcessT")


@contextlib.contextmanager
def in_temporary_folder(make: Callable[[Path], ProcessT], end: Callable[[ProcessT], object]) -> Iterator[ProcessT]:
    """Yield what ``make`` returns for a new folder; ``end`` it and remove the folder afterwards.

    Termination signals are deferred during the three.
    """
    cleanup = contextlib.ExitStack()
    try:
        with defer_signals():
            folder = Path(tempfile.mkdtemp(prefix="gantt-lab-"))
            cleanup.callback(shutil.rmtree, folder, ignore_errors=True)
            process = make(folder)
            cleanup.callback(end, process)
        yield process
    finally:
        with defer_signals():
            cleanup.close()
