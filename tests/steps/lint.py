# lint.py - the steps that look at files without running them: clang-format and clang-tidy.
#
# Both judge by version 14: others format otherwise and find other things. What clang-tidy has found clean is remembered
# in the build folder under a hash of everything that it read, so that only what changed is analysed again.

import hashlib
import json
import pathlib
import re
import sys

from . import tree
from .result import Result

MAJOR = 14
FOLDERS = ("include", "src", "sim", "tests", "bench", "examples")
SUFFIXES = (".c", ".h", ".cc", ".cpp", ".hpp")
# Bytes of others, and what a generator writes.
NOT_OURS = re.compile(r"tests/fixtures/|\.inc$")


def our_files():
    listed = tree.run(["git", "ls-files", "-co", "--exclude-standard", *FOLDERS])
    if listed.status == 0:
        paths = [tree.ROOT / line for line in listed.output.splitlines()]
    else:  # not a checkout: a source archive
        paths = [path for folder in FOLDERS for path in (tree.ROOT / folder).rglob("*")]
    kept = [path for path in paths if path.suffix in SUFFIXES and path.is_file()]
    return sorted(path for path in kept if not NOT_OURS.search(path.relative_to(tree.ROOT).as_posix()))


def lacks_format():
    return None if tree.tool("clang-format", MAJOR) else f"no clang-format {MAJOR}; others format otherwise"


def check_format():
    ran = tree.run([tree.tool("clang-format", MAJOR), "--dry-run", "-Werror", *our_files()])
    return Result(1) if ran.status == 0 else Result.fail("clang-format", f"{ran.output}`make format` mends this.")


def format_all():
    command = tree.tool("clang-format", MAJOR)
    if not command:
        return lacks_format()
    return tree.run([command, "-i", *our_files()]).output


# Where the system has another version (Debian 13: 19), PyPI has this one. It is fetched only there: 31 MB.
TIDY_WHEEL = "clang-tidy==14.0.6"


def lacks_tidy():
    if tree.tool("clang-tidy", MAJOR):
        return None
    pip = [tree.venv_python(), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", TIDY_WHEEL]
    tree.run(pip, limit_s=300)
    return None if tree.tool("clang-tidy", MAJOR) else f"no clang-tidy {MAJOR} here, nor from PyPI; others find other things"


# The wheel has no headers of the compiler's own (stddef.h): those of whatever clang is installed serve.
def compilers_headers(command):
    if pathlib.Path(command).parent != tree.VENV / "bin":
        return []
    shown = tree.run(["clang", "-print-resource-dir"], limit_s=60)
    return [f"--extra-arg=-resource-dir={shown.output.strip()}"] if shown.status == 0 else []


# The compile commands of our own C and C++ files that are part of the product: tests may be less tidy.
def tidy_commands():
    database = json.loads((tree.BUILD / "compile_commands.json").read_text())
    wanted = [tree.ROOT / folder for folder in ("src", "sim")]
    rows = {}
    for row in database:
        path = pathlib.Path(row["file"])
        if any(path.is_relative_to(folder) for folder in wanted):
            rows.setdefault(path, row["command"])
    return rows


INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


# Everything of ours that a file includes, itself first. Names are looked for where the build looks: beside the file, in
# include/, src/ and sim/. One that is not found is the system's.
def closure(path, seen=None):
    seen = {} if seen is None else seen
    if path in seen:
        return seen
    text = path.read_bytes()
    seen[path] = text
    for name in INCLUDE.findall(text.decode(errors="replace")):
        for folder in (path.parent, tree.ROOT / "include", tree.ROOT / "src", tree.ROOT / "sim"):
            if (folder / name).is_file():
                closure((folder / name).resolve(), seen)
                break
    return seen


def fingerprint(path, command, version):
    digest = hashlib.sha256()
    for part in (version.encode(), command.encode(), (tree.ROOT / ".clang-tidy").read_bytes()):
        digest.update(part + b"\0")
    for included, text in sorted(closure(path).items()):
        digest.update(str(included).encode() + b"\0" + text)
    return digest.hexdigest()


def check_tidy():
    command = tree.tool("clang-tidy", MAJOR)
    version = tree.run([command, "--version"]).output
    arguments = ["--quiet", "-p", tree.BUILD, *compilers_headers(command)]
    clean = tree.BUILD / "tidy"
    clean.mkdir(parents=True, exist_ok=True)

    def look(row):
        path, compile_command = row
        mark = clean / fingerprint(path, compile_command, version)
        if mark.exists():
            return None
        ran = tree.run([command, *arguments, path], limit_s=300)
        if ran.status == 0:
            mark.touch()
            return None
        # The count of suppressed warnings in system headers is noise.
        said = [line for line in ran.output.splitlines() if not re.match(r"\d+ warnings? (generated|treated)", line)]
        return str(path.relative_to(tree.ROOT)), "\n".join(said) or ran.why()

    found = [failure for failure in tree.in_parallel(look, tidy_commands().items()) if failure]
    return Result(failures=found) if found else Result(1)


if __name__ == "__main__":  # `make format`
    sys.exit(format_all() or 0)
