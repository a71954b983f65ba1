# SPDX-License-Identifier: MIT
"""Merges the words of a scenario and of the shell, which replace them; the client expands both."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from suite.base.client import Client, Vocabulary, client_expand, scenario_names, scenario_path
from suite.base.errors import Failure, UsageError, synonyms_read
from suite.base.runner_words import ARM, LOAD, NOT_LOADED, OVERRIDE, RUN_WORDS, SUBJECT, TARGET
from suite.base.units import SECONDS
from suite.base.words import word_split
from suite.places.targets import Targets
from suite.result.plan import WordChange
from suite.scenario.scenario import WORD_TABLES, Scenario, scenario_load
from suite.scenario.subject import is_parameter, name_check, parameter_values

WORDS_NAME = "words"  # the name of a run without a scenario
# Six rounds are the fewest that have an interval.
QUICK = {"rounds": "10", "duration": "100ms", "warmup": "50ms"}
QUICK_LIMITS = (f"at most {QUICK['rounds']} rounds of {QUICK['duration']}, after "
                f"{QUICK['warmup']} of warm-up")
# words in place of duration: --quick does not change them, because their time is not known
FIXED_WORK = ("messages", "bytes")
# the order of words in the name of a cell; words of the run are in none
ROLES = ("fixed", "sweep", "timing", "run")


@dataclass(frozen=True)
class Word:
    """A word of a plan. table: of the scenario, or shell where the scenario does not have the word.
    where: begins messages. typed: whether the shell gave it. values: expanded by the client."""

    key: str
    text: str
    table: str = "shell"
    where: str = ""
    typed: bool = False
    values: tuple[str, ...] = ()

    @property
    def argument(self) -> str:
        return f"{self.key}={self.text}"

    @property
    def role(self) -> str:
        """run: a word of the run. A word of cells is sweep (an axis), timing (one value in [run])
        or fixed (one value)."""
        if self.key in RUN_WORDS:
            return "run"
        if len(self.values) > 1:
            return "sweep"
        return "timing" if self.table == "run" else "fixed"


Words = Mapping[str, Word]  # all words of a plan, by key


def words_merge(scenario: Scenario, path: Path | None, shell: Mapping[str, str]) -> Words:
    """The words of a scenario in order, then those that only the shell has, whose text wins."""
    words = {}
    for table in WORD_TABLES:
        for key, value in getattr(scenario, table).items():
            text = value if isinstance(value, str) else ",".join(value)
            words[key] = Word(key, text, table, f"{path}: [{table}] {key}: " if path else "")
    for key, text in shell.items():
        words[key] = Word(key, text, words[key].table if key in words else "shell", typed=True)
    return words


def words_expand(client: Client, words: Sequence[Word]) -> list[Word]:
    """The same words with their values, which the client expands. It does not know arms, names of
    programs and their parameters. The baseline stays one text."""
    known = [word for word in words if word.key not in (ARM, "baseline")]
    try:
        answers = iter(client_expand(client, [word.argument for word in known]))
    except UsageError as error:
        if len(known) == 1:
            raise UsageError(f"{known[0].where}{error}") from None
        for word in known:  # which of them is wrong?
            words_expand(client, [word])
        raise
    expanded = []
    for word in words:
        values = ((word.text,) if word.key == "baseline" else
                  tuple(word.text.split(",")) if word.key == ARM else next(answers))
        for name in values if word.key in (SUBJECT, LOAD) else ():
            name_check(word.key, name, word.where)
        if is_parameter(word.key):
            values = parameter_values(word.key, values, word.where)
        expanded.append(replace(word, values=values))
    return expanded


def words_collect(targets: Targets, vocabulary: Vocabulary, scenario: Scenario, path: Path | None,
                  shell: Mapping[str, str]) -> Words:
    """The words of scenario and shell, expanded, in the order of ROLES. The pairs of hosts= are the
    first axis, so that the words of a pair vary faster. A new axis comes last."""
    merged = words_merge(scenario, path, shell)
    for key in [key for key in merged if key in vocabulary.run_words]:
        where = merged[key].where
        if key == "not":
            raise UsageError(f'{where}a scenario writes exclude = ["..."] at its top')
        if key not in RUN_WORDS:
            raise Failure(f"{where}this runner does not know the word {key}")
        if merged[key].table in ("fixed", "sweep"):
            raise UsageError(f"{where}{key} is of the run: it belongs under [run]")
    if hosts := merged.get("hosts"):
        if TARGET in merged:
            raise UsageError(
                f"{merged[TARGET].where}{hosts.argument} and {merged[TARGET].argument} contradict "
                "each other: the pairs of the inventory are the targets")
        pairs = ",".join(targets.hosts_open(hosts.text))
        merged = {TARGET: Word(TARGET, pairs, "sweep", hosts.where), **merged}
    words = words_expand(targets.local, [*merged.values()])
    for word in (word for word in words if len(word.values) > 1):
        if word.role == "run":
            raise UsageError(f"{word.where}{word.key} takes one value")
        if word.table in ("fixed", "run") and not word.typed:
            raise UsageError(f"{word.where}has several values: it belongs under [sweep]")
    words.sort(key=lambda word: (ROLES.index(word.role),
                                 word.role == "sweep" and word.table != "sweep"))
    found = {word.key: word for word in words}
    override = found.get(OVERRIDE)
    # the program without the library shows what the library costs
    if override and len(override.values) > 1 and NOT_LOADED not in override.values:
        found[OVERRIDE] = replace(override, values=(*override.values, NOT_LOADED))
    return found


def scenario_choose(arguments: Sequence[str]) -> tuple[Scenario, Path | None, list[str]]:
    """(scenario, its file, words) from the arguments of the shell."""
    names = [argument for argument in arguments if "=" not in argument]
    words = [argument for argument in arguments if "=" in argument]
    for word in words:
        word_split(word)
    for name in names[1:]:
        if name in scenario_names():
            raise UsageError(f'one scenario at a time, not "{names[0]}" and "{name}"')
        word = dict(reversed(synonyms_read())).get(name, name)
        raise UsageError(f'"{name}" is no scenario, and a word has a value: {word}=...')
    if names:
        path = scenario_path(names[0])
        return scenario_load(path), path, words
    if not words:
        raise UsageError("nothing to run: give a scenario or words (uncork list shows both)")
    return Scenario(WORDS_NAME), None, words


# ---- `uncork run --quick`: fewer and shorter rounds for a first look. It never lengthens anything.

def amount(text: str) -> float:
    """A number of rounds, or a duration in seconds, in the client's spelling."""
    number = text.rstrip("".join(SECONDS))
    return float(number) * SECONDS.get(text[len(number):], 1.0)


def quick_apply(words: Words, vocabulary: Vocabulary) -> tuple[Words, dict[str, WordChange]]:
    """The words under --quick, and its changes, by word."""
    changes: dict[str, WordChange] = {}
    quick = dict(words)
    unlimited = {"duration"} if any(work in words for work in FIXED_WORK) else set()
    if "workload" in words and words["workload"].values == ("command",):
        unlimited = {"duration", "warmup"}
    for key, most in QUICK.items():
        word = words.get(key, Word(key, most, "run",
                                   values=(str(vocabulary.words[key]["default"]),)))
        if len(word.values) > 1:
            raise UsageError(f"--quick cannot shorten {word.argument}: it has several values")
        if key not in unlimited and amount(word.values[0]) > amount(most):
            changes[key] = {"was": word.values[0], "is": most}
            quick[key] = replace(word, values=(most,))
    if "until" in words:
        changes["until"] = {"was": quick.pop("until").values[0], "is": None}
    for key in changes:
        if key in words and words[key].typed:
            why = f"with it {key} is at most {QUICK[key]}" if key in QUICK else "it adds no rounds"
            raise UsageError(f"--quick and {words[key].argument} contradict each other: {why}")
    return quick, changes
