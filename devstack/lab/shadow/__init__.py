# SPDX-License-Identifier: Apache-2.0
"""lab.sh shadow: compares two schedulers' decisions about the same requests."""
