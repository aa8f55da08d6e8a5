# SPDX-License-Identifier: Apache-2.0
"""What callers request of instances: each request is checked, then recorded for the saga."""
