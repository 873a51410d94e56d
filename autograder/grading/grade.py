"""One submission to a `Result`: read it, hold it against what the lab requires, then judge check by check."""

from __future__ import annotations

import hashlib
import inspect
import math
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from autograder.errors import (
    BrokenDefinition,
    GraderFault,
    KitError,
    Line,
    NotCarriedOut,
    SubmissionError,
    Unforeseen,
    one_line,
)
from autograder.grading.ahead import Ahead
from autograder.grading.attempt import Attempt, SharedRuns
from autograder.grading.evidence import never_ended
from autograder.grading.failures import MOST_OF_A_MESSAGE, CheckFailed, NothingCounted, Unverified
from autograder.grading.jobs import FunctionSummary, Greeting, Summary
from autograder.grading.spec import Check, Lab
from autograder.grading.unnoticed import UnnoticedFaults
from autograder.grading.worker import Worker
from autograder.records.counters import Counters, LineProfile
from autograder.records.results import (
    BLOCKED_BY,
    CheckResult,
    FunctionFingerprint,
    FunctionText,
    Hint,
    Picture,
    Result,
    Secret,
)
from autograder.records.runs import Source

PUBLIC_SEED = "public"
FAULT_OF_OURS = "The grader itself failed here, not this work. Its own report says why."
UNREADABLE = "The submission cannot be graded as it stands."
MOST_OF_A_FUNCTION = 6_000  # characters
BROKEN_AS_WELL = "This needs `{}` as well, which cannot be used: see “{}”"


@dataclass
class Grading:
    """What is known of one submission while its checks run."""

    lab: Lab
    worker: Worker
    seed: str
    summary: Summary
    flags: list[str] = field(default_factory=list)
    given_hints: set[str] = field(default_factory=set)
    never_ended: bool = False  # some run of it: it had to be stopped
    submission: Any = None
    ahead: Ahead | None = None
    broken: dict[str, BrokenDefinition] = field(default_factory=dict)  # by check: what it needs and cannot use
    told: dict[str, str] = field(default_factory=dict)  # what is wrong with it, and the title of the check that says so
    watch: Callable[[Attempt], None] | None = None  # is given each attempt once its check has ended, however it did
    unnoticed: UnnoticedFaults = field(default_factory=UnnoticedFaults)

    def __post_init__(self) -> None:
        self.shared = SharedRuns(lambda name: generator(self.lab, name, self.seed))


def check_submission(
    lab: Lab,
    submission: Any,
    *,
    worker: Worker,
    student: str | None = None,
    shown_as: str | None = None,
    seed: str = PUBLIC_SEED,
    key: str = "",
    ahead: Ahead | None = None,
    watch: Callable[[Attempt], None] | None = None,
) -> Result:
    """Grades one submission: a path, or a `Submission` taken from a notebook's live cells.

    `ahead`: a second worker, where somebody waits for the result and there is a core to spare. `watch`: is given each
    attempt once its check has ended.
    A submission that cannot be read comes back as `Result.error`; a failure of the grader itself shows in the checks
    that it kept from running, and only a worker that cannot start at all is raised, as `GraderFault`.
    """
    started = time.perf_counter()
    worker.last_details = ""  # of the submission before
    greeting = worker.greeting
    shown_as = shown_as or (Path(submission).name if isinstance(submission, str | Path) else submission.label)
    checks: Sequence[CheckResult] = ()
    error = ""
    flags: list[str] = []
    lines: tuple[LineProfile, ...] = ()
    counters: Counters | None = None
    functions: tuple[FunctionText, ...] = ()
    fingerprints: tuple[FunctionFingerprint, ...] = ()
    chosen_name = ""
    try:
        summary = read(lab, submission, worker)
    except SubmissionError as problem:
        error = str(problem)
        checks = [not_run(each, UNREADABLE) for each in lab.checks]
    except GraderFault as fault:
        checks = [not_run(each, fault_text(fault), fault=True) for each in lab.checks]
        flags = [str(fault)]
    else:
        grading = Grading(lab, worker, seed, summary, submission=submission, ahead=ahead, watch=watch)
        checks = judge_all(grading)
        flags = grading.flags
        if error := nothing_to_grade(grading):
            checks = [not_run(each, UNREADABLE) for each in lab.checks]
        else:
            lines, counters = profile_case(grading)
            functions = texts_of(summary, checks)
            fingerprints = summary.fingerprints
        chosen_name = one_line(summary.leaderboard_name).strip() if lab.leaderboard else ""
    return Result(
        lab=lab.name,
        lab_title=lab.title,
        student=student or Path(shown_as).stem,
        submission=shown_as,
        checks=tuple(checks),
        device=greeting.device,
        source=greeting.source,
        error=error,
        isolation=greeting.isolation,
        flags=tuple(dict.fromkeys(flags)),
        lines=lines,
        counters=counters,
        key=key,
        graded_at=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        seconds=round(time.perf_counter() - started, 3),
        functions=functions,
        fingerprints=fingerprints,
        chosen_name=chosen_name,
    )


