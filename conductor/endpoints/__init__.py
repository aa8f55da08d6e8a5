# SPDX-License-Identifier: Apache-2.0
"""What peers may call: decode, one domain call, encode."""
