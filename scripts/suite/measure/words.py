# SPDX-License-Identifier: MIT
"""Merges the words of a scenario and of the shell, which `uncork-client` expands."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from suite.base.client import Client, Vocabulary, client_expand, scenario_names, scenario_path
from suite.base.errors import Failure, UsageError, synonyms_read
from suite.base.runner_words import ARM, LOAD, NOT_LOADED, OVERRIDE, RUN_WORDS, SUBJECT, TARGET
from suite.base.units import SECONDS
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
PairsOf = Callable[[str], Sequence[str]]  # the pairs of an inventory as values of target


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
    words = {key: Word(key, text, typed=True) for key, text in shell.items()}
    merged = {}
    for table in WORD_TABLES:
        for key, value in getattr(scenario, table).items():
            text = value if isinstance(value, str) else ",".join(value)
            where = f"{path}: [{table}] {key}: " if path else ""
            merged[key] = replace(words.pop(key, Word(key, text, where=where)), table=table)
    return merged | words


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


def run_words_check(words: Words, vocabulary: Vocabulary) -> None:
    """UsageError for a word of the run outside [run] and the shell; Failure for an unknown one."""
    for key, word in words.items():
        if key in vocabulary.run_words:
            if key == "not":
                raise UsageError(f'{word.where}a scenario writes exclude = ["..."] at its top')
            if key not in RUN_WORDS:
                raise Failure(f"{word.where}this runner does not know the word {key}")
            if word.table in ("fixed", "sweep"):
                raise UsageError(f"{word.where}{key} is of the run: it belongs under [run]")


def targets_from_hosts(words: Words, pairs_of: PairsOf) -> Words:
    """The words with the pairs of hosts= as first axis, so that the words of a pair vary faster."""
    hosts, target = words.get("hosts"), words.get(TARGET)
    if hosts is None:
        return words
    if target is not None:
        raise UsageError(
            f"{target.where}{hosts.argument} and {target.argument} contradict each other: the "
            "pairs of the inventory are the targets")
    return {TARGET: Word(TARGET, ",".join(pairs_of(hosts.text)), "sweep", hosts.where), **words}


def words_collect(client: Client, vocabulary: Vocabulary, scenario: Scenario, path: Path | None,
                  shell: Mapping[str, str], pairs_of: PairsOf) -> Words:
    """The words of scenario and shell, expanded. A new axis comes last and varies fastest."""
    merged = words_merge(scenario, path, shell)
    run_words_check(merged, vocabulary)
    merged = targets_from_hosts(merged, pairs_of)
    words = words_expand(client, [*merged.values()])
    for word in (word for word in words if len(word.values) > 1):
        if word.role == "run":
            raise UsageError(f"{word.where}{word.key} takes one value")
        if word.table in ("fixed", "run") and not word.typed:
            raise UsageError(f"{word.where}has several values: it belongs under [sweep]")
    words.sort(key=lambda word: word.role == "sweep" and word.table != "sweep")
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
    spaced = next((place for place, text in enumerate(arguments)
                   if text.startswith("=") or (text.endswith("=") and arguments[place + 1:])), None)
    if spaced is not None:
        before = arguments[spaced].startswith("=") and spaced > 0
        near = arguments[spaced - before:spaced + 2]
        raise UsageError(f'"{" ".join(near)}": write {"".join(near)}, without blanks')
    if len(names) > 1:
        odd = next((name for name in names[1:] if name not in scenario_names()), None)
        if odd is None:
            raise UsageError(f'one scenario at a time, not "{names[0]}" and "{names[1]}"')
        word = dict(reversed(synonyms_read())).get(odd, odd)
        raise UsageError(f'"{odd}" is no scenario, and a word has a value: {word}=...')
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
    quick = {key: word for key, word in words.items() if key != "until"}
    # workload=command has rounds, but no duration and no warm-up
    rounds_only = "workload" in words and words["workload"].values == ("command",)
    for key, most in QUICK.items():
        default = str(vocabulary.words[key]["default"])
        word = words.get(key, Word(key, most, "run", values=(default,)))
        if len(word.values) > 1:
            raise UsageError(
                f"--quick cannot shorten {key}={','.join(word.values)}: it has several values")
        is_fixed = key == "duration" and any(work in words for work in FIXED_WORK)
        is_fixed |= key != "rounds" and rounds_only
        if not is_fixed and amount(word.values[0]) > amount(most):
            changes[key] = {"was": word.values[0], "is": most}
            quick[key] = replace(word, values=(most,))
    if "until" in words:
        changes["until"] = {"was": words["until"].values[0], "is": None}
    for key in changes:
        if key in words and words[key].typed:
            why = f"with it {key} is at most {QUICK[key]}" if key in QUICK else "it adds no rounds"
            raise UsageError(f"--quick and {key}={words[key].values[0]} contradict each other: "
                             f"{why}")
    return quick, changes
