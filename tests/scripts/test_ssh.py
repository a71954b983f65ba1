# SPDX-License-Identifier: MIT
"""target=ssh:HOST with an ssh that only pretends: every host is a folder, the home of its user, on
this machine."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conftest import Uncork, records_of
from faked import Faked, faked
from suite.base.client import BINARIES, LIBRARY, Client
from suite.base.errors import Failure, UsageError
from suite.measure.host_facts import cells_sample
from suite.measure.plan import plan_make
from suite.measure.runner import batch_run
from suite.places.remote import pairs, ssh
from suite.places.remote.hosts import HERE, checksum, definitions_name
from suite.places.remote.pairs import Part, part_parse
from suite.places.remote.shell import SCRIPT, Greeting, Job, exec_line, greeting_find
from suite.places.remote.ssh import Ssh
from suite.places.targets import Targets
from suite.result.plan import PlannedCell
from suite.scenario.scenario import Scenario
from within import uncork_call

__all__ = ["faked"]

SHORT = ("duration=5ms", "warmup=1ms", "place=free")
THREE = "target=ssh:one+ssh:two+ssh:three"
# Of `ssh OPTIONS -- HOST COMMAND`: the options are noted and passed over; $login is the login shell
# of the user.
SSH = """options=; while [ "$1" != -- ]; do options="$options $1"; shift; done; host=$2; shift 2
cd "${0%/*}/$host" 2>/dev/null || { echo "ssh: Could not resolve hostname $host" >&2; exit 255; }
export HOME="$PWD" SSH_CONNECTION='127.0.0.1 40000 127.0.0.1 22'; unset XDG_CACHE_HOME; login=sh
"""
LOGIN = 'exec $login -c "$*"'
MASTER = 'case $options in *" -M "*) exec sh -c "$*" ;; esac\n'  # what follows is for sessions
BATCH = f'{MASTER}case "$*" in *--batch*) ;; *) exec sh -c "$*" ;; esac\n'  # for those that measure
COPY, GREET = """*"'copy'"*""", """*"'greet'"*"""  # sessions that run these scripts
BOOT_PREFIX = 'case $1 in *boot_id) echo another ;; *) exec /bin/cat "$@" ;; esac'  # of `cat`
SHELLS = [name for name in ("sh", "bash", "dash", "zsh", "csh", "tcsh", "fish", "ksh", "mksh",
                            "yash") if shutil.which(name)]


@pytest.fixture
def client(binaries: Client) -> Client:
    """The real binaries as somebody has chosen them, so that none are built in place of them."""
    return replace(binaries, built=None)


@pytest.fixture
def hosts(faked: Faked, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Four hosts, whose ssh does what it is called to do with each session."""
    for name in ("one", "two", "three", "four"):
        (faked.folder / name).mkdir()
    monkeypatch.delenv("UNCORK_SSH", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(faked.folder / "cache"))  # of `local`

    def make(script: str = LOGIN) -> None:
        faked.program("ssh", SSH + script)
    make()
    return make


def cells_of(targets: Targets, *words: str) -> tuple[PlannedCell, ...]:
    """The cells of a plan."""
    return plan_make(targets, Scenario("words"), None, [*words, *SHORT]).plan.cells


def records_in(client: Client, *words: str) -> list[dict[str, Any]]:
    """The records of the cells of these words, each run once."""
    with Targets(client) as targets:
        return [record for cell in cells_of(targets, *words)
                for _, record in batch_run(targets, [cell])]


@pytest.mark.parametrize(("text", "part"), [
    ("local", Part(HERE)), ("ssh:h1", Part("h1")), ("ssh:me@h1", Part("me@h1")),
    ("ssh:h1/10.0.0.1", Part("h1", "10.0.0.1")),
    ("ssh:h1/fd00::1", Part("h1", "fd00::1")),
])
def test_a_part_is_a_host_and_perhaps_where_it_listens(text: str, part: Part):
    assert part_parse(text) == part