def texts_of(summary: Summary, checks: Sequence[CheckResult]) -> tuple[FunctionText, ...]:
    """The functions that failed checks came to; one too long for anybody to read is left out."""
    wanted = {name for each in checks for name in each.came_to}
    found = ((name, each) for name, each in summary.functions.items() if name in wanted)
    return tuple(
        FunctionText(name, each.kind != "host", each.line, each.source)
        for name, each in found
        if len(each.source) <= MOST_OF_A_FUNCTION
    )


def read(lab: Lab, submission: Any, worker: Worker) -> Summary:
    return worker.read(submission, lab.baseline_path, lab.required, lab.seconds_per_run)


def unreadable(lab: Lab, student: str, shown_as: str, problem: str, greeting: Greeting, key: str = "") -> Result:
    """The result of something handed in that no submission can be read from."""
    return Result(
        lab=lab.name,
        lab_title=lab.title,
        student=student,
        submission=shown_as,
        checks=tuple(not_run(each, UNREADABLE) for each in lab.checks),
        device=greeting.device,
        source=greeting.source,
        error=problem,
        isolation=greeting.isolation,
        key=key,
        graded_at=datetime.now(timezone.utc).isoformat(timespec="seconds"),
    )


def fault_text(fault: KitError) -> str:
    """What a student reads of a fault: what nobody had foreseen is for the instructor, in the flags."""
    return FAULT_OF_OURS if isinstance(fault, Unforeseen) else str(fault)


def faulted(lab: Lab, student: str, shown_as: str, device: str, source: Source, fault: str) -> Result:
    """The result of a submission that we failed to grade at all; what happened stands in the flags, for the instructor."""
    checks = tuple(not_run(each, FAULT_OF_OURS, fault=True) for each in lab.checks)
    return Result(lab.name, lab.title, student, shown_as, checks, device, source, flags=(fault,))


def not_run(check: Check, reason: str, *, fault: bool = False) -> CheckResult:
    secret: Secret = "check" if check.hidden else ""
    return CheckResult(
        check.name, check.title, "not run", 0, check.points,
        message=reason, fault=fault, bonus=check.bonus, secret=secret,
    )  # fmt: skip


# ---- checks --------------------------------------------------------------------------------------


def judge_all(grading: Grading) -> list[CheckResult]:
    """Every check in the spec's order; one whose predecessor did not pass is "not run" and says which that was.

    A predecessor that came to a function that cannot be used says nothing of other functions: what comes after it is tried
    all the same, and not run only where it comes to the same function. A bonus comes last, and on top of full marks: it
    waits for every other check, so that its points make up for none.
    """
    done: dict[str, CheckResult] = {}
    ahead = grading.ahead if grading.worker.source == "simulated" else None  # a GPU times one kernel at once
    in_turn = sorted(grading.lab.checks, key=lambda check: check.bonus)
    asked = [check.name for check in in_turn if not check.bonus]
    for check in in_turn[: len(asked)]:
        _judge_in_turn(grading, check, done, check.after, ahead)
        if ahead and len(done) == 1 and done[check.name].outcome == "passed":  # most who fail do so at once
            later = in_turn[1:]
            ahead.begin(partial(read, grading.lab, grading.submission), partial(attempted, grading), later)
    fail_for_the_unnoticed(grading, done)
    for check in in_turn[len(asked) :]:
        _judge_in_turn(grading, check, done, (*asked, *check.after), ahead)
    if ahead:
        ahead.end()
    return [done[check.name] for check in grading.lab.checks]


