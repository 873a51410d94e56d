"""When work was due, when it came in, and what lateness costs: a few words of an instructor or a platform in, times out.

START HERE: `Deadlines.of`. by_hand.py reads the rows that say so. A time of Moodle has no zone: it is read in the zone of
the class's own date, which is to be that of the Moodle profile with which the worksheet was downloaded.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

from autograder.records.results import Result

NUMBER = r"(\d+(?:[.,]\d+)?)"
# 10% a day, at most 50%
_POLICY = re.compile(rf"{NUMBER}\s*%\s*(?:a|per|an)\s+(day|hour)(?:\s*,?\s*at most\s+{NUMBER}\s*%)?", re.I)
_OFF = re.compile(rf"-?{NUMBER}\s*(%|d|days?|h|hours?)?", re.I)  # what one student is late, or loses for it
_HOURS = {"d": 24.0, "h": 1.0}
# ISO 8601, as Gradescope has it too: 2026-10-01 23:59 Europe/Berlin, 2023-12-02 02:52:07.938335000 Z
_MOMENT = re.compile(
    r"(?P<date>\d{4}-\d\d-\d\d)[T ]\s*(?P<time>\d\d:\d\d(?::\d\d)?)(?:\.\d+)?\s*(?P<zone>[+-]\d\d:?\d\d|[A-Za-z][\w+/-]*)?"
)
EXAMPLE = "2026-10-01 23:59 Europe/Berlin"


@dataclass(frozen=True)
class Dates:
    """When a student's work came in and when it was due, says a platform: ISO 8601, without a zone where it shows none;
    empty where it does not say."""

    handed_in: str = ""
    due: str = ""


@dataclass(frozen=True)
class Policy:
    """What each day, or hour, that has begun costs of all that was earned, and what lateness costs at most."""

    share: float
    hours: float
    most: float

    def of(self, hours: float) -> float:
        """The share that is taken off."""
        return min(self.most, self.share * math.ceil(hours / self.hours))


@dataclass(frozen=True)
class Off:
    """What a row takes off for lateness: points, or a share of all that was earned."""

    points: float | None = None
    share: float = 0.0


def policy_of(text: str) -> Policy:
    """The policy that these words name; raises `ValueError`, with a sentence's middle, where they name none."""
    found = _POLICY.fullmatch(text.strip())
    if found is None:
        raise ValueError("is no late policy, as `10% a day, at most 50%` is")
    share, unit, most = found.groups()
    if number(share) > 100 or number(most or "100") > 100:
        raise ValueError("takes more than all")
    return Policy(number(share) / 100, _HOURS[unit[0].lower()], number(most or "100") / 100)


def off(text: str, policy: Policy | None) -> Off:
    """What `3`, `20%`, `36 h` or `2 days` take off; raises `ValueError` where they say nothing of the kind."""
    found = _OFF.fullmatch(text)
    if found is None:
        raise ValueError("is neither days, hours, a share nor points")
    amount, unit = number(found[1]), (found[2] or "")[:1].lower()
    if unit == "%":
        if amount > 100:
            raise ValueError("is more than all")
        return Off(share=amount / 100)
    if not unit:
        return Off(points=amount)
    if policy is None:
        raise ValueError("costs nothing yet: no row without a student says what lateness costs, as `,late,10% a day` does")
    return Off(share=policy.of(amount * _HOURS[unit]))


def number(text: str) -> float:
    """A number with a point or a comma."""
    return float(text.replace(",", "."))


# ---- times -----------------------------------------------------------------------------------------


def moment(text: str, zone: tzinfo | None = None) -> datetime:
    """A time with its zone; `zone`: for a time that names none. Raises `ValueError`, a sentence's middle, for any other."""
    found = _MOMENT.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"is no date and time, as `{EXAMPLE}` is")
    try:
        plain = datetime.fromisoformat(f"{found['date']} {found['time']}")
    except ValueError:
        raise ValueError("is on no calendar or clock") from None
    if found["zone"]:
        zone = _zone(found["zone"])
    if zone is None:
        raise ValueError(f"has no time zone: write `{EXAMPLE}`, or `+02:00` for its end")
    return _once(plain.replace(tzinfo=zone))


