# SPDX-License-Identifier: Apache-2.0
"""Folder of the workers' metrics, in prometheus_client's multi-process format with files named by worker index."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from rpcapi import errors


@contextlib.contextmanager
def create(configured: str) -> Iterator[Path]:
    """Yield an empty folder; at exit remove its metrics, or all of a private folder. Raises BadConfiguration."""
    try:
        if configured:
            path = Path(configured)
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            _remove_metric_files(path)
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
            _remove_metric_files(path)
        else:
            shutil.rmtree(path, ignore_errors=True)


def _remove_metric_files(path: Path) -> None:
    for kind in ("counter", "gauge", "histogram", "summary"):
        for file in path.glob(f"{kind}_*.db"):
            file.unlink(missing_ok=True)


def use(path: Path, index: int) -> None:
    """Store this process's metrics as worker ``index``; call it before any metric is declared."""
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(path)
    from prometheus_client import values  # noqa: PLC0415

    values.ValueClass = values.MultiProcessValue(process_identifier=lambda: index)


def remove_gauges(path: Path, index: int) -> None:
    """Remove a dead worker's gauges; a respawned worker continues its counters."""
    for file in path.glob(f"gauge_live*_{index}.db"):
        file.unlink(missing_ok=True)
