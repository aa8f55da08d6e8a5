# SPDX-License-Identifier: Apache-2.0
"""Detection of duplicate requests by recent ids."""

import threading
from collections import OrderedDict


class RecentIds:
    def __init__(self, max_keys: int = 1024) -> None:
        self._max_keys = max_keys
        self._lock = threading.Lock()
        self._keys: OrderedDict[str, None] = OrderedDict()

    def add_if_new(self, key: str) -> bool:
        with self._lock:
            if key in self._keys:
                return False
            self._keys[key] = None
            if len(self._keys) > self._max_keys:
                self._keys.popitem(last=False)
            return True
