# SPDX-License-Identifier: Apache-2.0
"""The house of Placement: its model, its HTTP API, the migration from and to another one, and a shadow."""
