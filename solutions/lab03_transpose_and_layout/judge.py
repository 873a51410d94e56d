"""Cases of any size for `transpose` and `fall`, and what is right, for `autograder fuzz`: nothing comes from the checks."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from autograder.grading.fuzzing.judging import JudgedCall, size
from autograder.records.runs import RunRequest, Uninitialised

HEIGHT, SPEED, FIELDS, GRAVITY = 2, 5, 8, 9.81
FLOAT32 = float(np.finfo(np.float32).eps)


def cases(rng: np.random.Generator) -> Iterator[JudgedCall]:
    """Matrices of all shapes; points in numbers that are, and are not, multiples of a block's threads."""
    yield turned(rng, 64, 64)
    for low, high in ((1, 40), (1, 300), (30, 130), (100, 700)):
        rows, columns = size(rng, low, high), size(rng, low, high)
        yield turned(rng, rows, columns)
    yield turned(rng, int(rng.integers(1, 4)), int(rng.integers(1000, 3000)))
    yield turned(rng, int(rng.integers(1000, 3000)), int(rng.integers(1, 4)))
    multiple = 2 ** int(rng.integers(5, 9))
    for points in (1, multiple * int(rng.integers(1, 9)), size(rng, 2, 400), size(rng, 500, 9000)):
        yield falls(rng, points, int(rng.integers(1, 7)))
    yield falls(rng, 256 * int(rng.integers(5, 40)), 1)
    yield falls(rng, 256 * int(rng.integers(5, 40)) + 1, 1)
    yield falls(rng, int(rng.integers(20_000, 90_000)), 2)


def turned(rng: np.random.Generator, rows: int, columns: int) -> JudgedCall:
    a = rng.normal(0, 100, (rows, columns)).astype(np.float32)

    def wrong(outputs: Mapping[str, np.ndarray], returned: Any) -> str:
        other = outputs["b"].view(np.uint32) != np.ascontiguousarray(a.T).view(np.uint32)
        if other.any():
            row, col = np.argwhere(other)[0]
            return f"b[{row}, {col}] is {outputs['b'][row, col]}, not {a[col, row]}; {other.sum()} are wrong"
        return "" if np.array_equal(outputs["a"], a) else "a has changed"

    arguments = {"a": a, "b": Uninitialised((columns, rows), np.float32)}
    return JudgedCall(RunRequest("transpose", arguments), wrong, f"transpose of {rows}x{columns}")


def falls(rng: np.random.Generator, points: int, steps: int) -> JudgedCall:
    start = rng.uniform(-50, 50, (points, FIELDS)).astype(np.float32)
    dt = float(rng.uniform(0.005, 0.2))
    height, speed = start[:, HEIGHT].astype(np.float64), start[:, SPEED].astype(np.float64)
    size = np.abs(height) + np.abs(speed)
    for _ in range(steps):
        speed = speed - GRAVITY * dt
        height = height + speed * dt
        size = size + np.abs(speed) * (1 + dt) + GRAVITY * dt + np.abs(height)

    def wrong(outputs: Mapping[str, np.ndarray], returned: Any) -> str:
        now = outputs["points"]
        for field in range(FIELDS):
            right = {HEIGHT: height, SPEED: speed}.get(field, start[:, field])
            most = 8 * FLOAT32 * size if field in (HEIGHT, SPEED) else np.zeros(points)
            far = ~(np.abs(now[:, field] - right) <= most)
            if far.any():
                i = int(np.argmax(far))
                return f"field {field} of point {i} is {now[i, field]}, not {right[i]}; {far.sum()} points are wrong"
        return ""

    scratch = Uninitialised((FIELDS, points), np.float32)
    arguments = {"points": start, "scratch": scratch, "dt": dt, "steps": steps}
    request = RunRequest("fall", arguments, scratch=("scratch",))
    return JudgedCall(request, wrong, f"{points} points for {steps} steps")
