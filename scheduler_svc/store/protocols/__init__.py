# SPDX-License-Identifier: Apache-2.0
"""Verbs of a store by concern, so that each consumer depends on a narrow protocol.

A verb validates its arguments and checks the store's bounds. The backend then runs the function in
scheduler_svc.store.verbs, or an equivalent script.
"""