def _once(when: datetime) -> datetime:
    """The same time; raises `ValueError` where clocks are put forward over it, or back, so that it comes twice."""
    first, second = when.utcoffset(), when.replace(fold=1).utcoffset()
    if first == second:
        return when
    if _utc(when).astimezone(when.tzinfo).replace(tzinfo=None) != when.replace(tzinfo=None):
        raise ValueError("is on no clock of that day: it is put forward over that hour")
    names = " or ".join(f"`{_offset(each)}`" for each in (when, when.replace(fold=1)))
    raise ValueError(f"comes twice on that day, since clocks are put back: write {names} in place of the city")


def _offset(when: datetime) -> str:
    """A time's distance from UTC, as `moment` reads it: +02:00."""
    return when.isoformat()[-6:]


def _zone(name: str) -> tzinfo:
    if name.upper() in ("Z", "UTC"):
        return timezone.utc
    if name[0] in "+-":
        digits = name[1:].replace(":", "")
        hours, minutes = int(digits[:2]), int(digits[2:])
        if hours > 14 or minutes > 59:
            raise ValueError(f"has a time zone that is none: `{name}`")
        return timezone((1 if name[0] == "+" else -1) * timedelta(hours=hours, minutes=minutes))
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # Windows has no zones of its own
        remedy = "write a city's, as Europe/Berlin, or `+02:00` (Windows: pip install tzdata)"
        raise ValueError(f"names the time zone `{name}`, which is not known here: {remedy}") from None


def iso(when: datetime) -> str:
    """A time as it is kept: in UTC where its zone is known, else as it stands there."""
    return (when.astimezone(timezone.utc) if when.tzinfo else when).isoformat()


def _kept(text: str, zone: tzinfo, *, fold: int) -> datetime:
    """A time that `iso` wrote, in UTC; one without a zone is of `zone`, and `fold` says which of two that clocks show."""
    when = datetime.fromisoformat(text)
    return _utc(when if when.tzinfo else when.replace(tzinfo=zone, fold=fold))


def moment_text(when: datetime, zone: tzinfo) -> str:
    """A time for people, to the minute."""
    local = when.astimezone(zone)
    return f"{local:%Y-%m-%d %H:%M} {local.tzname()}"


def span(duration: timedelta) -> str:
    """How long, to the minute that has begun: 1 day 3 h 20 min."""
    minutes = math.ceil(duration.total_seconds() / 60)
    days, hours, minutes = minutes // 1440, minutes // 60 % 24, minutes % 60
    parts = ["1 day" if days == 1 else f"{days} days" if days else "", f"{hours} h" if hours else ""]
    return " ".join(filter(None, [*parts, f"{minutes} min" if minutes else ""])) or "0 min"


# ---- deadlines -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Standing:
    """One student's dates: `late` is how long after the date the work came in; None where nobody knows when it did."""

    late: timedelta | None
    words: str = ""  # where it came in late
    extension: str = ""  # where the date is later than the class's


@dataclass
class Deadlines:
    """When work was due: the class's date, and dates of single students by their place in the class.

    `handed_in`: when it came in, where an instructor says so; else the platform does.
    """

    of_class: datetime | None = None
    own: dict[int, datetime] = field(default_factory=dict)
    handed_in: dict[int, datetime] = field(default_factory=dict)

    def of(self, place: int, result: Result) -> Standing | None:
        """How a student stands; None where no date was given.

        The instructor's own date for a student decides; else the later one of the class's and of the platform's for them.
        Where clocks are put back, and the platform names no zone, what is better for the student holds.
        """
        own, common = self.own.get(place), self.of_class
        if (given := own or common) is None:
            return None
        zone = (common or given).tzinfo or timezone.utc
        at, of_class = _utc(given), _utc(common) if common else None
        if own is None and result.due:
            at = max(at, _kept(result.due, zone, fold=1))
        extension = ""
        if of_class is not None and at > of_class:
            extension = f"Due {moment_text(at, zone)}, {span(at - of_class)} after the others."
        came = self.handed_in.get(place) or (_kept(result.handed_in, zone, fold=0) if result.handed_in else None)
        if came is None:
            return Standing(None, extension=extension)
        late = max(_utc(came) - at, timedelta())
        words = f"{span(late)} late, handed in {moment_text(came, zone)}, due {moment_text(at, zone)}." if late else ""
        return Standing(late, words, extension)


def _utc(when: datetime) -> datetime:
    """Times of one zone are compared by the clock on the wall, which is put back in autumn: so all are compared in UTC."""
    return when.astimezone(timezone.utc)
