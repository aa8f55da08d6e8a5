# SPDX-License-Identifier: Apache-2.0
"""What a client process measures of its calls."""

from dataclasses import dataclass

import numpy as np

ECHO = 0  # instead of a batch size
CALL_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class ClientCalls:
    """Calls of one client in one block: end and duration of each in seconds, and the number of refusals.

    ``began`` and ``ends`` are times of the machine's monotonic clock, which all processes share.
    """

    began: float
    ends: np.ndarray
    seconds: np.ndarray
    refusals: int
