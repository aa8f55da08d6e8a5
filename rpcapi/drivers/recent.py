# SPDX-License-Identifier: Apache-2.0
"""Remember what was begun lately, so that a message sent twice runs once."""

import threading
from collections import OrderedDict


class Recent:
    """The last so many keys."""

    def __init__(self, most: int = 1024) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._keys: OrderedDict[str, None] = OrderedDict()

    def first(self, key: str) -> bool:
        """Whether this key is new; it no longer is afterwards."""
        with self._lock:
            if key in self._keys:
                return False
            self._keys[key] = None
            if len(self._keys) > self._most:
                self._keys.popitem(last=False)
            return True
