# SPDX-License-Identifier: Apache-2.0
"""The RPC contract between gantt's services, usable alone as a client library of the scheduler."""
