# SPDX-License-Identifier: Apache-2.0
"""lab.sh shadow: comparison of two schedulers' decisions about the same requests."""
