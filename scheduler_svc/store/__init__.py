# SPDX-License-Identifier: Apache-2.0
"""The store: host state, claims and the log of one partition, behind one interface."""

from scheduler_svc.store.factory import open_beside, open_store
from scheduler_svc.store.interface import Store

__all__ = ["Store", "open_beside", "open_store"]
