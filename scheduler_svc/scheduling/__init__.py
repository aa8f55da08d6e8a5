# SPDX-License-Identifier: Apache-2.0
"""Scheduling decisions: selects hosts for calls and claims them before answering."""
