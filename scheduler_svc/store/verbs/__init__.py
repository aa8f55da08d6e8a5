# SPDX-License-Identifier: Apache-2.0
"""The verbs in Python, for backends that run one at a time on a partition and keep what it changed, or nothing."""

from scheduler_svc.store.verbs.partition import Partition
from scheduler_svc.store.verbs.store import VerbStore

__all__ = ["Partition", "VerbStore"]
