# SPDX-License-Identifier: Apache-2.0
"""Records, claims and guests are compared, and what one of them has lost is mended."""
