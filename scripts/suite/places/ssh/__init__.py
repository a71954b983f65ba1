# SPDX-License-Identifier: MIT
"""Other machines, by ssh(1): a connection to each, the programs there, and servers that end with
the runner.

    machine    one machine, its connection, commands that any login shell understands, and a server
               or a proxy that the runner starts
    programs   the binaries, copied there once for each build
    target     target=ssh:HOST
"""
