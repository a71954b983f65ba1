# SPDX-License-Identifier: MIT
"""The subcommands of `uncork`: an entry of COMMANDS and a module with `main(options) -> int` each.

They import every room, and nothing imports them, not even one another. A module is imported only
when its arguments are parsed, so that help and mistakes do not wait for pandas. What only some
arguments need is imported where they are.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from suite.base.text import Format

EXIT = "0 done, 1 could not be done, 2 wrong words, 128 and its number by a signal (Ctrl-C: 130)"
ENVIRONMENT = {  # every variable of its own that uncork reads
    "UNCORK_RESULTS": "the folder of results that are given by name",
    "UNCORK_BIN": "the folder of uncork-client and uncork-server, in place of those of uncork",
    "UNCORK_PYTHON": "the Python that runs uncork, in place of the first that fits",
    "UNCORK_CACHE": "the folder of files that can be made again (default: ~/.cache/uncork)",
    "UNCORK_SSH": "ssh(1) of target=ssh, with options",
    "UNCORK_ANSIBLE": "the folder of the programs of Ansible, for hosts=",
}
SELECT = "words that select cells (write=cork,more place=together; default: all)"
# By part its arguments and what it does.
LAB_PARTS = {
    "up": ("[WORD=VALUE ...]",
           "makes it (link_rate=1gbit link_mtu=9000 sysctl=NAME:VALUE); root only"),
    "status": ("", "what stands, as read back from the system"),
    "run": ("[--on HOST] CMD ...",
            "runs a command inside, on A unless --on says so; finds uncork-client"),
    "down": ("", "ends it; what up did not make is not touched"),
}
LAB = "\n" + "".join(f"  {f'{part} {takes}':<26} {text}\n"
                     for part, (takes, text) in LAB_PARTS.items()) + """
a run in it by hand, as uncork run -n prints it (uncork run lab=on needs none of this):
  uncork lab up link_rate=1gbit
  uncork lab run uncork-client \\
      --server-in 198.18.2.3@/run/netns/uncork-c lab=on link_rate=1gbit
  uncork lab down
with workload=proxy the client takes one option more, for the proxy in B:
  --proxy-in 198.18.1.2@/run/netns/uncork-b

"""
EXEC = """
what does this server send, and would it be faster if it joined that:
  uncork exec -- qemu-nbd -t -f raw disk
  uncork exec override=more:64 -- qemu-nbd -t -f raw disk
the report goes to standard error at the end, and when uncork exec gets SIGUSR1

"""
CLAIMS_PARTS = {
    "list": ("[--json] [ID ...]", "what this machine can replay, and how long that takes"),
    "run": ("[--quick] [-o DIR] ID ...|all [WORD=VALUE ...]",
            "replays claims, one result each in DIR; ID is a claim that ships, or a file"),
    "report": ("[--md|--csv|--json|--html] RESULTS ...",
               "published, measured, verdict; several results, or files of --json, side by side"),
}
BISECT = """
an uncork of its own by counts, which two rounds decide; a kernel, booted in each round:
  uncork bisect v0.1.0 HEAD --fail-if 'segments_per_message > 1' \\
      message=15x2 write=more
  uncork bisect v6.12 v6.13 --tree ~/linux \\
      --fail-if 'segments_per_message > 1' \\
      --build 'cp ~/linux/.config . && make -j8 olddefconfig bzImage' \\
      message=15x2 write=more target=vng:{tree}
a revision that does not build or boot, or is undecided, is skipped;
one that cannot run a cell is bad, because GOOD can