def _judge_in_turn(
    grading: Grading, check: Check, done: dict[str, CheckResult], predecessors: Sequence[str], ahead: Ahead | None
) -> None:
    """One check's verdict, into `done`: "not run" where one of its `predecessors` did not pass."""
    blockers = [name for name in predecessors if done[name].outcome != "passed"]
    blocker = next((done[name] for name in blockers if check.bonus or name not in grading.broken), None)
    if blocker is None:
        verdict = judge(grading, check, ahead.take(check) if ahead and done else None)
        needed = str(grading.broken.get(check.name))
        same = next((done[name] for name in blockers if str(grading.broken[name]) == needed), None)
        done[check.name] = verdict if same is None else not_run(check, BLOCKED_BY.format(same.title))
    else:
        done[check.name] = not_run(check, BLOCKED_BY.format(blocker.title), fault=blocker.fault)
        if ahead:
            ahead.skip(check)


def fail_for_the_unnoticed(grading: Grading, done: dict[str, CheckResult]) -> None:
    """Fails the check whose runs showed a fault that none of the others has asked about; see unnoticed.py."""
    if not all(each.outcome in ("passed", "failed") for each in done.values()):
        return  # a check that was not run may be the one that asks
    attempt = grading.unnoticed.first()
    if attempt is not None:
        check = next(each for each in grading.lab.checks if each.name == attempt.check)
        done[check.name] = judge(grading, check, (attempt, ""))


def attempted(grading: Grading, worker: Worker, check: Check) -> tuple[Attempt, str]:
    """The check as it ran on this worker: its attempt, with the failure if it is the student's, and the line to show.

    Raises `GraderFault` where the check asked for work that it had not verified, whatever it made of that.
    """
    sources = {name: each.source for name, each in grading.summary.functions.items()}
    rng = generator(grading.lab, check.name, grading.seed)
    attempt = Attempt(
        check.name, worker, rng, sources, grading.shared, grading.summary.broken,
        grading.lab.results,
    )
    line = ""
    try:
        line = check.judge(attempt) or ""
    except CheckFailed as failure:
        attempt.failure = failure
    except SubmissionError as fault:
        attempt.failure = CheckFailed(str(fault))
    except Unverified as mistake:
        attempt.unverified = attempt.unverified or mistake  # told below, as one that the check did not let through
    finally:
        if grading.watch is not None:
            grading.watch(attempt)
    if attempt.unverified is not None:
        raise _mistake_in_the_spec(grading.lab, check, attempt.unverified)
    return attempt, line


def _mistake_in_the_spec(lab: Lab, check: Check, mistake: Unverified) -> GraderFault:
    """What a check did that none may, with the line of the spec that did it last."""
    spec = Path(inspect.getfile(check.judge))
    frames = traceback.extract_tb(mistake.__traceback__)
    within = [each.lineno for each in frames if Path(each.filename) == spec and each.lineno]
    shown = spec.name if spec == lab.hidden_spec else f"{lab.name}/{spec.name}"
    line = Line(shown, within[-1] if within else inspect.getsourcelines(check.judge)[1])
    return GraderFault(f"The check `{check.name}` {mistake.message}.", line=line, remedy=mistake.remedy)


