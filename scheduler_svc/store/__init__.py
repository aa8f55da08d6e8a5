# SPDX-License-Identifier: Apache-2.0
"""The store: host state, claims and the log of one partition, behind one interface."""

from scheduler_svc.store.factory import attach_state_store, open_store
from scheduler_svc.store.interface import Store

__all__ = ["Store", "attach_state_store", "open_store"]
