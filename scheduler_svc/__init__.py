# SPDX-License-Identifier: Apache-2.0
"""The scheduler service: sole owner of host state and claims; it decides and commands nobody."""
