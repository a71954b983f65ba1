# SPDX-License-Identifier: MIT
"""Other machines, by ssh(1): a connection to each, the programs there, and servers that end with
the runner.

    shell      commands that a login shell of any kind understands. Pure.
    machine    one machine and its connection, the lifeline of all that runs there
    programs   the binaries, copied there once for each build
    server     a server or a proxy that the runner starts
    target     target=ssh:HOST
"""
