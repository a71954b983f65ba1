# SPDX-License-Identifier: MIT
"""What on this machine will disturb a result. It looks and changes nothing.

It imports base. It never reads a result: measure stores what it found, and present shows that.
"""
