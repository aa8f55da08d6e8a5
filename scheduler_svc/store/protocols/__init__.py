# SPDX-License-Identifier: Apache-2.0
"""Verbs of a store, split by concern so that each caller depends on a narrow protocol.

Each verb checks its arguments and the store's bounds, then runs its function in scheduler_svc.store.verbs or a script.
"""
