# SPDX-License-Identifier: Apache-2.0
"""Service hosts at work: threads, timers, reports."""
