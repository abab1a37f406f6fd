# result.py - what a step found: tests that passed, those that failed with their output, those not run with the reason.

import dataclasses


@dataclasses.dataclass
class Result:
    passed: int = 0
    failures: list[tuple[str, str]] = dataclasses.field(default_factory=list)  # name, output
    skipped: list[tuple[str, str]] = dataclasses.field(default_factory=list)  # name, reason
    shown: str = ""  # a table of the tests' own making, printed below the step's line

    @staticmethod
    def fail(name, output):
        return Result(failures=[(name, output)])

    @staticmethod
    def skip(name, reason):
        return Result(skipped=[(name, reason)])

    def add(self, other):
        self.passed += other.passed
        self.failures += other.failures
        self.skipped += other.skipped
        self.shown += other.shown
        return self
