# seeds_verbs.py - makes the seeds of fuzz_fix and fuzz_merge from the small files of tests/fixtures/cases.
#
# In:  the cases. Out: corpus/fuzz_fix: a zero byte and the file; corpus/fuzz_merge: flags, the first file's size, both
#      files. Run it after a case was added: python3 tests/fuzz/seeds_verbs.py

import pathlib

here = pathlib.Path(__file__).resolve().parent
cases = sorted((here.parent / "fixtures" / "cases").glob("*.json"))
small = [case for case in cases if case.stat().st_size < 3000]

fix = here / "corpus" / "fuzz_fix"
fix.mkdir(parents=True, exist_ok=True)
for case in small:
    (fix / case.stem).write_bytes(b"\0" + case.read_bytes())

merge = here / "corpus" / "fuzz_merge"
merge.mkdir(parents=True, exist_ok=True)
pairs = [(small[i], small[i + 1]) for i in range(len(small) - 1)]
for flags in (0, 1):
    for one, two in pairs:
        first = one.read_bytes()
        (merge / f"{flags}-{one.stem[:2]}-{two.stem}").write_bytes(
            bytes([flags]) + len(first).to_bytes(2, "little") + first + two.read_bytes()
        )
