# SPDX-License-Identifier: Apache-2.0
"""The verbs in Python, for backends that run them one at a time on a partition, each as a transaction."""

from scheduler_svc.store.verbs.partition import PartitionState
from scheduler_svc.store.verbs.store import VerbStore

__all__ = ["PartitionState", "VerbStore"]