"""


def result_folder(text: str) -> Path:
    """The folder of a result; UsageError for a text that names none, before pandas is imported."""
    from pathlib import Path

    from suite.base.errors import UsageError
    from suite.result.files import result_find
    path = Path(text)
    if "=" in text and not path.is_dir():
        raise UsageError(f'"{text}": the folder of a result comes first')
    return result_find(path)


def result_add(parser: ArgumentParser, words: str, metavar: str = "WORD") -> None:
    parser.add_argument("results", type=result_folder, metavar="RESULTS",
                        help="folder of a result, or its name in results/; or an archive of one, "
                             "NAME.tar.xz")
    parser.add_argument("words", nargs="*", default=[], metavar=metavar, help=words)


def output_add(parser: ArgumentParser, metavar: str, text: str) -> None:
    """-o, --output: where what comes out goes; `-` is standard output."""
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
                        help="a scenario (scenarios/NAME.toml or a path) and words; "
                             'not="a=1 b=2" leaves out cells, and may be repeated; '
                             "or a result alone, to go on with")
    output_add(parser, "DIR", "folder of the result (default: NAME-YYYYmmdd-HHMMSS in "
                              "$UNCORK_RESULTS, else in results/ of the checkout or, of an "
                              "installed uncork, of the working directory); without words it "
                              "takes those of the result in DIR")
    parser.add_argument("-n", "--dry-run", action="store_true",
                        help="run nothing: show what would run, for how long, and the commands")
    gates_add(parser, "with -n: how many rounds these gates need, which uncork compare then holds "
                      "against the result")
    transport = parser.add_mutually_exclusive_group()
    transport.add_argument("--psk", metavar="FILE", help="speak by TLS to a server that "
                       "server= names, with the first key of FILE")
    transport.add_argument("--insecure", action="store_true",
                       help="speak to it without TLS, although it is on another machine")
    parser.add_argument("--quick", action="store_true",
                        help=f"a first look: {quick_limits()}; never more than without it")
    begin = parser.add_mutually_exclusive_group()
    begin.add_argument("--more", action="store_true",
                       help="add a session to a finished result: as many rounds again")
    begin.add_argument("--new", action="store_true",
                       help="begin a new result, also where one of this plan is unfinished "
                            "(default: go on with that)")


def list_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="WORD",
                        help="explain a word, a value, a metric, a scenario, its file or parts, an "
                             "arm, a sign of a table, a term")
    parser.add_argument("--json", action="store_true", help="as one JSON object, for programs")


def table_arguments(parser: ArgumentParser) -> None:
    from suite.present.tables import RENDERERS
    result_add(parser, "rows=place,write columns=time_per_message,segments_per_message; "
                       "gain=METRIC: of it pre, post and gain over the baseline; "
                       "best=WORD: its best value by the first metric; gain=off, best=off; "
                       "other words select cells: write=cork,more (default: all)")
    formats_add(parser, RENDERERS)


SIDES = ("another result, to compare with; write=nodelay write=cork: two sides, the base first "
         "(several words of one in quotes); without sides: the baseline against each other value, "
         "or the first target or build against each other; other words narrow both; "
         "columns=METRIC,... (default: the first of the table); "
         "axis=kernel,...: what two results are compared about; "
         "geomean=all: the mean of all rows")


def compare_arguments(parser: ArgumentParser) -> None:
    result_add(parser, SIDES, "RESULTS|WORD")
    parser.add_argument("--strict", action="store_true",
                        help="refuse where anything but what is compared differs")
    parser.add_argument("--force", action="store_true", help="compare across virtualisation, "
                        "number of CPUs or congestion control, and say so")
    gates_add(parser, "a limit that no row may be beyond; repeatable; of a change "
                      "(time_per_message > +3%%), or of the figure of the new side "
                      "(segments_per_message > 1, latency_p99 > 2ms); sets the exit status")
    formats_add(parser, formats_known())


def bisect_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("good", metavar="GOOD", help="a revision whose gates pass")
    parser.add_argument("bad", metavar="BAD", help="a later one, at which they fail")
    parser.add_argument("words", nargs="*", metavar="SCENARIO | WORD=VALUE",
                        help="what each step runs, as for uncork run; {tree} in a word is the "
                             "worktree of its revision (target=vng:{tree}); without it the "
                             "revision is an uncork that build= names")
    gates_add(parser, "what makes a revision bad, as for uncork compare; a change is from GOOD, in "
                      "the same rounds; unsupported: a cell cannot run", required=True)
    parser.add_argument("--tree", metavar="DIR", help="the repository (default: that of uncork)")
    parser.add_argument("--build", metavar="COMMAND",
                        help="builds a revision, by sh in its worktree, there or in $UNCORK_BUILD "
                             "(default: cmake, for uncork)")
    output_add(parser, "DIR", "folder of the results of all steps (default: beside other results)")


def plot_arguments(parser: ArgumentParser) -> None:
    from suite.scenario.scenario import PICTURES
    result_add(parser, "kind=KIND,...: these instead of the scenario's pictures "
                       f"({', '.join(PICTURES)}); metric=METRIC,... or of=HISTOGRAM,...: what they "
                       "show; x=WORD: along which word; size=column|page|WIDTHxHEIGHT(in|mm|px): "
                       "for print (default: a screen); title=no, note=no: without it; "
                       "points=yes|no: "
                       "each round as a dot, or rounds as a band (default: where there is room); "
                       "other words select cells: write=cork,more (default: all)")
    output_add(parser, "DIR", "where the pictures go (default: RESULTS/plots)")


def report_arguments(parser: ArgumentParser) -> None:
    result_add(parser, "another result, to compare with; "
                       "words that select cells: write=cork,more (default: all)", "RESULTS|WORD")
    output_add(parser, "FILE", "where the page goes (default: report.html in the last of RESULTS); "
                               "- is standard output")


def paste_arguments(parser: ArgumentParser) -> None:
    from suite.present.tables.mail import STYLES
    result_add(parser, SIDES, "RESULTS | WORD")
    parser.add_argument("--style", choices=STYLES, default="plain",
                        help="plain: aligned text; md: tables with pipes (default: plain)")
    parser.add_argument("--utf8", action="store_true", help="symbols instead of ASCII")
    parser.add_argument("--netdev", action="store_true",
                        help="columns that reviewers of netdev ask for: throughput, CPU of both "
                             "ends and retransmits, per message")


def verify_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("block", metavar="BLOCK",
                        help="the posted block, or the whole mail; - is standard input; or "
                             "REPORT.json of claims report")
    parser.add_argument("results", nargs="+", metavar="RESULTS",
                        help="the result that it is of; of a block on two results both, the base "
                             "first")


def export_arguments(parser: ArgumentParser) -> None:
    from suite.present.hgrm import HGRM_UNITS
    from suite.stats.histogram import HISTOGRAMS
    result_add(parser, SELECT)
    parser.add_argument("--of", default="latency", choices=HISTOGRAMS, metavar="WHAT",
                        help=f"which histogram: {', '.join(HISTOGRAMS)}")
    parser.add_argument("--unit", default="us", choices=HGRM_UNITS, metavar="UNIT",
                        help=f"of the values: {', '.join(HGRM_UNITS)} (default: us)")
    output_add(parser, "DIR", "where the files go, one for each cell (default: RESULTS/hgrm); "
                              "- writes one cell to standard output")


def parts_add(parser: ArgumentParser, texts: Mapping[str, tuple[str, str]]) -> list[ArgumentParser]:
    """A parser for each part of a command; all of them tell its exit status."""
    parts = parser.add_subparsers(dest="part", metavar="|".join(texts), required=True)
    exits = (parser.epilog or "").rpartition("\n\n")[2]
    return [parts.add_parser(part, help=text, epilog=exits) for part, (_, text) in texts.items()]


def lab_arguments(parser: ArgumentParser) -> None:
    from suite.base.lab_words import CLIENT_HOST, LAB_HOSTS
    up, _, run, _ = parts_add(parser, LAB_PARTS)
    up.add_argument("words", nargs="*", metavar="WORD=VALUE")
    run.add_argument("--on", choices=LAB_HOSTS, default=CLIENT_HOST)
    run.add_argument("command", nargs="...", metavar="CMD")  # all that follows


def claims_arguments(parser: ArgumentParser) -> None:
    from suite.present.tables import RENDERERS
    listed, run, report = parts_add(parser, CLAIMS_PARTS)
    listed.add_argument("names", nargs="*", metavar="ID")
    listed.add_argument("--json", action="store_true", help="as one JSON object, for programs")
    run.add_argument("names", nargs="+", metavar="ID | all | WORD=VALUE")
    run.add_argument("--quick", action="store_true", help="a first look, as of uncork run")
    output_add(run, "DIR", "folder of the results (default: claims-YYYYmmdd-HHMMSS)")
    report.add_argument("results", nargs="+", metavar="RESULTS",
                        help="folder of claims run, of one result, or a file of report --json")
    formats_add(report, RENDERERS)


def exec_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--json", nargs="?", const="", metavar="FILE",
                        help="the report as JSON, to FILE or to standard error")
    parser.add_argument("command", nargs="...", metavar="[override=CHANGE] -- COMMAND",
                        help="what to run, and a change: nodelay, nagle, nomore, nocork, "
                             "more:SIZE, join, sndbuf:SIZE, rcvbuf:SIZE; several joined by +")


def doctor_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("words", nargs="*", metavar="SCENARIO | WORD=VALUE",
                        help="only what concerns such a run (default: everything)")
    style = parser.add_mutually_exclusive_group()
    style.add_argument("--all", action="store_true", help="also show what is fine")
    style.add_argument("--json", action="store_true", help="every finding, for programs")


# Words that select no cells but belong to a command, by key with what its values are.
COMPARE_WORDS = {"columns": "metrics", "axis": "differences", "geomean": "all"}


class Command(NamedTuple):
    """help: one line. own: words of this command alone, as COMPARE_WORDS. in_order: what follows
    its own words is not parsed as its options."""

    help: str
    arguments: Callable[[ArgumentParser], object]
    exit: str = EXIT
    text: str = ""
    own: Mapping[str, str] = {}
    in_order: bool = False


COMMANDS = {
    "run": Command("measure: a scenario by name, words, or both; words override the scenario's",
                   run_arguments),
    "list": Command("scenarios, words with their defaults, strategies, metrics, and what this "
                    "machine supports", list_arguments),
    "table": Command("a result as a table: medians with intervals, beside what others published",
                     table_arguments, own={"rows": "axes", "columns": "metrics",
                                           "gain": "metrics", "best": "axes"}),
    "compare": Command("two sides cell by cell: what changed, how certain it is, and what else "
                       "differs", compare_arguments,
                       f"{EXIT}; with --fail-if 0 all rows within, 3 some undecided, 4 nothing "
                       "compared, 5 a regression", own=COMPARE_WORDS),
    "bisect": Command("which commit did it: drives git bisect run by gates, in worktrees of its "
                      "own", bisect_arguments,
                      f"{EXIT}; 3 where skipped revisions leave several commits", BISECT),
    "show": Command("one cell explained: counts, CPU, placement, options, every round",
                    partial(result_add,
                            words="words that select one cell, place=together write=cork")),
    "check": Command("the scenario's claims as TAP: ok, not ok, or undecided "
                     "(exit status 0, 1, 3)",
                     partial(result_add,
                             words=f"{SELECT}; a claim about any other cell is left out"),
                     f"{EXIT}; 1 where a claim does not hold, 3 where one is undecided and none "
                     "fails"),
    "plot": Command("a result as pictures: png, svg, pdf and 72 columns of text, with their .dat "
                    "and .gp", plot_arguments, own={"kind": "pictures", "metric": "metrics",
                                                    "of": "histograms", "x": "axes",
                                                    "size": "sizes", "title": "shown",
                                                    "note": "shown", "points": "shown"}),
    "report": Command("a result, or two, as one page of HTML: verdicts, tables, pictures, "
                      "machines, commands", report_arguments),
    "paste": Command("a block for a mail: figures with intervals, the machine, the command",
                     paste_arguments, own=COMPARE_WORDS),
    "verify": Command("a block that was posted, computed again: is every figure the same?",
                      verify_arguments, f"{EXIT}; 1 where anything is not the same"),
    "claims": Command("figures that others published, replayed here, with a verdict on each",
                      claims_arguments,
                      f"{EXIT}; of claims run and report 0 all decided, 1 one is contradicted, 3 "
                      "one is undecided, 4 nothing could run", in_order=True),
    "export": Command("the latencies of cells as HdrHistogram text (.hgrm), for other plotters",
                      export_arguments),
    "lab": Command("three network namespaces A - B - C with links of a given rate, MTU, delay and "
                   "loss", lab_arguments, f"{EXIT}; lab run: the status of the command", LAB,
                   in_order=True),
    "exec": Command("run any program, and see how its messages leave; override= changes that from "
                    "outside", exec_arguments,
                    f"{EXIT}; else the status of the program; 125 refused, 126 cannot be run, 127 "
                    "not there", EXEC, in_order=True),
    "doctor": Command("what on this machine will disturb a result, and the command that fixes each",
                      doctor_arguments),
    "subjects": Command("servers and clients that can be measured in place of uncork's: version, "
                        "parameters, what is missing", lambda parser: parser.add_argument(
                            "--json", action="store_true",
                            help="their definitions, for uncork-client --subjects FILE")),
    "setup": Command("install what a target needs: gVisor, virtme-ng, Ansible, ssh; a subject or "
                     "a load",
                     lambda parser: parser.add_argument(
                         "names", nargs="...", metavar="NAME",
                         help="what to install (default: lists what can be); "
                              "kernels VERSION...: fetches kernels for target=vng:VERSION"),
                     in_order=True),
    "complete": Command("what may follow on a command line, for the completion of a shell",
                        lambda parser: parser.add_argument(
                            "line", metavar="LINE",
                            help="a command line up to the cursor, as one text")),
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
