# SPDX-License-Identifier: MIT
"""A finished block for a mail or a commit message, and what becomes of one that was posted. Pure.

    rules      what text must obey to come out of mail programs, git am and checkpatch as it went in
    figures    the figures of a comparison, or of a result, as tables of short texts
    foot       the lines below: rounds and noise, machines, network path, programs, what differs,
               what signs mean
    command    the one command that measures the same plan again
    block      all of it together, as a document, which present/tables/mail.py prints: the blocks
               that words of the shell ask for, or that a posted block was
    parse      a mail as its reader sees it; a posted block, however it was quoted, as figures by
               name, and which of them are not those of a result
"""
