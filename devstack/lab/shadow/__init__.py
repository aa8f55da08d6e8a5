# SPDX-License-Identifier: Apache-2.0
"""gantt-lab shadow: two schedulers' decisions about the same requests, compared."""
