# SPDX-License-Identifier: Apache-2.0
"""The folder in which the workers share their figures, in prometheus_client's multi-process form.

The files are named by worker index, not by process id: a respawned worker's counters go on where the dead
one's stopped, and there are never more files than workers.
"""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from rpcapi import errors


@contextlib.contextmanager
def folder(configured: str) -> Iterator[Path]:
    """Give an empty folder of mode 0700, and leave nothing of ours behind.

    Raises BadConfiguration when it cannot be made or written.
    """
    try:
        if configured:
            path = Path(configured)
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            _wipe(path)
            if not os.access(path, os.W_OK | os.X_OK):
                raise PermissionError(f"no permission to write into '{path}'")
        else:
            path = Path(tempfile.mkdtemp(prefix="gantt-metrics-", dir=os.environ.get("RUNTIME_DIRECTORY")))
    except OSError as exc:
        raise errors.BadConfiguration(why=f"[metrics] folder cannot be used: {exc}") from exc
    try:
        yield path
    finally:
        if configured:
            _wipe(path)
        else:
            shutil.rmtree(path, ignore_errors=True)


def _wipe(path: Path) -> None:
    for kind in ("counter", "gauge", "histogram", "summary"):
        for file in path.glob(f"{kind}_*.db"):
            file.unlink(missing_ok=True)


def use(path: Path, index: int) -> None:
    """Keep this process's metrics in ``path`` as worker ``index``; call it before any metric is declared."""
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(path)
    # prometheus_client looks for the variable while it is imported, so not before this line.
    from prometheus_client import values  # noqa: PLC0415

    values.ValueClass = values.MultiProcessValue(process_identifier=lambda: index)


def forget_gauges(path: Path, index: int) -> None:
    """Drop the gauges of a worker that died; its counts stay in the sums."""
    for file in path.glob(f"gauge_live*_{index}.db"):
        file.unlink(missing_ok=True)
