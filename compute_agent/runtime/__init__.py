# SPDX-License-Identifier: Apache-2.0
"""Runtime of service hosts: threads, timers, reports."""
