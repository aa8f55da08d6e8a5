# SPDX-License-Identifier: Apache-2.0
"""gantt-lab shadow: compares two schedulers' decisions about the same requests."""
