# SPDX-License-Identifier: Apache-2.0
"""Private servers that only tests use, next to those of `devstack.servers`."""
