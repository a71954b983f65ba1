# SPDX-License-Identifier: MIT
"""Finds what on this machine will disturb a result. It changes nothing.

It imports base. It never reads a result: measure stores its findings, and present shows them.
"""
