# SPDX-License-Identifier: Apache-2.0
"""Verbs of a store by concern, so that each consumer depends on a narrow protocol.

A verb validates its arguments and the store's bounds, then runs its function in scheduler_svc.store.verbs or a script.
"""
