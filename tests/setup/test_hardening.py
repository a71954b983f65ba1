# SPDX-License-Identifier: MIT
"""The built programs have what cmake/harden.cmake asks for."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path

import pytest

from hardening import missing_of
from sandbox import TOP

BUILD = TOP / "build/release"
WITHOUT = ("-O0", "-no-pie", "-fno-stack-protector", "-fcf-protection=none", "-U_FORTIFY_SOURCE",
           "-Wl,-z,norelro,-z,lazy,-z,execstack")


@pytest.mark.parametrize("program", ["uncork-client", "uncork-exec", "uncork-server"])
def test_a_program_lacks_nothing(program: str) -> None:
    assert missing_of(BUILD / "bin" / program) == []


def test_the_preloaded_library_has_fortified_functions_and_calls_none() -> None:
    assert missing_of(BUILD / "bin/libuncork-override.so", "recv") == []
    assert "-D_FORTIFY_SOURCE" not in command_of("common/override/interpose.c")


def test_what_a_program_lacks_is_named(tmp_path: Path) -> None:
    source = tmp_path / "bare.c"
    source.write_text("#include <stdio.h>\n"
                      "int main(void) { char text[9]; return sprintf(text, \"%p\", text); }\n")
    subprocess.run(["gcc", *WITHOUT, "-w", "-o", tmp_path / "bare", source], check=True)
    assert missing_of(tmp_path / "bare") == [
        "position-independent code", "BIND_NOW", "RELRO", "a stack that is not executable",
        "the canary of the stack", "fortified calls", "checked jump targets"]


def test_a_level_that_a_distribution_defines_gives_no_warning() -> None:
    command = command_of("server/main.c")
    options = [option for option in shlex.split(command) if option[:2] in ("-D", "-I", "-O", "-U")]
    assert "-D_FORTIFY_SOURCE=3" in options or "-D_FORTIFY_SOURCE=2" in options
    subprocess.run(["gcc", "-D_FORTIFY_SOURCE=1", *options, "-Werror", "-fsyntax-only",
                    TOP / "server/main.c"], check=True, timeout=60)


def test_an_object_does_not_name_the_folder_of_its_build(tmp_path: Path) -> None:
    source = "common/connection/lifecycle.c"  # it has an assert()
    command = shlex.split(command_of(source).removeprefix("ccache "))
    command[command.index("-o") + 1] = str(tmp_path / "object.o")
    command = [option for option in command if option not in ("-MD", "-MF", "-MT")
               and not option.endswith((".c.o", ".c.o.d"))]
    subprocess.run([*command, "-g", "-UNDEBUG"], cwd=BUILD, check=True, timeout=60)
    content = (tmp_path / "object.o").read_bytes()
    assert source.encode() in content and str(TOP).encode() not in content


def command_of(source: str) -> str:
    """The command that compiles a file of the checkout."""
    commands = json.loads((BUILD / "compile_commands.json").read_text())
    return next(str(entry["command"]) for entry in commands
                if entry["file"] == str(TOP / source))
