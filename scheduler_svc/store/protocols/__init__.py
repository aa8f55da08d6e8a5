# SPDX-License-Identifier: Apache-2.0
"""The verbs of a store by concern: a consumer depends on the narrow protocol that it needs.

A verb validates its arguments and refuses what a bound forbids. Then the backend runs a function of
scheduler_svc.store.verbs, or a script that equals it.
"""
