# SPDX-License-Identifier: MIT
"""Other machines, by ssh(1): a connection to each, our programs there, and servers that end with
us.

    shell      what a login shell of any kind is told
    machine    one machine: its connection, which is the lifeline of all that runs there
    programs   the binaries, copied there once
    served     a server or a proxy there
"""
