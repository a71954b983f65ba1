# SPDX-License-Identifier: MIT
"""What commands write: to standard output that takes nothing, under names that are not UTF-8, and
never in place of a link, a pipe or a device."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from answers import NODELAY
from conftest import ROOT, Uncork
from suite.base.client import claim_names
from suite.base.errors import Failure
from suite.commands import COMMANDS
from suite.result.files import file_write
from test_run import SHORT

PAIR = ("write=nodelay", "write=cork", "place=together")
CALLS = {  # by command what it is asked of a result; {} is its folder
    "table": "{}", "table --csv": "{}", "table --json": "{}", "table --html": "{}",
    "show": "{} write=cork place=together", "check": "{}", "compare": "{} " + " ".join(PAIR),
    "compare --json": "{} " + " ".join(PAIR), "paste": "{} " + " ".join(PAIR), "report": "{}",
    "report -o -": "{}", "plot": "{}", "export": "{}",
    "export -o -": "{} write=cork place=together"}
OTHERS = ("--help", "--version", "help table", "list", "list --json", "list write", "subjects",
          "claims list syq-header-body", "complete 'uncork ta'", "doctor", "doctor --json",
          "lab status", "setup", "run -n write=cork place=free")
STREAMS = {"closed": ">&-", "full": ">/dev/full"}
NAME = b"r\xffs".decode(errors="surrogateescape")


def call(uncork: Uncork, arguments: str, redirection: str = "", cwd: Path | None = None
         ) -> subprocess.CompletedProcess[bytes]:
    """`uncork ARGUMENTS` as a process of a shell."""
    command = f"{shlex.join(uncork.command())} {arguments} {redirection}"
    return subprocess.run(["bash", "-c", command], env=uncork.environment, capture_output=True,
                          timeout=60, cwd=cwd)


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("command", [*CALLS, *OTHERS])
def test_no_command_loses_its_output_with_status_0(uncork, tmp_path, command, stream) -> None:
    if not stat.S_ISCHR(os.stat("/dev/full").st_mode):
        pytest.skip("/dev/full is no device here")
    folder = shutil.copytree(NODELAY, tmp_path / "r")
    asked = CALLS.get(command, "").format(shlex.quote(str(folder)))
    done = call(uncork, f"{command} {asked}", STREAMS[stream], tmp_path)
    lines = [line for line in done.stderr.decode().splitlines()
             if not line.startswith("uncork: left out")]
    assert done.returncode == 1 and len(lines) == 1, done
    assert lines[0].startswith("uncork: standard output"), done


def test_closed_standard_error_puts_no_note_into_standard_output(uncork: Uncork) -> None:
    asked = f"table --csv {NODELAY} write=cork"
    assert call(uncork, asked, "2>&-").stdout == call(uncork, asked).stdout


@pytest.mark.parametrize("closed", ["<&-", "2>&-", "<&- 2>&-"])
def test_a_run_needs_neither_standard_input_nor_standard_error(uncork, tmp_path, closed) -> None:
    """By the launcher: bash has the script open, as a stream that is closed."""
    words = shlex.join(["place=free", "write=cork", "rounds=1", *SHORT])
    done = subprocess.run(
        ["bash", "-c", f"{ROOT}/scripts/uncork run {words} -o {tmp_path}/r {closed}"],
        env=uncork.environment, capture_output=True, timeout=60)
    assert done.returncode == 0, done
    records = (tmp_path / "r/records.jsonl").read_text().splitlines()
    assert records and all(json.loads(line)["status"] == "ok" for line in records)


@pytest.mark.parametrize("command", CALLS)
def test_a_folder_whose_name_is_not_utf_8_is_read_and_written(uncork, tmp_path, command) -> None:
    plain = shutil.copytree(NODELAY, tmp_path / "rxs")
    folder = shutil.copytree(NODELAY, tmp_path / NAME)
    other, done = (call(uncork, f"{command} {CALLS[command].format(shlex.quote(str(one)))}")
                   for one in (plain, folder))
    assert done.returncode == other.returncode, done.stderr
    assert done.stderr == other.stderr.replace(b"rxs", "r\ufffds".encode())
    if "json" in command:
        json.loads(done.stdout)
    written = {path.relative_to(folder) for path in folder.rglob("*")}
    assert written == {path.relative_to(plain) for path in plain.rglob("*")}
    for path in folder.rglob("*.html"):
        path.read_bytes().decode()
    if command in ("report", "plot", "export"):
        assert os.fsencode(folder) in done.stdout and done.stdout.count(b"\n") >= 1


def test_a_page_has_commands_that_find_a_folder_whose_name_is_not_utf_8(uncork, tmp_path) -> None:
    folder = shutil.copytree(NODELAY, tmp_path / NAME)
    assert call(uncork, f"report {shlex.quote(str(folder))}").returncode == 0
    page = (folder / "report.html").read_text()
    assert f"uncork table $'{tmp_path}/r\\xffs'" in page
    assert "r\ufffds" in page


@pytest.mark.parametrize("arguments", [
    "table @", "verify @ @", "run @", "run @.toml", "list @", "run -o @/x -n write=@",
    "run -n place=free build=@", "run -n place=free subject=@", "claims report @",
    "claims list @", "bisect @ HEAD --fail-if 'segments_per_message > 1' message=64",
    "bisect HEAD~1 HEAD --tree @ --build true --fail-if 'segments_per_message > 1' message=64",
    "@", "help @", "setup @", "lab up @=1", "compare @ @", "complete 'uncork table @'",
    "table @ --csv", "export @", "plot @", "report @ -o @", "check @", "paste @",
])
def test_a_name_that_is_not_utf_8_and_names_nothing_is_answered_in_one_line(
    uncork, tmp_path, arguments,
) -> None:
    done = call(uncork, arguments.replace("@", NAME), cwd=tmp_path)
    if arguments.startswith("complete"):
        assert (done.returncode, done.stderr) == (0, b"")
        return
    assert done.returncode in (1, 2) and not done.stdout, done
    assert b"Traceback" not in done.stderr and done.stderr.count(b"\n") == 1, done.stderr


def test_a_run_into_a_folder_whose_name_is_not_utf_8_can_be_resumed(uncork, tmp_path) -> None:
    words = shlex.join(["place=free", "write=cork", "rounds=1", *SHORT])
    folder = tmp_path / NAME
    done = call(uncork, f"run {words} -o {folder}", cwd=tmp_path)
    assert done.returncode == 0 and os.fsencode(NAME) + b"\n" in done.stdout, done.stderr
    assert call(uncork, f"run {folder} --more", cwd=tmp_path).returncode == 0


def link_make(path: Path) -> None:
    """A link to a file with a text, in another folder."""
    behind = path.parents[1] / "behind"
    behind.write_text("text")
    path.symlink_to(behind)


def device_make(path: Path) -> None:
    """A device like /dev/null."""
    try:
        os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    except OSError as error:
        pytest.skip(f"mknod(2) is not permitted here: {error.strerror}")


SPECIAL: dict[str, Callable[[Path], None]] = {  # how it is made
    "a link": link_make, "a dangling link": lambda path: path.symlink_to("nothing"),
    "a pipe": os.mkfifo, "a device": device_make, "a folder": Path.mkdir}
SAID = "it is a link, a folder or a special file; name a regular file or a new one"


def state_of(path: Path) -> tuple[int, int, list[str]]:
    found = path.lstat()
    return found.st_ino, stat.S_IFMT(found.st_mode), sorted(map(str, path.parent.iterdir()))


@pytest.mark.parametrize("kind", SPECIAL)
def test_a_file_replaces_nothing_but_a_regular_file(tmp_path, kind) -> None:
    path = tmp_path / "path"
    for place in (path, tmp_path / "path.new"):
        SPECIAL[kind](place)
        before = state_of(place)
        with pytest.raises(Failure, match=f"cannot write {place}: {SAID}"):
            file_write(path, "other")
        assert state_of(place) == before
        place.rmdir() if kind == "a folder" else place.unlink()
    if kind == "a link":
        assert (tmp_path.parent / "behind").read_text() == "text"


CLAIM = claim_names()[0]
WRITERS = {  # by command the file that its -o names, or has in the folder that it names
    "report {} -o @": ".", "plot {} -o @": "time_per_message-bars.png", "export {} -o @": None,
    f"run place=free write=cork rounds=1 {shlex.join(SHORT)} -o @": "records.jsonl",
    f"claims run --quick {CLAIM} -o @": "claims.json"}


@pytest.mark.parametrize("kind", SPECIAL)
@pytest.mark.parametrize("command", WRITERS)
def test_no_o_replaces_or_follows_a_special_file(uncork, tmp_path, command, kind) -> None:
    folder = tmp_path / "files"
    name = WRITERS[command] or "apart-cork.hgrm"
    if name == ".":
        folder = path = folder / "page"
        folder.parent.mkdir()
    else:
        folder.mkdir()
        path = folder / name
    SPECIAL[kind](path)
    before = state_of(path)[:2]
    done = call(uncork, command.format(NODELAY).replace("@", str(folder)), cwd=tmp_path)
    last = done.stderr.decode().splitlines()[-1]
    assert done.returncode == 1 and f"cannot write {path}: {SAID}" in last, done
    assert state_of(path)[:2] == before
    assert not [other for other in path.parent.iterdir() if other.name.endswith(".new")]
    if kind == "a link":
        assert (tmp_path / "behind").read_text() == "text"


@pytest.mark.parametrize("kind", ["a pipe", "a device", "a dangling link"])
@pytest.mark.parametrize("command", [command for command in WRITERS if "report" not in command])
def test_o_takes_no_special_file_for_a_folder(uncork, tmp_path, command, kind) -> None:
    path = tmp_path / "path"
    SPECIAL[kind](path)
    before = state_of(path)
    done = call(uncork, command.format(NODELAY).replace("@", str(path)), cwd=tmp_path)
    assert done.returncode in (1, 2) and done.stderr.count(b"\n") >= 1, done
    assert str(path) in done.stderr.decode().splitlines()[-1]
    assert state_of(path) == before


def test_every_o_of_the_suite_is_tried() -> None:
    """A command with an option -o is in WRITERS, or writes into a folder that it makes."""
    from suite.commands import parser_make
    own = {"bisect"}  # its folder must be new
    having = {name for name in COMMANDS if "-o " in parser_make(name).format_help()} | {"claims"}
    assert having - own == {command.split()[0] for command in WRITERS}


def test_only_one_function_opens_files_to_write_them() -> None:
    """Others write below temporary folders of their own, or to what they did not open by name."""
    suite = Path(__file__).resolve().parents[2] / "scripts" / "suite"
    allowed = {"result/files.py", "observe/load.py", "places/lab.py",
               "places/remote/ssh.py", "places/remote/ansible.py",
               "scenario/subject.py", "measure/hyperfine.py"}
    writers = {str(path.relative_to(suite)) for path in suite.rglob("*.py")
               if any(text in path.read_text() for text in
                      (".write_text(", ".write_bytes(", '"w"', '"wb"', "os.replace("))}
    assert writers - {"__main__.py"} == allowed
