# SPDX-License-Identifier: Apache-2.0
"""The contract between gantt's services, usable alone as the scheduler's client library."""
