#!/usr/bin/env python3
# gen_conformance_rows.py - what each vendor promises, as a C table for `flagprof conformance`.
#
# In:  python/flagprof/conformance/vendors.json. Out: src/cli/contract_rows.inc; --check compares, --write writes.

import argparse
import json
import pathlib
import sys

TREE = pathlib.Path(__file__).resolve().parent.parent
ROWS = TREE / "python" / "flagprof" / "conformance" / "vendors.json"
TABLE = TREE / "src" / "cli" / "contract_rows.inc"


def text(value):
    return json.dumps(value, ensure_ascii=False)


def pairs(mapping):
    return "{ " + "".join(f"{{ {text(key)}, {text(value)} }}, " for key, value in mapping.items()) + "{ NULL, NULL } }"


def render(rows):
    lines = ["// Made by codegen/gen_conformance_rows.py from vendors.json; not to be edited."]
    for name, row in rows.items():
        lines.append(f"{{ .name = {text(name)}, .accelerator = {text(row['accelerator'])}, .tracer = {text(row['tracer'])},")
        lines.append(f"  .facade = {text(row['facade'])}, .calls = {text(row['calls'])},")
        cannot = {case: why for case, why in row["cannot"].items() if case not in row.get("torch_alone", [])}
        for member, mapping in (("environment", row.get("environment", {})), ("cannot", cannot), ("lacks", row["lacks"])):
            lines.append(f"  .{member} = (const struct fp_contract_pair[])")
            lines.append(f"      {pairs(mapping)},")
        lines.append("},")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    made = render(json.loads(ROWS.read_text()))
    if options.write:
        TABLE.write_text(made)
    if TABLE.read_text() != made:
        sys.exit(f"{TABLE} is not what vendors.json says: codegen/gen_conformance_rows.py --write")


if __name__ == "__main__":
    main()
