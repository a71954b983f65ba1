# SPDX-License-Identifier: MIT
"""The subcommands of `uncork`: each is an entry of COMMANDS and a module with `main(options)`. It
returns an exit status, or None for 0.

A module of a command may import every package; no module imports it. It is imported after its
arguments are parsed, so that help and errors in arguments do not wait for pandas. For the same
reason a function here imports what it alone needs.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from suite.base.text import Format

EXIT = "0 done, 1 failed, 2 wrong arguments, 128 + N ended by signal N (Ctrl-C: 130)"
ENVIRONMENT = {  # all variables of uncork's own that it reads
    "UNCORK_RESULTS": "folder in which runs store results, and in which a name of a result is "
                      "looked up",
    "UNCORK_BIN": "folder of uncork-client and uncork-server (default: those of this uncork)",
    "UNCORK_PYTHON": "Python that runs uncork (default: the first that has what uncork needs)",
    "UNCORK_CACHE": "folder of files that can be made or fetched again (default: ~/.cache/uncork)",
    "UNCORK_SSH": "command of target=ssh, with its options (default: ssh)",
    "UNCORK_ANSIBLE": "folder of the programs of Ansible that hosts= uses",
}
SELECT = "words that select cells: write=cork,more place=together (default: all cells)"
LAB_PARTS = {  # each part of a command: its arguments, and what it does
    "up": ("[WORD=VALUE ...]",
           "make the lab (link_rate=1gbit link_mtu=9000 sysctl=NAME:VALUE); needs root"),
    "status": ("", "print the devices and queues of the lab, as the system has them"),
    "run": ("[--on HOST] CMD ...",
            "run a command on a host of the lab; uncork-client is on its PATH"),
    "down": ("", "remove the lab; what up did not make stays"),
}
LAB = """
a run in the lab by hand, as uncork run -n prints it (uncork run lab=on needs none of this):
  uncork lab up link_rate=1gbit
  uncork lab run uncork-client \\
      --server-in 198.18.2.3@/run/netns/uncork-c lab=on link_rate=1gbit
  uncork lab down
with workload=proxy the client takes one more option, for the proxy in B:
  --proxy-in 198.18.1.2@/run/netns/uncork-b

"""
EXEC = """
what a server sends, and whether it is faster if small writes are joined:
  uncork exec -- qemu-nbd -t -f raw disk
  uncork exec override=more:64 -- qemu-nbd -t -f raw disk
the report goes to standard error when the program ends, and when uncork exec gets SIGUSR1

"""
CLAIMS_PARTS = {
    "list": ("[--json] [ID ...]", "list claims, and how long each takes to replay here"),
    "run": ("[--quick] [-o DIR] ID ...|all [WORD=VALUE ...]",
            "replay claims, and store a result of each in DIR"),
    "report": ("[--md|--csv|--json|--html] RESULTS ...",
               "print published figures, measured figures and verdicts; several RESULTS stand "
               "side by side"),
}
BISECT = """
uncork itself, by a count, which two rounds decide; then a kernel, booted in each round:
  uncork bisect v0.1.0 HEAD --fail-if 'segments_per_message > 1' \\
      message=15x2 write=more
  uncork bisect v6.12 v6.13 --tree ~/linux \\
      --fail-if 'segments_per_message > 1' \\
      --build 'cp ~/linux/.config . && make -j8 olddefconfig bzImage' \\
      message=15x2 write=more target=vng:{tree}
a revision is skipped if it does not build or boot, or if a gate is undecided;
it is bad if it cannot run a cell, because GOOD can