def judge(grading: Grading, check: Check, found: tuple[Attempt, str] | None = None) -> CheckResult:
    """Runs one check, or takes what was `found` of it ahead of time. Its `CheckFailed` is the student's; any other
    exception is the grader's and costs nobody."""
    try:
        attempt, line = found or attempted(grading, grading.worker, check)
        if not check.bonus:
            grading.unnoticed.take(attempt)
        return _verdict(grading, check, attempt, line)
    except KitError as fault:
        grading.flags.append(f"{check.name}: {fault}")
        return replace(not_run(check, fault_text(fault), fault=True), secret=secrecy(grading, check))
    except (Exception, SystemExit) as problem:
        grading.worker.last_details = traceback.format_exc()
        grading.flags.append(f"{check.name}: The check itself failed: {in_words(problem)}.")
        return replace(not_run(check, FAULT_OF_OURS, fault=True), secret=secrecy(grading, check))


def _verdict(grading: Grading, check: Check, attempt: Attempt, line: str) -> CheckResult:
    attempt.go_on_with(grading.worker)
    grading.flags += attempt.flags
    failure = attempt.failure
    if attempt.broken is not None:
        return _needs_what_is_broken(grading, check, attempt.broken)
    if isinstance(attempt.fault, NotCarriedOut):
        grading.flags.append(f"{check.name}: {attempt.fault}")
    grading.never_ended |= any(never_ended(each.run.fault) for each in attempt.trials)
    functions = grading.summary.functions
    came_to = () if failure is None else functions_come_to(functions, attempt)
    # Before hints, which may run more cases.
    reproduce, pictures = ("", ()) if failure is None else (attempt.reproduction(), draw_pictures(grading, check, attempt))
    earned = check.points * (1.0 if attempt.fraction is None else attempt.fraction)
    if failure is not None:
        earned = 0.0 if attempt.fraction is None else earned
        earned = earned if failure.earned is None else failure.earned
    return CheckResult(
        name=check.name,
        title=check.title,
        outcome="passed" if failure is None else "failed",
        points=_rounded_down(min(max(earned, 0.0), check.points)),
        max_points=check.points,
        message=one_line(line, MOST_OF_A_MESSAGE) if failure is None else failure.message,
        hints=() if failure is None else recognise(grading, check, attempt),
        mismatches=() if failure is None else failure.mismatches,
        hazards=() if failure is None else failure.hazards,
        reproduce=reproduce,
        measured=pythons_numbers(attempt.measured),
        source=attempt.comparison.source if attempt.compared is not None else None,
        pictures=(*pictures, *attempt.pictures),
        bonus=check.bonus,
        secret=secrecy(grading, check),
        tried=not any(functions[name].is_empty for name in came_to),
        came_to=came_to,
    )


def functions_come_to(functions: Mapping[str, FunctionSummary], attempt: Attempt) -> tuple[str, ...]:
    """The submission's functions that a check called, and those that these name, in the order of the submission."""
    called = [each.request.function for each in attempt.trials]
    called += [launch.kernel for each in attempt.trials for launch in each.run.launches]
    called += [each.function for each in attempt.compared.requests] if attempt.compared is not None else []
    reached: set[str] = set()
    while called:
        if (name := called.pop()) in functions and name not in reached:
            reached.add(name)
            called += functions[name].uses
    return tuple(name for name in functions if name in reached)


def is_missing(grading: Grading, problem: BrokenDefinition) -> bool:
    """Whether a check came to a function that the lab can do without (a bonus), and that nobody has begun."""
    asked_for = {*grading.summary.functions, *(each.name for each in grading.lab.required)}
    return problem.name not in asked_for and problem.line is None


def _needs_what_is_broken(grading: Grading, check: Check, problem: BrokenDefinition) -> CheckResult:
    """The check has failed for what is wrong with a function, told in full at the first that needs it.

    It is wrong for all inputs, and says nothing of them: only a hidden check has a secret here.
    """
    message = str(problem)
    if not check.hidden and (title := grading.told.setdefault(message, check.title)) != check.title:
        message = BROKEN_AS_WELL.format(problem.name, title)
    grading.broken[check.name] = problem
    tried = not is_missing(grading, problem)
    return CheckResult(
        check.name, check.title, "failed", 0, check.points,
        message=message, bonus=check.bonus, secret="check" if check.hidden else "", tried=tried,
    )  # fmt: skip


