# SPDX-License-Identifier: Apache-2.0
"""lab.sh chaos: faults on a whole cluster under load, and a check of the promises to its callers."""
