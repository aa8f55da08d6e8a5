# SPDX-License-Identifier: Apache-2.0
"""Newest stamp of a host's partition: evidence that exposes a store restored from a backup."""

import json
import threading
from pathlib import Path

from oslo_log import log

from compute_agent import state_files
from rpcapi.resources.stamps import place_of

LOG = log.getLogger(__name__)


class StampFile:
    """Thread-safe newest stamp of a host's partition.

    Its file is not synced: an older stamp is weaker evidence, but never wrong.
    """

    def __init__(self, path: Path, partition: str) -> None:
        self._path = path
        self._partition = partition
        self._lock = threading.Lock()
        self._newest = self._read()

    @property
    def newest(self) -> str | None:
        return self._newest

    def keep(self, stamp: str | None) -> None:
        """Store a stamp unless it is older than the newest stamp, which is evidence of a rollback."""
        if stamp is None:
            return
        with self._lock:
            if stamp == self._newest or place_of(stamp) < place_of(self._newest):
                return
            self._newest = stamp
            try:
                state_files.replace(self._path, json.dumps({"partition": self._partition, "stamp": stamp}))
            except OSError as error:
                LOG.warning("Cannot save the stamp, file=%s: %s", self._path, error)

    def _read(self) -> str | None:
        try:
            record = json.loads(self._path.read_text(encoding="utf-8"))
            stamp = record["stamp"] if record["partition"] == self._partition else None
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            LOG.warning("Ignored the stamp until the next one, file=%s: %s", self._path, error)
            return None
        return stamp if isinstance(stamp, str) else None
