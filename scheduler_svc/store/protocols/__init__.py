# SPDX-License-Identifier: Apache-2.0
"""The verbs of a store by concern: a consumer depends on the narrow protocol that it needs."""