@pytest.mark.parametrize("text", [
    "ssh:", "ssh:/10.0.0.1", "ssh:h1/", "ssh:-oProxyCommand=x", "gvisor", "ssh", "ssh:h1/h1",
    "ssh:h1/0.0.0.0", "ssh:h1/::",
])
def test_a_part_that_is_none_is_refused(text: str):
    with pytest.raises(UsageError, match=f"target={text}: "):
        part_parse(text)


def test_a_greeting_is_no_hello():
    hello = b"Welcome to h1 | have a nice day"
    assert greeting_find([hello]) is None
    assert greeting_find([
        hello, b"uncork-host|Linux riscv64|b007|/home/me/.cache|12 3,,|10.0.0.9|10.0.0.1\r",
    ]) == Greeting("Linux riscv64", "b007", "/home/me/.cache", ["12 3", "", ""], "10.0.0.9",
                   "10.0.0.1")


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_understands_what_it_is_told(shell: str):
    odd = ["a b", "$HOME", "*", "~", "`id`", "=ls", "{a,b}", "#x", ";", "&", '"q"', "8/2x16",
           "[::1]:80", "%d", "^x^", "|"]
    assert "\\" not in SCRIPT, "echo(1) of some shells interprets it"
    script = """read -r line\necho "it's of $line"; for word; do echo "$word"; done\n#end\n"""
    done = subprocess.run([shell, "-c", exec_line(Job("show", tuple(odd)).argv)],
                          input=f"{script}first\n", capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines() == ["it's of first", *odd], done.stderr


@pytest.mark.parametrize("word", ["it's", "a\\b", "!!", "two\nlines", "tab\there"])
def test_what_not_every_shell_understands_is_refused(word: str):
    with pytest.raises(Failure, match="cannot be passed to the shell of another machine"):
        exec_line([word])


def test_both_ends_are_on_one_machine_and_the_words_go_by_standard_input(
    client: Client, faked: Faked, hosts: Callable[[str], None],
):
    (record,) = records_in(client, "target=ssh:one", "message=15x2")
    assert record["status"] == "ok" and record["words"]["target"] == "ssh:one" and record["words"][
        "server"] == "own"
    asked = faked.asked()
    assert "-oBatchMode=yes" in asked and "message=15x2" not in " ".join(asked)
    assert sorted(path.name
                  for path in faked.folder.glob("one/.cache/uncork/bin/*/*")) == sorted(
                      (*BINARIES, LIBRARY, definitions_name()))


def test_three_ends_are_each_where_it_is_said_and_nobody_sees_their_key(
    client: Client, faked: Faked, hosts: Callable[[str], None],
):
    with Targets(client) as targets:
        for cell in cells_of(targets, THREE, "workload=proxy", "security=gnutls"):
            ((_, record),) = batch_run(targets, [cell])
            target = targets.target(cell.words)
        key = target.pairs.key_path.read_text().strip().removeprefix("uncork:")
    assert record["status"] == "ok", record
    assert record["words"] | {"target": "", "server": "own",
                              "via": "own"} == record["words"] | {"target": ""}
    asked = "\n".join(faked.asked())
    assert len(key) == 64 and key not in asked
    assert asked.count("/one/.cache/uncork/bin/") and "'--allow-sink' '127.0.0.1/32'" in asked
    for host, program, many in (("one", "client", 2), ("two", "server", 1), ("three", "server", 1)):
        assert asked.count(
            f"/{host}/.cache/uncork/bin/{target.identity()['programs']}/uncork-{program}'") >= many
    assert not target.pairs.folder.exists(), "the folder of its sockets is gone"


def test_one_end_can_be_here(client: Client, hosts: Callable[[str], None]):
    records = records_in(client, "target=local+ssh:two,ssh:one+local", "security=gnutls")
    assert [record["status"] for record in records] == ["ok"] * 2


def test_programs_are_copied_once_and_mended_where_they_are_damaged(
    client: Client, faked: Faked, hosts: Callable[[str], None],
):
    def copies() -> int:
        return "\n".join(faked.asked()).count("'copy'")

    assert records_in(client, "target=ssh:one")[0]["status"] == "ok" and copies() == 4
    assert records_in(client, "target=ssh:one")[0]["status"] == "ok" and copies() == 4
    (server,) = faked.folder.glob("one/.cache/uncork/bin/*/uncork-server")
    with open(server, "r+b") as file:
        file.write(b"#!")
    assert records_in(client, "target=ssh:one")[0]["status"] == "ok" and copies() == 5
    assert checksum(server) == checksum(client.folder / "uncork-server")
    assert {path.name for path in server.parent.iterdir()} == {
        *BINARIES, LIBRARY, definitions_name()}


@pytest.mark.parametrize(("script", "says"), [
    (f'case "$*" in {COPY}) exec head -c 3000 | sh -c "$*" ;; esac\n{LOGIN}',
     "uncork-client cannot be copied to "),
    (f'case "$*" in {COPY}) cat >/dev/null; echo "No space left" >&2; exit 1 ;; esac\n{LOGIN}',
     "on one: No space left"),
    ('case "$*" in *--version*) echo "libuv.so.1: cannot open" >&2; exit 127 ;; esac\n' + LOGIN,
     "uncork-client does not start on one: libuv.so.1: cannot open; scripts/setup/target static "
     "builds"),
])
def test_programs_that_cannot_be_there_are_said_before_anything_runs(
    client: Client, faked: Faked, hosts: Callable[[str], None], script: str, says: str,
):
    hosts(script)
    with Targets(client) as targets, pytest.raises(Failure, match=re.escape(says)):
        cells_of(targets, "target=ssh:one")
    left = faked.folder.glob("one/.cache/uncork/bin/*/uncork-*.*")
    assert not [*left], "nothing half-written stays"


def test_a_machine_of_another_kind_is_said(client: Client, hosts: Callable[[str], None]):
    hosts(
        f'case "$*" in {GREET}) echo "uncork-host|FreeBSD arm64|b|/c||1.1.1.1|1.1.1.2"; '
        f'exit ;; esac\n{LOGIN}')
    with (
        Targets(client) as targets,
        pytest.raises(Failure, match="one is FreeBSD arm64, and these programs are for"),
    ):
        cells_of(targets, "target=ssh:one")


def test_shells_that_print_are_passed_over(client: Client, faked: Faked,
                                           hosts: Callable[[str], None]):
    shell = faked.program("talks",
                          'printf "%s\\n" "Welcome {x}" "" "uncork-host|" 7 "[1]" "{"; exec sh "$@"')
    hosts(f"login={shlex.quote(str(shell))}; {LOGIN}")
    (record,) = records_in(client, "target=ssh:one+ssh:two")
    assert record["status"] == "ok", record


@pytest.mark.parametrize(("script", "says"), [
    ('echo "Permission denied (publickey)." >&2; exit 255',
     "one cannot be reached by ssh: Permission denied (publickey)."),
    ("exec sleep 60", "it did not run sh within 0 s"),
    ("exit 0", "it did not run sh"),
])
def test_a_host_that_lets_nobody_in_is_said_before_anything_runs(
    uncork: Uncork, hosts: Callable[[str], None], monkeypatch: pytest.MonkeyPatch, script: str,
    says: str,
):
    monkeypatch.setattr(ssh, "CONNECT_LIMIT_S", 0.3)
    hosts(script)
    assert f"target=ssh:one: {says}" in uncork.refused("run", "target=ssh:one", *SHORT,
                                                       status=1).replace(
        "one cannot be reached by ssh: it", "it")
    assert not uncork.results.exists()


@pytest.mark.parametrize(("chosen", "status", "says"), [
    ("uncork-no-ssh -F 'some file'", 1, "target=ssh: uncork-no-ssh is missing: "
     "scripts/setup/target ssh installs it"),
    ("ssh -F 'some file", 2, "UNCORK_SSH=ssh -F 'some file: No closing quotation: write it as for "
     "a shell"),
])
def test_a_chosen_ssh_that_is_missing_or_cannot_be_read_is_said_in_a_line(
    uncork: Uncork, monkeypatch: pytest.MonkeyPatch, chosen: str, status: int, says: str,
):
    monkeypatch.setenv("UNCORK_SSH", chosen)
    assert uncork.refused("run", "target=ssh:one", *SHORT, status=status).endswith(says)


@pytest.mark.parametrize(("words", "says"), [
    (["target=ssh:one", "server=10.0.0.1:80"],
     "target=ssh:one starts the ends itself: leave out server=10.0.0.1:80"),
    (["target=ssh:one+ssh:two", "workload=proxy"],
     "workload=proxy has three ends: write client+server+proxy"),
    (["target=ssh:one", "lab=on"], "lab=on makes namespaces on this machine"),
    (["target=ssh:one", "peer=unix:/it's", "transport=unix", "control=none"],
     "cannot be passed to the shell"),
])
def test_words_that_contradict_the_target_are_refused(
    client: Client, hosts: Callable[[str], None], words: list[str], says: str,
):
    with Targets(client) as targets, pytest.raises((UsageError, Failure), match=re.escape(says)):
        for cell in cells_of(targets, *words):
            targets.target(cell.words).facts(cell.given)


def test_a_unix_socket_is_unsupported_where_the_server_is_not_on_loopback(
    client: Client, hosts: Callable[[str], None],
):
    values = "ssh:one,ssh:one+ssh:two,ssh:one+ssh:one"
    with Targets(client) as targets:
        cells = cells_of(targets, f"target={values}", "transport=unix")
    assert [cell.unsupported for cell in cells] == [None, *[
        "transport=unix needs all ends on one machine; a target names it once: ssh:HOST"] * 2]
    assert all(cell.words["server"] == "own" and "server" not in cell.given for cell in cells)


def test_facts_are_asked_of_all_ends_that_a_target_has(client: Client,
                                                       hosts: Callable[[str], None]):
    with Targets(client) as targets:
        plan = plan_make(targets, Scenario("words"), None,
                         [THREE, "workload=request,proxy", *SHORT]).plan
        (given,) = cells_sample(plan).values()
        assert set(targets.target(given).facts(given)) == {"client", "server", "proxy"}


def test_an_address_that_ssh_does_not_tell_must_be_said(client: Client,
                                                        hosts: Callable[[str], None]):
    hosts(f"SSH_CONNECTION='UNKNOWN 65535 UNKNOWN 65535'; {LOGIN}")
    with (
        Targets(client) as targets,
        pytest.raises(Failure, match="the address of two: write ssh:two/ADDRESS"),
    ):
        (cell,) = cells_of(targets, "target=ssh:one+ssh:two")
        targets.target(cell.words).facts(cell.given)
    (record,) = records_in(client, "target=ssh:one+ssh:two/127.0.0.1")
    assert record["status"] == "ok"


@pytest.mark.parametrize(("script", "says"), [
    ('sh -c "$*" | head -c 300', "uncork-client "),
    ("kill -KILL $$", "uncork-client was ended by SIGKILL"),
    ('echo "Connection to one closed by remote host." >&2; exit 255',
     "status 255: Connection to one closed"),
    ('sh -c "$*" | tr "{" "("', "uncork-client left no whole record"),
])
def test_a_session_that_breaks_is_a_failed_run(
    client: Client, hosts: Callable[[str], None], script: str, says: str,
):
    hosts(BATCH + script)
    (record,) = records_in(client, "target=ssh:one")
    assert record["status"] == "failed" and says in record["reason"]
    assert "was lost" not in record["reason"], "the machine answers"


def test_a_run_that_hangs_is_ended(
    client: Client, hosts: Callable[[str], None], monkeypatch: pytest.MonkeyPatch,
):
    hosts(BATCH + "exec sleep 600")
    monkeypatch.setattr(pairs, "runs_limit", lambda cells: -9.5)
    (record,) = records_in(client, "target=ssh:one")
    assert "not finished" in record["reason"]


def test_a_server_that_does_not_start_fails_its_runs_with_its_own_words(
    client: Client, hosts: Callable[[str], None], monkeypatch: pytest.MonkeyPatch,
):
    (record,) = records_in(client, "target=ssh:one+ssh:two/192.0.2.77")
    assert record["status"] == "failed" and record["reason"].startswith("no server on two: ")
    assert "192.0.2.77" in record["reason"]
    monkeypatch.setattr(pairs, "START_LIMIT_S", 0.2)
    hosts(f'{MASTER}case "$*" in *--listen*) exec sleep 60 ;; esac\n{LOGIN}')
    (record,) = records_in(client, "target=ssh:one+ssh:two")
    assert record["reason"] == "no server on two: it does not answer within 0 s"


def master_kill(target: Any, host: str) -> None:
    """Kills the connection to a host."""
    master = target.pairs.masters[host]
    os.killpg(master.pid, signal.SIGKILL)
    master.wait()


def masters(faked: Faked, host: str) -> int:
    """How often a connection to a host was asked for."""
    asked = faked.asked()
    return sum(asked[number:number + 5][0] == "-M" and asked[number:number + 5][4] == host
               for number in range(len(asked) - 4))


def test_a_lost_machine_fails_its_runs_alone_and_is_tried_once_a_round(
    client: Client, faked: Faked, hosts: Callable[[str], None],
):
    with Targets(client) as targets:
        cells = cells_of(targets, "target=ssh:one+ssh:two,ssh:three", "write=nodelay,cork")

        def run_all() -> dict[str, list[str]]:
            found: dict[str, list[str]] = {}
            targets.round_begin()
            for cell in cells:
                ((_, record),) = batch_run(targets, [cell])
                found.setdefault(cell.words["target"],
                                 []).append(record.get("reason", record["status"]))
            return found

        assert run_all() == {"ssh:one+ssh:two": ["ok"] * 2, "ssh:three": ["ok"] * 2}
        lost = targets.target({"target": "ssh:one+ssh:two"})
        assert isinstance(lost, Ssh)
        master_kill(lost, "two")
        (faked.folder / "two").rename(faked.folder / "gone")
        for _ in range(2):
            before, found = masters(faked, "two"), run_all()
            assert all(reason.startswith("two was lost: ") for reason in found["ssh:one+ssh:two"])
            assert found["ssh:three"] == ["ok"] * 2 and masters(faked, "two") == before + 1
        (faked.folder / "gone").rename(faked.folder / "two")
        assert run_all() == {"ssh:one+ssh:two": ["ok"] * 2, "ssh:three": ["ok"] * 2}


def test_a_machine_that_a_cell_has_no_end_on_may_be_lost(client: Client, faked: Faked,
                                                         hosts: Callable[[str], None]):
    with Targets(client) as targets:
        cells = cells_of(targets, THREE, "workload=request,proxy")
        master_kill(targets.target(cells[0].words), "three")
        (faked.folder / "three").rename(faked.folder / "gone")
        records = [record for cell in cells for _, record in batch_run(targets, [cell])]
    assert [record["status"] for record in records] == ["ok",
                                                        "failed"] and "three was lost" in records[
                                                            1]["reason"]


def test_a_machine_that_was_booted_is_of_another_session(
    client: Client, faked: Faked, hosts: Callable[[str], None],
):
    with Targets(client) as targets:
        (cell,) = cells_of(targets, "target=ssh:one")
        assert list(targets.boot_ids()) == ["one"] and len(targets.boot_ids()["one"]) == 36
        faked.program("cat", BOOT_PREFIX)
        master_kill(targets.target(cell.words), "one")
        for _ in range(2):
            ((_, record),) = batch_run(targets, [cell])
            assert record["reason"] == "one was lost: it has been booted since"


def test_a_machine_that_says_nothing_any_more_is_named(
    client: Client, hosts: Callable[[str], None], monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(pairs, "ALIVE_LIMIT_S", 0.2)
    with Targets(client) as targets:
        (cell,) = cells_of(targets, "target=ssh:one+ssh:two")
        hosts(f'{MASTER}[ "$host" = one ] || exec sleep 60\n'
              f'case "$*" in *--batch*) exit 1 ;; esac\n{LOGIN}')
        monkeypatch.setattr(pairs, "START_LIMIT_S", 0.2)
        ((_, record),) = batch_run(targets, [cell])
    assert record["reason"] == ("two was lost: it does not answer within 0 s; no server on two: "
                                "it does not answer within 0 s")


def test_the_commands_to_replay_by_hand_can_be_typed(uncork: Uncork, hosts: Callable[[str], None]):
    done = uncork_call(["run", "target=ssh:one,ssh:one+ssh:two", "message=15x2", "-n", *SHORT],
                       uncork.environment)
    assert done.returncode == 0, done.stderr
    alone, server, asking = ([*words[:2], *shlex.split(words[2])] for words in (
        shlex.split(line, comments=True) for line in done.stdout.splitlines()) if words)
    assert alone[:2] == server[:1] + ["one"] == ["ssh", "one"] and server[:2] == ["ssh", "two"]
    assert alone[2].endswith(
        "/uncork-client") and "message=15x2" in alone and "target=ssh:one" not in alone
    (place,) = [word for word in asking if word.startswith("server=")]
    assert place.removeprefix("server=") == server[server.index("--listen") + 1]
    assert asking[asking.index("--psk") + 1] == server[server.index("--psk") + 1]


def test_a_result_is_gone_on_with_on_the_same_boots_and_has_sessions_of_others(
    uncork: Uncork, faked: Faked, hosts: Callable[[str], None],
):
    words = ("run", "target=ssh:one+ssh:two,local", "rounds=1", *SHORT, "-o",
             str(uncork.results / "x"))
    done = uncork_call(words, uncork.environment)
    assert done.returncode == 0, done.stderr
    records = records_of(uncork.results / "x")
    assert [record["status"] for record in records] == ["ok"] * len(records)
    assert not re.search(r"127\.0\.0\.1|[0-9a-f]{64}", done.stdout)
    assert {record["run"]["cell"].split()[-1] for record in records} == {
        "target=ssh:one+ssh:two",
        "target=local",
    }
    faked.program("cat", BOOT_PREFIX)
    path = uncork.results / "x" / "records.jsonl"
    path.write_bytes(path.read_bytes().rpartition(b"\n{")[0] + b"\n")
    assert "was measured on another boot of one (" in uncork.refused(*words)
    again = uncork_call([*words, "--more"], uncork.environment)
    assert again.returncode == 0, again.stderr


def test_a_killed_runner_leaves_nothing_running(
    uncork: Uncork, faked: Faked, hosts: Callable[[str], None], folder_short: Path,
):
    process = uncork.start("run", "target=ssh:one+ssh:two", "duration=60s")
    deadline = time.monotonic() + 60
    while "--batch" not in " ".join(faked.asked()):
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.02)
    process.kill()
    process.communicate()
    folder = str(faked.folder).encode()

    def left() -> list[bytes]:
        found = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                found.append(path.read_bytes())
            except OSError:
                continue
        return [line for line in found if folder in line]

    while left():
        assert time.monotonic() < deadline, left()
        time.sleep(0.05)
