# SPDX-License-Identifier: MIT
"""Machines for tests: N network namespaces on one bridge, each with an sshd of its own, and a place
that reaches them.

A host has processes, mounts, a name, a boot id and a home of its own, so that nothing of it is this
machine's: its sshd needs no user, no service and no folder here. All that it starts lives in its
process namespace, whose first process reads a pipe of ours: the kernel ends the host with that
process, and that process ends with us.

    hosts     h1 198.19.0.1   h2 198.19.0.2   ...   all of them behind one bridge, in a namespace of
              its own
    runner    198.19.0.254    where a test starts `uncork run` (`Hosts.inside()`)
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import socket
import subprocess
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from suite.base.client import ROOT
from suite.base.errors import Failure
from suite.places.lab import command_run, namespace_inside, namespace_make, namespace_path

# of those reserved for benchmarks (RFC 2544), and no lab of the suite has it
NETWORK, PREFIX_BITS = "198.19.0", 24
RUNNER_NUMBER = 254
PORT = 22
STARTS_S = 20.0  # a host is there within some 0.1 s, on a machine that is not busy
SSHD_PROGRAMS = ("sshd", "sshd-session", "sshd-auth")  # OpenSSH 9.8 and newer has the last two
UNPACKED = ROOT / "build" / "sshd"  # by scripts/setup/sshd.sh, where the system has no sshd

# The first process of a host: $1 is its folder, $2 its name, $3 a folder that it does not see, the
# rest its sshd.
INIT = """
mount -t tmpfs tmpfs /run && mkdir -m 755 /run/sshd && mount -t tmpfs tmpfs /var/log || exit
for file in passwd shadow; do mount --bind "$1/$file" "/etc/$file" || exit; done
mount --bind "$1/boot_id" /proc/sys/kernel/random/boot_id && hostname "$2" || exit
[ -z "$3" ] || mount -t tmpfs tmpfs "$3" || exit
shift 3
"$@" </dev/null &
read -r _
"""

SSHD_CONFIG = """\
Port {port}
ListenAddress {address}
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/authorized_keys
PidFile none
UsePAM no
StrictModes no
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
PrintMotd no
PrintLastLog no
UseDNS no
Subsystem sftp internal-sftp
"""

SSH_CONFIG = """\
{hosts}
Host *
    User root
    Port {port}
    IdentityFile {folder}/key
    IdentitiesOnly yes
    UserKnownHostsFile {folder}/known_hosts
    GlobalKnownHostsFile /dev/null
    StrictHostKeyChecking yes
"""


@dataclass(frozen=True)
class Daemon:
    """An sshd: its command, and what its configuration must say for it."""

    command: tuple[str | Path, ...]
    lines: str = ""


def system_sshd() -> str | None:
    """The absolute path of the system's sshd, by which it must be started."""
    return shutil.which("sshd",
                        path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"]))


def daemon_choose(folder: Path) -> Daemon:
    """The system's sshd, or a copy of the one that was unpacked for tests: the tree may be hidden
    from hosts."""
    found = system_sshd()
    if found:
        return Daemon((found,))
    copy = folder / "sshd"
    shutil.copytree(UNPACKED, copy, symlinks=True, dirs_exist_ok=True)
    libraries = os.pathsep.join(str(path) for path in (copy / "usr/lib").glob("*-linux-gnu*"))
    others = dict(zip(("SshdSessionPath", "SshdAuthPath"), SSHD_PROGRAMS[1:], strict=True))
    lines = [f"{option} {copy / 'usr/lib/openssh' / name}\n" for option, name in others.items()
             if (copy / "usr/lib/openssh" / name).exists()]
    return Daemon(("env", f"LD_LIBRARY_PATH={libraries}", copy / "usr/sbin/sshd"), "".join(lines))


def namespaces_refusal() -> str | None:
    """Why no network namespace can be made here; None if one can."""
    try:
        with namespace_make() as namespace, namespace_inside(namespace_path(namespace)):
            return None
    except Failure as error:
        return str(error)


def hosts_refusal() -> str | None:
    """Why there can be no hosts here; None if there can."""
    refusal = namespaces_refusal()
    if refusal is not None:
        return refusal
    for program in ("ssh", "ssh-keygen"):
        if shutil.which(program) is None:
            return f"{program} is missing (package openssh-client)"
    if system_sshd() is None and not (UNPACKED / "usr/sbin/sshd").exists():
        return ("sshd is missing (package openssh-server; scripts/test suite unpacks it into "
                "build/sshd)")
    tried = subprocess.run(["unshare", "--mount", "--pid", "--uts", "--fork", "--mount-proc",
                            "mount", "-t", "tmpfs",
                            "tmpfs", "/run"], capture_output=True, text=True, timeout=STARTS_S)
    return None if tried.returncode == 0 else ("no mounts of its own for a host: "
                                               f"{tried.stderr.strip()}")


def key_make(path: Path) -> str:
    """A fresh key pair in a file and FILE.pub; gives the public one."""
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", path.name, "-f", path],
                   check=True,
                   capture_output=True, timeout=STARTS_S)
    return path.with_suffix(".pub").read_text()


