# SPDX-License-Identifier: MIT
"""uncork against bare loops and against other tools: `bench/run`, docs/performance.md."""
