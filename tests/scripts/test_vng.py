# SPDX-License-Identifier: MIT
"""target=vng: kernels in guests. virtme-ng only pretends here: it runs on this machine what a guest
would."""

from __future__ import annotations

import json
import shlex
import signal
import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest

from conftest import Uncork, records_of
from faked import Faked, faked
from processes import has_ended
from suite.base import installation
from suite.base.client import BINARIES, Client
from suite.base.errors import Failure, UsageError
from suite.measure.plan import plan_make
from suite.measure.runner import batch_run
from suite.places import vng
from suite.places.targets import Targets
from suite.result.plan import PlannedCell
from suite.scenario.scenario import Scenario
from suite.scenario.subject import missing_text, programs_read
from within import uncork_call

__all__ = ["faked"]

SHORT = ("message=15x2", "reply=2", "duration=5ms", "warmup=1ms")
# What virtme-ng does with its arguments: those of a folder go through a shell, the script is the
# last.
VNG = """[ "$1" != --version ] || { echo 'virtme-ng 1.42'; exit; }
for word; do case $word in --rodir=/run/uncork/bin=*) eval "bin=${word#*=*=}" ;; -v) verbose=yes ;; esac; done
ln -sfn "$bin" "${0%/*}/guest"
script=$(printf '%s' "$word" | sed "s,ip link set lo up; ,,; s,/run/uncork/bin,${0%/*}/guest,
    s,/run/uncork/subjects,${0%/*}/subjects,g")
batch=no; case $word in *--batch*) batch=yes ;; esac
"""
BOOTS = VNG + 'exec sh -c "$script"'
# what follows happens to batches only
ONLY_BATCHES = VNG + '[ $batch = yes ] || exec sh -c "$script"\n'
FIRST = '[ "${verbose:-no}" = yes ] && exec sh -c "$script"\n'  # and to the first attempt only


