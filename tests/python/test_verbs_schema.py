# test_verbs_schema.py - what the verbs print as JSON is what docs/schema says.

import json

import pytest

TYPES = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "null": type(None)}


def fits(value, schema, path="$"):
    """The few words of JSON Schema that docs/schema uses."""
    known = {"$schema", "$id", "title", "description", "type", "const", "required", "properties", "items",
             "additionalProperties"}
    assert set(schema) <= known, f"{path}: this test does not know {set(schema) - known}"
    if "const" in schema:
        assert value == schema["const"], path
    if "type" in schema:
        types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        assert any(isinstance(value, TYPES[word]) and not isinstance(value, bool) for word in types), f"{path}: {value!r}"
    if isinstance(value, dict):
        for key in schema.get("required", []):
            assert key in value, f"{path}: no {key}"
        for key, member in value.items():
            if key in schema.get("properties", {}):
                fits(member, schema["properties"][key], f"{path}.{key}")
            else:
                assert schema.get("additionalProperties", True), f"{path}: {key} is not in the schema"
    if isinstance(value, list):
        for place, member in enumerate(value):
            fits(member, schema.get("items", {}), f"{path}[{place}]")


def commands(fixtures, out):
    ddp = [fixtures / "traces" / f"h200_ddp_rank{rank}.json.gz" for rank in (0, 1)]
    train = fixtures / "traces" / "h200_train.json.gz"
    return {
        "cut": ["cut", train, "--from", "1ms", "-o", out],
        "convert": ["convert", train, "-o", out],
        "fix": ["fix", fixtures / "cases" / "52-crossing-slices.json", "-o", out],
        "merge": ["merge", *ddp, "-o", out],
        "diff": ["diff", train, ddp[0], "--by", "all", "--all"],
    }


@pytest.mark.parametrize("verb", ["cut", "convert", "fix", "merge", "diff"])
def test_json_output_fits_its_schema(run_cli, tree, fixtures_dir, tmp_path, verb):
    printed = run_cli(*commands(fixtures_dir, tmp_path / "x.json")[verb], "--format", "json").json()
    schema = json.loads((tree.root / "docs" / "schema" / f"flagprof-{verb}-1.json").read_text())
    fits(printed, schema)


def test_a_report_that_does_not_fit_is_seen():
    schema = {"type": "object", "required": ["a"], "additionalProperties": False, "properties": {"a": {"type": "integer"}}}
    for wrong in ({}, {"a": "1"}, {"a": 1, "b": 2}, [], {"a": True}):
        with pytest.raises(AssertionError):
            fits(wrong, schema)
    fits({"a": 1}, schema)
