# SPDX-License-Identifier: Apache-2.0
"""RPC contract of gantt's services, also usable alone as a client library."""