@dataclass
class Host:
    """One machine; `folder` has its home, its keys and the log of its sshd."""

    name: str
    address: str
    folder: Path
    namespace: str
    daemon: Daemon
    hidden: Path | None
    process: subprocess.Popen[bytes] | None = None

    @property
    def home(self) -> Path:
        """Where its user is at home, as this machine sees it."""
        return self.folder / "home"

    @property
    def log(self) -> str:
        """What its sshd has said."""
        return (self.folder / "sshd.log").read_text()

    def files_make(self, key: str, shell: str) -> str:
        """All that it has of its own; gives the public key of its sshd."""
        self.home.mkdir(parents=True)
        (self.folder / "passwd").write_text(f"root:x:0:0:root:{self.home}:{shell}\n"
                                            "sshd:x:65534:65534::/run/sshd:/bin/false\n")
        (self.folder / "shadow").write_text("root:*:1::::::\n")
        (self.folder / "boot_id").write_text(f"{uuid.uuid4()}\n")
        (self.folder / "authorized_keys").write_text(key)
        (self.folder / "sshd_config").write_text(
            SSHD_CONFIG.format(port=PORT, address=self.address, folder=self.folder) +
            self.daemon.lines)
        return key_make(self.folder / "host_key")

    def start(self) -> None:
        """Switches it on; it is off or was never on."""
        assert self.process is None
        command = ["unshare", "--mount", "--pid", "--uts", "--fork", "--kill-child",
                   "--mount-proc", "sh", "-c", INIT,
                   "init", self.folder, self.name, self.hidden or "", *self.daemon.command, "-D",
                   "-e", "-f",
                   self.folder / "sshd_config"]
        with namespace_inside(self.namespace), open(self.folder / "sshd.log", "ab") as log:
            self.process = subprocess.Popen(command, cwd="/", stdin=subprocess.PIPE, stdout=log,
                                            stderr=log)

    def stop(self) -> None:
        """Pulls its plug: when this returns all of its processes are dead, and the kernel has
        closed their sockets."""
        process, self.process = self.process, None
        if process is not None:
            with contextlib.suppress(BrokenPipeError):
                # the first process finds its pipe closed and ends, and all others with it
                process.communicate()

    def pids(self) -> list[int]:
        """All of its processes, as this machine numbers them."""
        assert self.process is not None
        (first,) = Path(
            f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        own, found = os.readlink(f"/proc/{first}/ns/pid"), []
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):  # it has ended meanwhile
                if os.readlink(process / "ns/pid") == own:
                    found.append(int(process.name))
        return found

    def programs(self, *names: str) -> list[int]:
        """Its processes that run one of these programs, by their ids here, without zombies."""
        found = []
        for pid in self.pids():
            with contextlib.suppress(OSError):
                # "sshd: root" as well
                begun = Path(f"/proc/{pid}/cmdline").read_bytes().decode().partition("\0")[0]
                if Path(begun.partition(":")[0]).name in names:
                    found.append(pid)
        return found

    def sshd_kill(self) -> None:
        """Kills its sshd and all connections that it has; what they started is left as they leave
        it."""
        deadline = time.monotonic() + STARTS_S
        while pids := self.programs(*SSHD_PROGRAMS):  # a new one may begin, and none ends at once
            assert time.monotonic() < deadline, f"{pids} cannot be killed"
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def link_set(self, state: str) -> None:
        """`down`: nothing comes from it or gets to it any more, and nobody is told; `up` again."""
        command_run(f"ip link set dev up0 {state}", self.namespace)


