# SPDX-License-Identifier: Apache-2.0
"""Build saga: the steps that the lease holder runs for a request."""
