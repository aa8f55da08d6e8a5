# SPDX-License-Identifier: Apache-2.0
"""The scheduler service: the sole owner of host state and claims. It selects hosts, but sends them no commands."""