@dataclass
class Hosts:
    """Hosts and the place from which they can be reached; `hosts` by name. `held` keeps their
    namespaces."""

    folder: Path
    daemon: Daemon
    held: contextlib.ExitStack
    switch: str = ""
    runner: str = ""
    hosts: dict[str, Host] = field(default_factory=dict)

    @property
    def ssh(self) -> str:
        """The command by which the runner reaches them by their names, as UNCORK_SSH takes it."""
        return shlex.join(["ssh", "-F", str(self.folder / "ssh_config")])

    @contextlib.contextmanager
    def inside(self) -> Iterator[None]:
        """The calling thread, and what it starts, is where the hosts can be reached meanwhile."""
        with namespace_inside(self.runner):
            yield

    def namespace_add(self) -> str:
        """A new namespace; gives its path."""
        return namespace_path(self.held.enter_context(namespace_make()))

    def plug(self, namespace: str, number: int) -> str:
        """Connects a namespace to the bridge; gives its address."""
        address = f"{NETWORK}.{number}"
        for line in (f"add name port{number} type veth peer name up0 netns {namespace}",
                     f"set dev port{number} master bridge up"):
            command_run(f"ip link {line}", self.switch)
        for line in ("link set lo up", "link set dev up0 up",
                     f"address add {address}/{PREFIX_BITS} dev up0"):
            command_run(f"ip {line}", namespace)
        return address

    def await_ready(self, name: str) -> None:
        """Waits until the sshd of a host answers."""
        host, deadline = self.hosts[name], time.monotonic() + STARTS_S
        while True:
            with contextlib.suppress(OSError), self.inside(), \
                    socket.create_connection((host.address, PORT), timeout=1) as connection:
                if connection.recv(4) == b"SSH-":
                    return
            alive = host.process and host.process.poll() is None
            assert alive and time.monotonic() < deadline, host.log
            time.sleep(0.01)


def host_add(hosts: Hosts, name: str, key: str, shell: str, hidden: Path | None) -> str:
    """One more host, not yet on; gives the lines by which ssh knows it."""
    namespace = hosts.namespace_add()
    host = hosts.hosts[name] = Host(name, hosts.plug(namespace, len(hosts.hosts) + 1),
                                    hosts.folder / name, namespace,
                                    hosts.daemon, hidden)
    public = host.files_make(key, shell)
    with open(hosts.folder / "known_hosts", "a") as file:
        file.write(f"{host.address} {public}")
    return f"Host {name}\n    HostName {host.address}"


@contextlib.contextmanager
def hosts_open(folder: Path, count: int, shell: str = "/bin/sh",
               hidden: Path | None = None) -> Iterator[Hosts]:
    """`count` hosts that are on, named h1, h2, ..., with all that they have in a folder of the
    test's; gone afterwards.

    `shell` is what their user has for one; they do not see the folder `hidden`, which must not be
    above `folder`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    hosts = Hosts(folder, daemon_choose(folder), contextlib.ExitStack())
    hosts.switch, hosts.runner = hosts.namespace_add(), hosts.namespace_add()
    try:
        command_run("ip link add name bridge type bridge", hosts.switch)
        command_run("ip link set dev bridge up", hosts.switch)
        hosts.plug(hosts.runner, RUNNER_NUMBER)
        key = key_make(folder / "key")
        known = [host_add(hosts, f"h{number}", key, shell, hidden)
                 for number in range(1, count + 1)]
        (folder / "ssh_config").write_text(SSH_CONFIG.format(hosts="\n".join(known), port=PORT,
                                                             folder=folder))
        for host in hosts.hosts.values():
            host.start()
        for name in hosts.hosts:
            hosts.await_ready(name)
        yield hosts
    finally:
        for host in hosts.hosts.values():
            host.stop()
        hosts.held.close()
