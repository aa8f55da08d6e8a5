# SPDX-License-Identifier: Apache-2.0
"""lab.sh soak."""
