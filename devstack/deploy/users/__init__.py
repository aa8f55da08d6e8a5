# SPDX-License-Identifier: Apache-2.0
"""Users of RabbitMQ, Redis and Sentinel, and the private folders of their passwords: also for a deployment."""
