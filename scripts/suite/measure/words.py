# SPDX-License-Identifier: MIT
"""The words of a scenario and of the shell, merged, expanded by `uncork-client`, and each in its
role."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from suite.base.client import Client, Vocabulary, client_expand, scenario_names, scenario_path
from suite.base.errors import Failure, UsageError, synonyms_read
from suite.base.runner_words import ARM, LOAD, NOT_LOADED, OVERRIDE, SUBJECT, TARGET
from suite.base.units import SECONDS
from suite.base.words import words_split
from suite.result.plan import WordChange
from suite.scenario.scenario import WORD_TABLES, Scenario, scenario_load
from suite.scenario.subject import is_parameter, name_check, parameter_values

# what this runner acts on; the client lists them too
RUN_WORDS = ("rounds", "seed", "until", "baseline", "timer", "hosts")
WORDS_NAME = "words"  # the name of a run without a scenario
# Six rounds are the fewest that have an interval.
QUICK = {"rounds": "6", "duration": "200ms", "warmup": "50ms"}
# in place of duration: how long it takes is not known, and not changed
FIXED_WORK = ("messages", "bytes")
WHOLE = "command"  # a workload that has rounds only
Spread = Callable[[str], Sequence[str]]  # the pairs of an inventory as values of target


@dataclass(frozen=True)
class Word:
    """A word of a plan. text: as it was given. table: of the scenario, fixed, sweep or run; shell
    where the scenario does not have the word. where: begins a message about it. typed: whether the
    shell gave it. values: the text written out by the client; empty until then."""

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
        """What it is to the plan: run; of cells fixed (one value), sweep (an axis), or timing (one
        value, under [run])."""
        if self.key in RUN_WORDS:
            return "run"
        if len(self.values) > 1:
            return "sweep"
        return "timing" if self.table == "run" else "fixed"


Words = Mapping[str, Word]  # all words of a plan, by key


def values_of(words: Words, *roles: str) -> dict[str, tuple[str, ...]]:
    """The values of the words in these roles, by key: role by role, in the order of the words."""
    return {key: word.values for role in roles
            for key, word in words.items() if word.role == role}


def is_overridden(words: Words) -> bool:
    return any(word.typed and word.role != "run" for word in words.values())


def shell_split(arguments: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """Words of the shell, and the texts of its `not=`; UsageError for a word given twice."""
    excludes = [text.removeprefix("not=") for text in arguments if text.startswith("not=")]
    return words_split(text for text in arguments if not text.startswith("not=")), excludes


def words_merge(scenario: Scenario, path: Path | None, shell: Mapping[str, str]) -> Words:
    """The words of a scenario in order, each with the place to name in messages, then those that
    only the shell has. The shell's text replaces the scenario's, and no place is named for it."""
    words = {key: Word(key, text, typed=True) for key, text in shell.items()}
    merged = {}
    for table in WORD_TABLES:
        for key, value in getattr(scenario, table).items():
            text = value if isinstance(value, str) else ",".join(value)
            where = f"{path}: [{table}] {key}: " if path else ""
            merged[key] = replace(words.pop(key, Word(key, text, where=where)), table=table)
    return merged | words


def words_expand(client: Client, words: Sequence[Word]) -> list[Word]:
    """The same words with their values: lists and ranges written out; an arm, which no client
    knows, by its commas. UsageError names the place of the word that caused it."""
    known = [word for word in words if word.key != ARM]
    try:
        answers = iter(client_expand(client, [word.argument for word in known]))
    except UsageError:
        for word in known:
            try:
                client_expand(client, [word.argument])
            except UsageError as error:
                raise UsageError(f"{word.where}{error}") from None
        raise
    return [replace(word, values=tuple(word.text.split(",")) if word.key == ARM
                    else subject_values(word, next(answers))) for word in words]


def subject_values(word: Word, values: Sequence[str]) -> tuple[str, ...]:
    """The values of a word, checked where they are names or parameters of programs, which no client
    knows. UsageError names the place of the word."""
    for name in values if word.key in (SUBJECT, LOAD) else ():
        name_check(word.key, name, word.where)
    return parameter_values(word.key, values, word.where) if is_parameter(word.key) else (*values,)


def run_words_check(words: Words, vocabulary: Vocabulary) -> None:
    """Words of the run stand under [run] or in the shell, and this runner knows what to do."""
    for key, word in words.items():
        if key in vocabulary.run_words:
            if key == "not":
                raise UsageError(f'{word.where}a scenario writes exclude = ["..."] at its top')
            if key not in RUN_WORDS:
                raise Failure(f"{word.where}this runner does not know the word {key}")
            if word.table in ("fixed", "sweep"):
                raise UsageError(f"{word.where}{key} is of the run: it belongs under [run]")


def values_check(word: Word) -> None:
    """UsageError for a word with several values that may have only one."""
    if len(word.values) > 1:
        if word.role == "run":
            raise UsageError(f"{word.where}{word.key} takes one value")
        if word.table in ("fixed", "run") and not word.typed:
            raise UsageError(f"{word.where}has several values: it belongs under [sweep]")


def hosts_spread(words: Words, spread: Spread) -> Words:
    """With the pairs of hosts= as first axis, so that what is compared in a pair varies faster."""
    hosts, target = words.get("hosts"), words.get(TARGET)
    if hosts is None:
        return words
    if target is not None:
        raise UsageError(
            f"{target.where}{hosts.argument} and {target.argument} contradict each other: its "
            "pairs are the targets")
    return {TARGET: Word(TARGET, ",".join(spread(hosts.text)), "sweep", hosts.where), **words}


def override_complete(words: Words) -> Words:
    """With override=off behind overrides that are compared: the program without the library, which
    shows what the library costs."""
    word = words.get(OVERRIDE)
    if word is None or len(word.values) < 2 or NOT_LOADED in word.values:
        return words
    return {**words, OVERRIDE: replace(word, values=(*word.values, NOT_LOADED))}


def words_collect(client: Client, vocabulary: Vocabulary, scenario: Scenario, path: Path | None,
                  shell: Mapping[str, str], spread: Spread) -> Words:
    """Scenario and shell together, expanded. An axis that the scenario has not under [sweep] comes
    last, so that it varies fastest. override=off is added to an axis of overrides."""
    merged = words_merge(scenario, path, shell)
    run_words_check(merged, vocabulary)
    merged = hosts_spread(merged, spread)
    words = words_expand(client, [word for word in merged.values() if word.key != "baseline"])
    for word in words:
        values_check(word)
    words += [replace(word, values=(word.text,)) for word in merged.values()
              if word.key == "baseline"]
    words.sort(key=lambda word: word.role == "sweep" and word.table != "sweep")
    return override_complete({word.key: word for word in words})


def name_odd_text(names: Sequence[str]) -> str:
    """What is wrong with several names of scenarios: one may be a word without its value."""
    odd = next((name for name in names[1:] if name not in scenario_names()), None)
    if odd is None:
        return f'one scenario at a time, not "{names[0]}" and "{names[1]}"'
    word = dict(reversed(synonyms_read())).get(odd, odd)
    return f'"{odd}" is no scenario, and a word has a value: {word}=...'


def scenario_choose(arguments: Sequence[str]) -> tuple[Scenario, Path | None, list[str]]:
    """(scenario, its file, words) from what stood in the shell."""
    names = [argument for argument in arguments if "=" not in argument]
    words = [argument for argument in arguments if "=" in argument]
    spaced = next((place for place, text in enumerate(arguments)
                   if text.startswith("=") or (text.endswith("=") and arguments[place + 1:])), None)
    if spaced is not None:
        before = arguments[spaced].startswith("=") and spaced > 0
        near = arguments[spaced - before:spaced + 2]
        raise UsageError(f'"{" ".join(near)}": write {"".join(near)}, without blanks')
    if len(names) > 1:
        raise UsageError(name_odd_text(names))
    if names:
        path = scenario_path(names[0])
        return scenario_load(path), path, words
    if not words:
        raise UsageError("nothing to run: give a scenario or words (uncork list shows both)")
    return Scenario(WORDS_NAME), None, words


# ---- `uncork run --quick`: fewer and shorter rounds for a first look. It never lengthens anything.

def quick_limits() -> str:
    return (f"at most {QUICK['rounds']} rounds of {QUICK['duration']}, after {QUICK['warmup']} of "
            "warm-up")


def amount(text: str) -> float:
    """A number of rounds, or a duration in seconds, in the client's spelling."""
    number = text.rstrip("".join(SECONDS))
    return float(number) * SECONDS.get(text[len(number):], 1.0)


def words_quicken(words: Words, vocabulary: Vocabulary) -> tuple[Words, dict[str, WordChange]]:
    """The words of a quick look, and what it changed, by word. UsageError where a word of the shell
    asks for more, or where an axis would be shortened."""
    changes: dict[str, WordChange] = {}
    quick = {key: word for key, word in words.items() if key != "until"}
    whole = "workload" in words and words["workload"].values == (WHOLE,)
    for key, most in QUICK.items():
        default = str(vocabulary.words[key]["default"])
        word = words.get(key, Word(key, most, "run", values=(default,)))
        if len(word.values) > 1:
            raise UsageError(
                f"--quick cannot shorten {key}={','.join(word.values)}: it has several values")
        is_fixed = key == "duration" and any(work in words for work in FIXED_WORK)
        is_fixed |= key != "rounds" and whole
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
