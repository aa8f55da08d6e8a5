# SPDX-License-Identifier: Apache-2.0
"""Pure arithmetic and vocabulary that deciders, claimers and agents share."""
