# SPDX-License-Identifier: Apache-2.0
"""lab.sh placement: gantt-placement compared with OpenStack Placement and with an empty server, over HTTP."""