"""


def result_folder(text: str) -> Path:
    """The folder of a result. UsageError if text names none; pandas is not imported for that."""
    from pathlib import Path

    from suite.base.errors import UsageError
    from suite.result.files import result_find
    path = Path(text)
    if "=" in text and not path.is_dir():
        raise UsageError(f'"{text}": the folder of a result comes first')
    return result_find(path)


def result_add(parser: ArgumentParser, words: str, metavar: str = "WORD") -> None:
    parser.add_argument("results", type=result_folder, metavar="RESULTS",
                        help="a result: its folder, its name in results/, or an archive, "
                             "NAME.tar.xz")
    parser.add_argument("words", nargs="*", default=[], metavar=metavar, help=words)


def output_add(parser: ArgumentParser, metavar: str, text: str) -> None:
    parser.add_argument("-o", "--output", metavar=metavar, help=text)


def gates_add(parser: ArgumentParser, text: str, required: bool = False) -> None:
    parser.add_argument("--fail-if", action="append", default=[], metavar="GATE", help=text,
                        required=required)


def formats_add(parser: ArgumentParser, formats: Mapping[str, Format]) -> None:
    style = parser.add_mutually_exclusive_group()
    for name, one in formats.items():
        style.add_argument(f"--{name}", dest="format", action="store_const", const=name,
                           help=one.means)


def run_arguments(parser: ArgumentParser) -> None:
    from suite.measure.words import quick_limits
    parser.add_argument("words", nargs="*", metavar="SCENARIO | WORD=VALUE | RESULT",
                        help="a scenario (NAME of scenarios/NAME.toml, or a path) and words, which "
                             'replace its own; not="a=1 b=2" leaves out cells, repeatable; a '
                             "result alone: resume it")
    output_add(parser, "DIR", "folder of the result (default: NAME-YYYYmmdd-HHMMSS in "
                              "$UNCORK_RESULTS, else in results/ of the checkout or, if uncork is "
                              "installed, of the working directory); without words: resume the "
                              "result in DIR")
    parser.add_argument("-n", "--dry-run", action="store_true",
                        help="run nothing; print the plan, how long it takes, and the commands")
    gates_add(parser, "with -n: print how many rounds this gate needs; uncork compare --fail-if "
                      "then checks it")
    transport = parser.add_mutually_exclusive_group()
    transport.add_argument("--psk", metavar="FILE", help="use TLS to the server of server=, with "
                       "the first key of FILE")
    transport.add_argument("--insecure", action="store_true",
                       help="use no TLS to the server of server=, although it is on another "
                            "machine")
    parser.add_argument("--quick", action="store_true",
                        help=f"a first look: {quick_limits()}; never more than without --quick")
    begin = parser.add_mutually_exclusive_group()
    begin.add_argument("--more", action="store_true",
                       help="add a session to a finished result: as many rounds again")
    begin.add_argument("--new", action="store_true",
                       help="start a new result (default: resume an unfinished result of the same "
                            "plan)")


def list_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="WORD",
                        help="what to explain: a word, value, metric, scenario or its file, "
                             "part of a scenario, arm, sign of a table, term (default: list all)")
    parser.add_argument("--json", action="store_true", help="print the list as JSON, for programs")


def table_arguments(parser: ArgumentParser) -> None:
    from suite.present.tables import RENDERERS
    result_add(parser, "rows=place,write: words that make the rows; "
                       "columns=time_per_message,segments_per_message: metrics; gain=METRIC: its "
                       "values before and after, and the gain over the baseline; best=WORD: mark "
                       "the best value of WORD by the first metric; gain=off, best=off: without "
                       "that of the scenario; margin=2%%: the least change that matters; other "
                       "words select cells: write=cork,more (default: all cells)")
    formats_add(parser, RENDERERS)


SIDES = ("another result to compare with; write=nodelay write=cork: two sides of one result, the "
         "base first (quote a side of several words); without sides: the baseline against every "
         "other value, or the first target or build against every other one; other words select "
         "cells of both sides; columns=METRIC,...: metrics (default: the first of the table); "
         "axis=kernel,...: differences of two results that are meant to be compared; geomean=all: "
         "add the geometric mean over all rows")


def compare_arguments(parser: ArgumentParser) -> None:
    result_add(parser, f"{SIDES}; margin=2%%: the least change that matters, so that a smaller one "
                       "can be shown to be none", "RESULTS | WORD")
    parser.add_argument("--strict", action="store_true",
                        help="refuse if anything differs beyond what is compared")
    parser.add_argument("--force", action="store_true",
                        help="compare although virtualisation, number of CPUs or congestion "
                             "control differ, and say so")
    gates_add(parser, "a limit for every row, repeatable: on a change (time_per_message > +3%%), "
                      "or a figure of the new side (segments_per_message > 1, latency_p99 > "
                      "2ms); the exit status says whether all rows are within")
    formats_add(parser, formats_known())


def bisect_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("good", metavar="GOOD", help="revision at which the gates pass")
    parser.add_argument("bad", metavar="BAD", help="later revision at which they fail")
    parser.add_argument("words", nargs="*", metavar="SCENARIO | WORD=VALUE",
                        help="what each step runs, as for uncork run; {tree} in a word stands for "
                             "the worktree of the revision (target=vng:{tree}); without {tree} the "
                             "revision is an uncork, which build= runs")
    gates_add(parser, "what makes a revision bad, as for uncork compare; a change is measured "
                      "against GOOD, in the same rounds; unsupported: a cell cannot run",
              required=True)
    parser.add_argument("--tree", metavar="DIR", help="repository (default: that of uncork)")
    parser.add_argument("--build", metavar="COMMAND",
                        help="shell command that builds a revision: it runs in its worktree, and "
                             "builds there or in $UNCORK_BUILD (default: cmake, for uncork)")
    output_add(parser, "DIR", "folder of the results of all steps (default: a new one beside other "
                              "results)")


def plot_arguments(parser: ArgumentParser) -> None:
    from suite.scenario.scenario import PICTURES
    result_add(parser, f"kind=KIND,...: pictures to draw ({', '.join(PICTURES)}; default: those of "
                       "the scenario); metric=METRIC,... or of=HISTOGRAM,...: what they show; "
                       "x=WORD: word along the x axis; "
                       "size=column|page|WIDTHxHEIGHT(in|mm|px): size in print (default: for a "
                       "screen); title=no, note=no: no title, no small print; points=yes|no: show "
                       "each round, as a dot or in a band (default: where there is room); other "
                       "words select cells: write=cork,more (default: all cells)")
    output_add(parser, "DIR", "folder of the pictures (default: RESULTS/plots)")


def report_arguments(parser: ArgumentParser) -> None:
    result_add(parser, "another result to compare with; "
                       "words that select cells: write=cork,more (default: all cells)",
               "RESULTS | WORD")
    output_add(parser, "FILE", "file of the page, - for standard output (default: report.html in "
                               "the last of RESULTS)")


def paste_arguments(parser: ArgumentParser) -> None:
    from suite.present.tables.mail import STYLES
    result_add(parser, SIDES, "RESULTS | WORD")
    parser.add_argument("--style", choices=STYLES, default="plain",
                        help="plain: aligned text; md: Markdown tables (default: plain)")
    parser.add_argument("--utf8", action="store_true", help="symbols of Unicode in place of ASCII")
    parser.add_argument("--netdev", action="store_true",
                        help="add what reviewers of netdev ask for: throughput, and CPU of both "
                             "ends and retransmits per message")


def verify_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("block", metavar="BLOCK",
                        help="file with the posted block or the whole mail, - for standard input; "
                             "or the REPORT.json of claims report")
    parser.add_argument("results", nargs="+", metavar="RESULTS",
                        help="the result of the block; of a block on two results both, the base "
                             "first")


def export_arguments(parser: ArgumentParser) -> None:
    from suite.present.hgrm import HGRM_UNITS
    from suite.scenario.scenario import HISTOGRAMS
    result_add(parser, SELECT)
    parser.add_argument("--of", default="latency", choices=HISTOGRAMS, metavar="WHAT",
                        help=f"histogram: {', '.join(HISTOGRAMS)} (default: latency)")
    parser.add_argument("--unit", default="us", choices=HGRM_UNITS, metavar="UNIT",
                        help=f"unit of the values: {', '.join(HGRM_UNITS)} (default: us)")
    output_add(parser, "DIR", "folder of the files, one for each cell (default: RESULTS/hgrm); "
                              "- writes one cell to standard output")


def parts_add(parser: ArgumentParser, texts: Mapping[str, tuple[str, str]]) -> list[ArgumentParser]:
    """A parser for each part of a command; the help of each ends with the exit statuses."""
    parts = parser.add_subparsers(dest="part", metavar="|".join(texts), required=True)
    exits = (parser.epilog or "").rpartition("\n\n")[2]
    return [parts.add_parser(part, help=text, description=text, epilog=exits)
            for part, (_, text) in texts.items()]


def lab_arguments(parser: ArgumentParser) -> None:
    from suite.base.lab_words import CLIENT_HOST, LAB_HOSTS
    up, _, run, _ = parts_add(parser, LAB_PARTS)
    up.add_argument("words", nargs="*", metavar="WORD=VALUE",
                    help="the links, and one sysctl of all hosts (uncork list link_rate)")
    run.add_argument("--on", choices=LAB_HOSTS, default=CLIENT_HOST,
                     help=f"the host (default: {CLIENT_HOST})")
    run.add_argument("command", nargs="...", metavar="CMD", help="the command, with its arguments")


def claims_arguments(parser: ArgumentParser) -> None:
    from suite.present.tables import RENDERERS
    listed, run, report = parts_add(parser, CLAIMS_PARTS)
    listed.add_argument("names", nargs="*", metavar="ID", help="claims (default: all)")
    listed.add_argument("--json", action="store_true", help="print JSON, for programs")
    run.add_argument("names", nargs="+", metavar="ID | all | WORD=VALUE",
                     help="claims that ship, by ID, or files; words replace those of the claims")
    run.add_argument("--quick", action="store_true", help="a first look, as for uncork run")
    output_add(run, "DIR", "folder of the results (default: claims-YYYYmmdd-HHMMSS)")
    report.add_argument("results", nargs="+", metavar="RESULTS",
                        help="folder of claims run, a result, or a file of report --json")
    formats_add(report, RENDERERS)


def exec_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--json", nargs="?", const="", metavar="FILE",
                        help="print the report as JSON, to FILE or to standard error")
    parser.add_argument("command", nargs="...", metavar="[override=CHANGE] -- COMMAND",
                        help="the program, and a change of its sockets: nodelay, nagle, nomore, "
                             "nocork, more:SIZE, join, sndbuf:SIZE, rcvbuf:SIZE; + joins several")


def doctor_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("words", nargs="*", metavar="SCENARIO | WORD=VALUE",
                        help="check only what concerns this run (default: everything)")
    style = parser.add_mutually_exclusive_group()
    style.add_argument("--all", action="store_true", help="also print what disturbs nothing")
    style.add_argument("--json", action="store_true", help="print all findings as JSON")


# The words of compare and paste that select no cells; what kind of names each takes.
COMPARE_WORDS = {"columns": "metrics", "axis": "differences", "geomean": "all"}


class Command(NamedTuple):
    """help: one line. exit: its exit statuses. text: examples below the options. own: its words
    that select no cells, each with the kind of names it takes, which completion offers. parts: each
    with its arguments and what it does. in_order: its arguments may look like options, so that its
    own options stand before them."""

    help: str
    arguments: Callable[[ArgumentParser], object]
    exit: str = EXIT
    text: str = ""
    own: Mapping[str, str] = {}
    parts: Mapping[str, tuple[str, str]] = {}
    in_order: bool = False


COMMANDS = {
    "run": Command("measure a scenario, words, or both; words replace those of the scenario",
                   run_arguments),
    "list": Command("list scenarios, words with defaults, strategies, metrics, and what this "
                    "machine supports", list_arguments),
    "table": Command("print a result as a table: medians with intervals, beside published figures",
                     table_arguments, own={"rows": "axes", "columns": "metrics",
                                           "gain": "metrics", "best": "axes", "margin": "shown"}),
    "compare": Command("compare two sides cell by cell: what changed, how certain it is, and what "
                       "else differs", compare_arguments,
                       f"{EXIT}; with --fail-if 0 all rows within, 3 some undecided, 4 nothing "
                       "compared, 5 a regression", own={**COMPARE_WORDS, "margin": "shown"}),
    "bisect": Command("find the commit that changed a figure: git bisect run with gates, in its "
                      "own worktrees", bisect_arguments,
                      f"{EXIT}; 3 where skipped revisions leave several commits", BISECT),
    "show": Command("explain one cell: counts, CPU, placement, options, every round",
                    partial(result_add,
                            words="words that select one cell: place=together write=cork")),
    "check": Command("check the claims of the scenario and print TAP: ok, not ok, or undecided",
                     partial(result_add,
                             words=f"{SELECT}; a claim about any other cell is left out"),
                     f"{EXIT}; 1 where a claim does not hold, 3 where one is undecided and none "
                     "fails"),
    "plot": Command("draw a result: png, svg, pdf and text of 72 columns, with the .dat and .gp "
                    "files", plot_arguments, own={"kind": "pictures", "metric": "metrics",
                                                  "of": "histograms", "x": "axes",
                                                  "size": "sizes", "title": "shown",
                                                  "note": "shown", "points": "shown"}),
    "report": Command("write one HTML page on a result, or two: verdicts, tables, pictures, "
                      "machines, commands", report_arguments),
    "paste": Command("print a block for a mail: figures with intervals, the machine, the command",
                     paste_arguments, own=COMPARE_WORDS),
    "verify": Command("compute a posted block again: is every figure the same?",
                      verify_arguments, f"{EXIT}; 1 where anything is not the same"),
    "claims": Command("replay figures that others published, with a verdict on each",
                      claims_arguments,
                      f"{EXIT}; of claims run and report 0 all were seen, 1 one is contradicted, "
                      "3 one is not known, 4 nothing could run",
                      parts=CLAIMS_PARTS, in_order=True),
    "export": Command("write the latencies of cells as HdrHistogram text (.hgrm), for other "
                      "plotters", export_arguments),
    "lab": Command("make three network namespaces A - B - C with links of a given rate, MTU, delay "
                   "and loss", lab_arguments, f"{EXIT}; lab run: the status of the command", LAB,
                   parts=LAB_PARTS, in_order=True),
    "exec": Command("run any program and report how its messages leave; override= changes that "
                    "from outside", exec_arguments,
                    f"{EXIT}; the status of the program if it ran; else 125 refused, 126 cannot be "
                    "run, 127 not found", EXEC, in_order=True),
    "doctor": Command("find what on this machine will disturb a result, and the command that fixes "
                      "it", doctor_arguments),
    "subjects": Command("list other servers and clients to measure: version, parameters, what is "
                        "missing", lambda parser: parser.add_argument(
                            "--json", action="store_true",
                            help="print their definitions, for uncork-client --subjects FILE")),
    "setup": Command("install what a target needs (gVisor, virtme-ng, Ansible, ssh), a subject or "
                     "a load",
                     lambda parser: parser.add_argument(
                         "names", nargs="...", metavar="NAME",
                         help="what to install (default: list what can be installed); kernels "
                              "VERSION...: fetch kernels for target=vng:VERSION"),
                     in_order=True),
    "complete": Command("print what may follow on a command line; completion in a shell uses it",
                        lambda parser: parser.add_argument(
                            "line", metavar="LINE",
                            help="the command line up to the cursor, as one argument")),
}


def formats_known() -> Mapping[str, Format]:
    from suite.present.comparison import FORMATS
    from suite.present.tables import RENDERERS
    return RENDERERS | FORMATS


def parser_make(name: str) -> ArgumentParser:
    import argparse
    import textwrap

    from suite.base.parser import Parser
    command = COMMANDS[name]
    lines = textwrap.wrap(f"exit status: {command.exit}", 78)
    parser = Parser(prog=f"uncork {name}", description=command.help,
                    epilog=command.text + "\n".join(lines),
                    formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.formats = formats_known
    command.arguments(parser)
    return parser