def nothing_to_grade(grading: Grading) -> str:
    """What is wrong, where every check needs a function that the lab asks for and cannot use; else nothing."""
    needed = [grading.broken.get(each.name) for each in grading.lab.checks if not each.bonus]
    if all(each is not None and each.name in grading.summary.broken for each in needed):
        return next((str(each) for each in needed), "")
    return ""


def draw_pictures(grading: Grading, check: Check, attempt: Attempt) -> tuple[Picture, ...]:
    """The pictures of a failed attempt; like hints they are an extra, whose failure must not touch the verdict."""
    try:
        from autograder.grading.pictures import failure_pictures

        return failure_pictures(attempt)
    except Exception as problem:
        grading.flags.append(f"pictures of {check.name}: {in_words(problem)}")
        return ()


def secrecy(grading: Grading, check: Check) -> Secret:
    """What of a check's outcome its student must not see."""
    if check.hidden:
        return "check"
    return "data" if grading.seed != PUBLIC_SEED else ""


def recognise(grading: Grading, check: Check, attempt: Attempt) -> tuple[Hint, ...]:
    """The misconceptions that a failed attempt shows, each given at the first check that shows it."""
    hints = []
    for rule in grading.lab.hints:
        if rule.name in grading.given_hints or (rule.checks and check.name not in rule.checks):
            continue
        try:
            hint = rule.recognise(attempt)
        except Exception as problem:  # a hint is an extra: its failure must not touch the verdict
            nothing_done = isinstance(attempt.failure, NothingCounted) or isinstance(problem, NothingCounted)
            if nothing_done or _came_back_empty(attempt):
                continue  # there is nothing to recognise
            grading.flags.append(f"hint {rule.name}: {in_words(problem)}")
            continue
        if hint is not None and hint.witness:
            grading.given_hints.add(rule.name)
            hints.append(hint)
    return tuple(hints)


def _came_back_empty(attempt: Attempt) -> bool:
    """Whether the last run was ended, for its memory or its time, before there was anything to look at."""
    return bool(attempt.trials) and attempt.fault is not None and not attempt.trials[-1].run.outputs


def profile_case(grading: Grading) -> tuple[tuple[LineProfile, ...], Counters | None]:
    """The lab's profile case, by source line and in total; empty where the submission cannot run it, or has run on."""
    if grading.lab.profile is None or grading.never_ended:
        return (), None
    try:
        request = grading.lab.profile(generator(grading.lab, "profile", PUBLIC_SEED))  # feedback, not a verdict
        run = grading.worker.run(request, "simulated")
    except GraderFault as fault:
        grading.flags.append(f"profile: {fault}")
        return (), None
    except Exception as problem:  # an extra as well
        grading.flags.append(f"profile: {in_words(problem)}")
        return (), None
    return (run.lines, run.counted) if run.fault is None else ((), None)


def generator(lab: Lab, check: str, seed: str) -> np.random.Generator:
    """Random numbers that depend on the lab, the check and the (secret) seed alone."""
    digest = hashlib.sha256(f"{lab.name}/{check}/{seed}".encode()).digest()
    return np.random.default_rng(list(digest))


def _rounded_down(points: float) -> float:
    """To hundredths, downwards, so that 'nearly' never shows as 'all'; whole numbers as they are."""
    return math.floor(points * 100 + 1e-6) / 100


def pythons_numbers(numbers: Mapping[str, Any]) -> dict[str, Any]:
    """Numbers of NumPy as those of Python, for JSON."""
    return {key: value.item() if isinstance(value, np.generic) else value for key, value in numbers.items()}


def in_words(problem: BaseException) -> str:
    """An exception that nobody had foreseen, on one line for the instructor: what it is and where it comes from."""
    last = next(iter(traceback.extract_tb(problem.__traceback__)[-1:]), None)
    where = f" ({Path(last.filename).name}, line {last.lineno})" if last is not None else ""
    return f"{type(problem).__name__}: {one_line(str(problem))}{where}"
