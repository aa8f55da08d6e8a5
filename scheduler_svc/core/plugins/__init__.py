# SPDX-License-Identifier: Apache-2.0
"""External filters and weighers: loaded by entry point, isolated from decisions when they fail, and measured."""