@pytest.fixture
def kernel(faked: Faked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An image, on a machine that has all a guest needs and no hardware for it."""
    monkeypatch.setattr(vng, "MODULES", tmp_path / "no modules")
    for name in vng.NEEDED:
        faked.program(name, "exit 0")
    faked.program("vng", BOOTS)
    return image_make(tmp_path / "bzImage")


def image_make(path: Path, release: str = "6.99.1-test") -> Path:
    """A file with the header of a kernel's image, and nothing behind it."""
    text = f"{release} (somebody@somewhere) #1 SMP".encode()
    path.write_bytes(b"MZ".ljust(0x202, b"\0") + struct.pack("<4s8xH", b"HdrS", 0x100) + b"\0" *
                     0xf0 + text + b"\0")
    return path


def cells_of(client: Client, *words: str) -> tuple[PlannedCell, ...]:
    """The cells of a plan that is checked in guests."""
    with Targets(client) as targets:
        return plan_make(targets, Scenario("words"), None, [*words, *SHORT]).plan.cells


def batch_of(client: Client, cells: tuple[PlannedCell, ...],
             **artifacts: Any) -> list[dict[str, Any]]:
    """The records of cells, run as one batch, in the order of the cells."""
    with Targets(client) as targets:
        found = dict(batch_run(targets, cells, **artifacts))
    assert sorted(found) == list(range(len(cells)))
    return [found[number] for number in sorted(found)]


def test_a_batch_begins_with_the_facts_of_its_boot_and_has_all_records(
    binaries: Client, kernel: Path
):
    met: list[dict[str, Any]] = []
    cells = cells_of(binaries, f"target=vng:{kernel}", "write=nodelay,cork")
    records = batch_of(binaries, cells, facts_store=met.append)
    assert [record["status"] for record in records] == ["ok", "ok"]
    assert all(record["words"]["target"] == f"vng:{kernel}" for record in records)
    assert [facts["client"]["id"] for facts in met] == [records[0]["client"]["host"]]


def test_a_guest_starts_subjects_by_definitions_that_it_reads(
    binaries: Client, faked: Faked, kernel: Path
):
    if programs_read()["qemu-nbd"].find() is None:
        pytest.skip(missing_text(programs_read()["qemu-nbd"]))
    with Targets(binaries) as targets:
        cells = plan_make(targets, Scenario("words"), None, [
            f"target=vng:{kernel}", "protocol=nbd", "op=read:4K", "subject=own,qemu-nbd",
            *SHORT[2:]]).plan.cells
    own, other = batch_of(binaries, cells)
    assert own["status"] == other["status"] == "ok", other.get("reason")
    assert other["subject"]["name"] == "qemu-nbd" and "subject" not in own
    definitions = (faked.folder / "subjects").read_text()
    assert definitions.count("\n") == 1 and json.loads(definitions).keys() >= programs_read().keys()


def test_each_boot_is_asked_for_once_and_emulated_without_the_modules(
    binaries: Client, faked: Faked, kernel: Path
):
    batch_of(binaries, cells_of(binaries, f"target=vng:{kernel}", "write=nodelay,cork"))
    asked = faked.asked()
    assert asked.count(f"--run={kernel}") == 2  # to check, and to run
    assert asked.count("--disable-kvm") == 2 and asked.count("--force-9p") == 2


def test_paths_with_blanks_and_quotes_reach_the_guest(binaries: Client, kernel: Path,
                                                      tmp_path: Path):
    folder = tmp_path / "it's a \"folder\" $HOME"
    folder.mkdir()
    for name in BINARIES:
        (folder / name).symlink_to(binaries.folder / name)
    client = Client(folder, None)
    (record,) = batch_of(client, cells_of(client, f"target=vng:{kernel}"))
    assert record["status"] == "ok"


@pytest.mark.parametrize("crash",
                         ["exit 255", "kill -SEGV $$", 'sh -c "$script" | head -c 2500; exit 255'])
def test_a_guest_that_crashed_is_booted_once_more_and_what_was_measured_stays(
    binaries: Client, faked: Faked, kernel: Path, tmp_path: Path, crash: str,
):
    cells = cells_of(binaries, f"target=vng:{kernel}", "write=nodelay,cork")
    faked.program("vng", ONLY_BATCHES + "[ $verbose ] && echo 'the second boot' >&2\n" + FIRST +
                  crash)
    log = tmp_path / "boots/round-1-position-0.log"
    assert [record["status"] for record in batch_of(binaries, cells, log=log)] == [
        "ok",
        "ok",
    ]
    assert log.read_text() == "the second boot\n"


def test_only_what_is_missing_is_run_again(binaries: Client, faked: Faked, kernel: Path):
    cells = cells_of(binaries, f"target=vng:{kernel}", "write=nodelay,cork,more")
    # The facts, the first record and what shows that it was whole come out, the rest does not.
    faked.program("vng", ONLY_BATCHES + FIRST + 'sh -c "$script" | head -n 3; exit 255')
    met: list[dict[str, Any]] = []
    records = batch_of(binaries, cells, facts_store=met.append)
    assert [record["status"] for record in records] == ["ok"] * 3 and len(met) == 2
    assert [line for line in faked.asked() if line == "-v"] == ["-v"]


def test_what_crashed_twice_is_a_failed_run_with_its_log(binaries: Client, faked: Faked,
                                                         kernel: Path, tmp_path: Path):
    cells = cells_of(binaries, f"target=vng:{kernel}")
    faked.program("vng", ONLY_BATCHES +
                  "[ $verbose ] && echo '[    1.5] Kernel panic - not syncing' >&2\nexit 255")
    (record,) = batch_of(binaries, cells, log=tmp_path / "boots/round-1-position-0.log")
    assert record == {
        "status": "failed",
        "reason": "uncork-client ended with status 255; tried twice, "
        "log: boots/round-1-position-0.log",
    }
    assert "Kernel panic" in (tmp_path / "boots/round-1-position-0.log").read_text()


def test_a_guest_that_hangs_is_ended_with_all_that_it_started(
    binaries: Client, faked: Faked, kernel: Path, monkeypatch: pytest.MonkeyPatch,
):
    cells = cells_of(binaries, f"target=vng:{kernel}")
    monkeypatch.setattr(vng, "BOOT_LIMIT_S", {False: 0.5})
    faked.program("vng", ONLY_BATCHES + f'sleep 600 & echo $! >>"{faked.folder}/pids"; wait')
    (record,) = batch_of(binaries, cells)
    assert "not finished after 0 s, so it was ended; tried twice" in record["reason"].replace(
        "after 1 s", "after 0 s")
    assert all(has_ended(int(pid)) for pid in (faked.folder / "pids").read_text().split())


def test_a_run_may_take_its_time_once_the_guest_has_begun(
    binaries: Client, kernel: Path, monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(vng, "BOOT_LIMIT_S", {False: 30.0})
    monkeypatch.setattr("suite.places.batch.RUN_MARGIN_S", 60.0)
    (record,) = batch_of(binaries, cells_of(binaries, f"target=vng:{kernel}"))
    assert record["status"] == "ok"


def test_a_guest_ends_with_the_runner_whatever_it_is_at(binaries: Client, faked: Faked,
                                                        kernel: Path):
    faked.program("vng", ONLY_BATCHES + f'echo $$ >"{faked.folder}/pid"; exec sleep 600')
    with Targets(binaries) as targets:
        argv, _ = targets.target({"target": f"vng:{kernel}"}).client({}).command(
            ["--batch", "-", "--with-parent"], "end\n"
        )
    child = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             process_group=0)
    while not (faked.folder / "pid").exists() or not (faked.folder / "pid").read_text().strip():
        assert child.poll() is None
    child.communicate(timeout=30)  # closes its standard input
    assert child.returncode == -signal.SIGTERM


@pytest.mark.parametrize(("script", "says"), [
    ("exit 255", "failed twice: "),
    ("echo 'no such machine' >&2; exit 1",
     "in a guest with Linux 6.99.1-test failed twice: no such machine"),
    ("exit 0", "did not answer all of 1 lines"),
])
def test_a_kernel_that_does_not_boot_is_said_before_anything_runs(
    uncork: Uncork, faked: Faked, kernel: Path, script: str, says: str,
):
    faked.program("vng", VNG + script)
    done = uncork.run("run", f"target=vng:{kernel}", *SHORT)
    assert done.returncode == 1 and says in done.stderr.splitlines()[-1]
    assert not uncork.results.exists()


def test_a_question_is_asked_again_of_a_guest_that_crashed(binaries: Client, faked: Faked,
                                                           kernel: Path):
    faked.program("vng", VNG + FIRST + "exit 255")
    assert len(cells_of(binaries, f"target=vng:{kernel}")) == 1


@pytest.mark.parametrize("missing", sorted(vng.NEEDED))
def test_what_is_missing_is_named_with_the_one_command(
    binaries: Client, faked: Faked, kernel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    missing: str,
):
    (faked.folder / missing).unlink()
    monkeypatch.setenv("PATH", str(faked.folder))
    monkeypatch.setattr(vng, "pypi_find", lambda pattern: [])
    monkeypatch.setattr(vng, "SYSTEM_PATHS", str(tmp_path))
    with pytest.raises(Failure) as raised:
        Targets(binaries).target({"target": f"vng:{kernel}"})
    assert f"target=vng: {missing} " in str(raised.value)
    assert str(raised.value).endswith("is missing: scripts/setup/target vng installs it")


def test_a_dry_run_and_the_doctor_name_all_that_guests_lack_at_once(
    uncork: Uncork, faked: Faked, kernel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
):
    for name in ("vng", "busybox"):
        (faked.folder / name).unlink()
    monkeypatch.setenv("PATH", str(faked.folder))
    monkeypatch.setattr(vng, "pypi_find", lambda pattern: [])
    monkeypatch.setattr(vng, "SYSTEM_PATHS", str(tmp_path))
    targets = f"target=vng:{kernel},vng:/no/such,vng:/nor/such"
    lacks = ("target=vng: vng (virtme-ng), busybox (busybox) are missing: scripts/setup/target vng "
             "installs them; target=vng:/no/such: /no/such: No such file or directory; "
             "target=vng:/nor/such: /nor/such: No such file or directory")
    for command in (("run", "-n"), ("doctor",)):
        done = uncork_call((*command, targets, *SHORT), uncork.environment)
        assert lacks in " ".join((done.stdout + done.stderr).split()), done.stdout


def test_virtme_ng_is_also_found_where_it_is_installed(
    binaries: Client, faked: Faked, kernel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
):
    old, new = (tmp_path / f"build/pypi/virtme-ng-{version}/bin" for version in ("1.41", "1.42"))
    for folder in (old, new):
        folder.mkdir(parents=True)
        (folder / "vng").write_text((faked.folder / "vng").read_text())
        (folder / "vng").chmod(0o755)
    (faked.folder / "vng").unlink()
    monkeypatch.setattr(installation, "ROOT", tmp_path)
    guest = Targets(binaries).target({"target": f"vng:{kernel}"}).client({}).place
    folders = guest.path.split(":")
    assert str(new) in folders and str(old) not in folders


@pytest.mark.parametrize(("modules", "smoke", "options"), [
    ((), "exit 7", ("--disable-kvm", "--force-9p")),
    (("kvm",), "exit 7", ("--disable-kvm", "--force-9p")),  # a back end that cannot run a kernel
    (("kvm", "kvm_amd"), "exit 7", ("--force-9p",)),
    (("kvm", "kvm_intel"), "exit 255", ("--disable-kvm", "--force-9p")),
    (("kvm", "kvm_intel"), "exec sleep 60", ("--disable-kvm", "--force-9p")),
])
def test_hardware_is_used_where_it_has_booted_a_guest(
    binaries: Client, faked: Faked, kernel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    modules: tuple[str, ...], smoke: str, options: tuple[str, ...],
):
    for name in modules:
        (tmp_path / "modules" / name).mkdir(parents=True)
    monkeypatch.setattr(vng, "MODULES", tmp_path / "modules")
    monkeypatch.setattr(vng, "SMOKE_LIMIT_S", 0.5 if "sleep" in smoke else 30)
    faked.program("vng", f"[ \"$1\" != --version ] || {{ echo 'virtme-ng 1.42'; exit; }}\n{smoke}")
    target = Targets(binaries).target({"target": f"vng:{kernel}"})
    assert target.guest.options == options
    assert target.identity()["processor"] == ("emulated" if "--disable-kvm" in options
                                              else "hardware")


@pytest.mark.parametrize("word", ["server=h1", "via=h1", "capture=on"])
def test_what_needs_something_outside_of_the_guest_is_refused(binaries: Client, kernel: Path,
                                                              word: str):
    with pytest.raises(UsageError, match=f"leave out {word}"):
        Targets(binaries).target({"target": f"vng:{kernel}"} | dict([word.split("=")]))


def test_a_result_has_the_machine_of_each_boot_and_their_order(uncork: Uncork, kernel: Path,
                                                               tmp_path: Path):
    other = image_make(tmp_path / "other", "6.1.0-test")
    folder = tmp_path / "r"
    vng.say_once.cache_clear()
    done = uncork.run("run", f"target=vng:{kernel},vng:{other}", "rounds=2", *SHORT, "-o",
                      str(folder))
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("guests are emulated") == 1
    first, second = f"vng:{kernel}", f"vng:{other}"
    order = [(record["run"]["round"], record["words"]["target"]) for record in records_of(folder)]
    assert list(dict.fromkeys(order)) == [(0, second), (0, first), (1, first), (1, second),
                                          (2, second), (2, first)]
    hosts = json.loads((folder / "hosts.json").read_text())
    assert {record["client"]["host"] for record in records_of(folder)} <= set(hosts)
    targets = json.loads((folder / "plan.json").read_text())["targets"]
    assert [targets[value]["kernel"] for value in (first, second)] == ["6.99.1-test", "6.1.0-test"]
    image_make(other, "6.1.1-test")
    done = uncork.run("run", f"target=vng:{kernel},vng:{other}", "rounds=2", *SHORT, "-o",
                      str(folder), "--more")
    assert done.returncode == 2 and "was measured with another target=" in done.stderr.splitlines()[-1]


def test_the_commands_to_replay_by_hand_can_be_typed(uncork: Uncork, kernel: Path):
    done = uncork.run("run", f"target=vng:{kernel}", *SHORT, "-n")
    (line,) = [line for line in done.stdout.splitlines() if not line.startswith("#")]
    words = shlex.split(line, comments=True)
    assert words[0] == "env" and words[2] == "vng" and words[-2] == "--exec"
    assert words[-1].endswith("exec ./uncork-client message=15x2 reply=2 duration=5ms warmup=1ms")


def test_a_kernel_is_found_in_a_folder_of_sources_by_path_and_by_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
):
    tree = tmp_path / "linux"
    (tree / "arch/x86/boot").mkdir(parents=True)
    image_make(tree / vng.IN_TREE)
    (tree / ".config").write_text("CONFIG_9P_FS=m\n# CONFIG_VIRTIO_FS is not set\n")
    found = vng.image_find(str(tree), "here")
    assert (found.release, found.root, found.options) == ("6.99.1-test", tree, ("--force-9p",))
    assert vng.image_find(str(tree / vng.IN_TREE), "here") == found
    version = tmp_path / "cache/kernels/6.1.0-9-amd64/lib/modules/6.1.0-9-amd64"
    version.mkdir(parents=True)
    image_make(version / "vmlinuz", "6.1.0-9-amd64")
    (version /
     "modules.dep").write_text(
         "kernel/fs/9p/9p.ko: kernel/net/9p/9pnet.ko\nkernel/fs/fuse/virtiofs.ko:\n")
    monkeypatch.setenv("UNCORK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(vng.shutil, "which", lambda name: f"/usr/bin/{name}")
    found = vng.image_find("6.1", "here")
    assert (found.path, found.root, found.options) == (
        version / "vmlinuz", version.parents[2], ())


@pytest.mark.parametrize(("value", "says"), [
    ("6.77", "here: no kernel 6.77 is in .*: scripts/setup/target kernels 6.77 fetches it"),
    ("latest", 'here: "latest" is no version of a kernel'),
    ("/no/such", "here: /no/such: No such file"),
    ("{tmp}", "here: there is no arch/x86/boot/bzImage in .*: run make bzImage there"),
    ("{tmp}/text", "here: .* is no Linux kernel for x86"),
    ("{tmp}/a b", "here: virtme-ng cannot have blanks or quotes in the path of a kernel"),
])
def test_what_is_no_kernel_is_said_in_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                             value: str, says: str):
    monkeypatch.setenv("UNCORK_CACHE", str(tmp_path / "empty"))
    (tmp_path / "text").write_text("x" * 4096)
    image_make(tmp_path / "a b")
    with pytest.raises((Failure, UsageError), match=says):
        vng.image_find(value.format(tmp=tmp_path), "here")


def test_a_kernel_without_a_file_system_for_guests_is_refused(kernel: Path):
    assert vng.image_find(str(kernel), "here").options == ("--force-9p",)
    (kernel.parent / ".config").write_text("# CONFIG_9P_FS is not set\n")
    with pytest.raises(Failure, match="Linux 6.99.1-test has no 9p, and this machine no virtiofsd"):
        vng.image_find(str(kernel), "here")
