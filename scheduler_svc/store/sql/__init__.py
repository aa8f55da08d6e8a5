# SPDX-License-Identifier: Apache-2.0
"""SQL backend on PostgreSQL or SQLite: each verb is one transaction that locks its partition."""

from scheduler_svc.store.sql.store import SqlStore

__all__ = ["SqlStore"]
