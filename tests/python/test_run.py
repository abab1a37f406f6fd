# test_run.py - the runner that judges everything else: what breaks a test must show, count and end in a failing status.

import io
import os
import pathlib
import subprocess
import sys
import textwrap

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import run  # noqa: E402
from steps import count, lint, tree  # noqa: E402
from steps.result import Result  # noqa: E402


def printed(*steps):
    out = io.StringIO()
    status = run.run_steps(steps, out)
    return status, out.getvalue()


def step(name, result, needs=(), lacks=lambda: None):
    return run.Step(name, f"what {name} shows", result if callable(result) else lambda: result, needs, lacks)


def test_the_last_line_is_the_sum_of_all_steps_and_stands_alone():
    status, text = printed(step("a", Result(2)), step("b", Result(3, skipped=[("x", "no torch")])))
    assert status == 0
    assert text.splitlines()[-1] == "5 passed, 0 failed, 1 skipped"
    assert text.count("passed") == 1, "another line would be read as a closing line too"
    assert "skipped: x: no torch" in text


def test_a_failure_shows_its_whole_output_and_fails_the_run():
    output = "\n".join(f"line {number}" for number in range(500))
    status, text = printed(step("a", Result(1, [("broken", output)])), step("b", Result(1)))
    assert status == 1 and output in text
    assert text.splitlines()[-1] == "2 passed, 1 failed, 0 skipped"


def test_the_closing_lines_say_again_what_failed_and_with_which_words():
    steps = (step("a", Result(0, [("broken", "first\n" * 40 + "the cause")])), *(step(f"s{n}", Result(1)) for n in range(50)))
    _, text = printed(*steps)
    end = text.split("s49", 1)[1]
    assert "FAILED a: broken" in end and "the cause" in end and end.count("first") < run.FAILURE_TAIL


def test_a_step_whose_need_failed_is_not_run_and_says_why():
    ran = []
    status, text = printed(
        step("build", Result.fail("build", "no")), step("c", lambda: ran.append(1) or Result(1), ("build",))
    )
    assert status == 1 and ran == [] and "skipped: c: step build failed" in text


def test_a_step_that_breaks_by_itself_is_a_failure_and_the_next_still_runs():
    def broken():
        raise OSError("disk full")

    status, text = printed(step("a", broken), step("b", Result(1)))
    assert status == 1 and "disk full" in text and text.splitlines()[-1] == "1 passed, 1 failed, 0 skipped"


def test_a_step_that_ran_nothing_is_a_failure():
    status, text = printed(step("a", Result()))
    assert status == 1 and text.splitlines()[-1] == "0 passed, 1 failed, 0 skipped"


def test_asking_for_a_step_brings_what_it_needs_in_the_tables_order():
    steps = [step("build", Result(1)), step("clang", Result(1)), step("c", Result(1), ("build",))]
    assert [one.name for one in run.select(steps, ["c"])] == ["build", "c"]
    with pytest.raises(SystemExit, match="no step cc"):
        run.select(steps, ["cc"])


def program(folder, source):
    path = folder / "program"
    path.write_text("#!/bin/sh\n" + source)
    path.chmod(0o755)
    return {"name": "test_it", "command": [str(path)], "properties": []}


def cmocka(folder, monkeypatch, source):
    monkeypatch.setattr(tree, "REPORTS", folder / "reports")
    return count.run_cmocka(program(folder, source), {})


REPORT = """
name=$(dirname "$CMOCKA_XML_FILE")/group.xml
cat > "$name" <<'X'
<testsuites><testsuite name="tests">
<testcase name="good" time="0.000" ></testcase>
<testcase name="bad" time="0.000" ><failure><![CDATA[3 != 4]]></failure></testcase>
<testcase name="later" time="0.000" ><skipped/></testcase>
</testsuite></testsuites>
X
"""


def test_each_cmocka_test_counts_and_the_skips_reason_is_the_one_printed(tmp_path, monkeypatch):
    result = cmocka(tmp_path, monkeypatch, REPORT + "echo 'skipped: no driver'\nexit 1")
    assert result.passed == 1
    assert [name for name, _ in result.failures] == ["test_it.bad"] and "3 != 4" in result.failures[0][1]
    assert result.skipped == [("test_it.later", "no driver")]


def test_a_failure_under_an_emulator_counts_when_it_comes_again_and_is_told_when_it_does_not(tmp_path, monkeypatch):
    monkeypatch.setattr(tree, "REPORTS", tmp_path / "reports")
    always = count.run_emulated(program(tmp_path, "kill -SEGV $$"), {})
    assert len(always.failures) == 1
    once = count.run_emulated(program(tmp_path, f"mkdir {tmp_path}/again && kill -SEGV $$; exit 0"), {})
    assert once.failures == [] and once.passed == 1 and "test_it" in once.shown and "once" in once.shown


def test_a_c_test_that_dies_is_a_failure_that_names_the_signal(tmp_path, monkeypatch):
    result = cmocka(tmp_path, monkeypatch, "echo almost; kill -SEGV $$")
    assert len(result.failures) == 1 and "SIGSEGV" in result.failures[0][0] and "almost" in result.failures[0][1]


def test_a_c_test_that_fails_after_its_tests_passed_is_a_failure(tmp_path, monkeypatch):
    passing = REPORT.replace("<failure><![CDATA[3 != 4]]></failure>", "")
    result = cmocka(tmp_path, monkeypatch, passing + "echo 'ERROR: LeakSanitizer'; exit 23")
    assert result.passed == 2 and len(result.failures) == 1 and "LeakSanitizer" in result.failures[0][1]


def test_a_report_that_is_no_xml_is_a_failure_that_shows_it(tmp_path, monkeypatch):
    result = cmocka(tmp_path, monkeypatch, 'echo "<testsuites><oops" > "$(dirname "$CMOCKA_XML_FILE")/a.xml"')
    assert len(result.failures) == 1 and "<oops" in result.failures[0][1]


def test_a_command_that_hangs_is_ended_with_its_children(tmp_path):
    ran = tree.run(["sh", "-c", "sleep 60 & echo $!; wait"], limit_s=1)
    child = int(ran.output.splitlines()[0])
    assert ran.why() == "ended at its time limit" and "no end within 1 s" in ran.output
    with pytest.raises(ProcessLookupError):
        for _ in range(100):  # the killed child is gone once init has waited for it
            os.kill(child, 0)
            if pathlib.Path(f"/proc/{child}/stat").read_text().split()[2] == "Z":
                raise ProcessLookupError
            subprocess.run(["sleep", "0.05"])


def test_python_tests_are_counted_one_by_one_with_failures_skips_and_a_broken_file(tmp_path, monkeypatch):
    folder = tmp_path / "tests" / "python"
    folder.mkdir(parents=True)
    (folder / "test_some.py").write_text(
        textwrap.dedent("""
        import pytest
        def test_good(): pass
        @pytest.mark.parametrize("x", [1, 2])
        def test_each(x): assert x == 1, "x is two"
        @pytest.mark.skip(reason="no device")
        def test_later(): pass
        """)
    )
    (folder / "test_torn.py").write_text("import no_such_module_anywhere\n")
    monkeypatch.setattr(tree, "ROOT", tmp_path)
    monkeypatch.setattr(tree, "REPORTS", tmp_path / "reports")
    monkeypatch.setattr(tree, "venv_python", lambda: sys.executable)
    result = count.pytest(("test_some.py",), env={"PYTEST_ADDOPTS": f"--rootdir={tmp_path}"})
    assert result.passed == 2 and [reason for _, reason in result.skipped] == ["no device"]
    assert len(result.failures) == 1 and "x is two" in result.failures[0][1]
    torn = count.pytest(("test_torn.py",), env={"PYTEST_ADDOPTS": f"--rootdir={tmp_path}"})
    assert torn.failures and "no_such_module_anywhere" in torn.failures[0][1]


def test_what_cmake_leaves_out_is_a_skip_with_its_reason(tmp_path, monkeypatch):
    (tmp_path / "CMakeLists.txt").write_text(
        'cmake_minimum_required(VERSION 3.25)\nproject(p NONE)\nadd_custom_target(t ALL)\n'
        'message(STATUS "CUPTI facade 13.0 is left out: no headers in /x (fetch them)")\nmessage(STATUS "found: left")\n'
    )
    monkeypatch.setattr(tree, "ROOT", tmp_path)
    result = count.first_build(tmp_path / "build")
    assert (result.passed, result.failures) == (1, [])
    assert result.skipped == [("CUPTI facade 13.0", "no headers in /x (fetch them)")]


def test_a_changed_header_makes_the_files_that_include_it_be_analysed_again(tmp_path, monkeypatch):
    (tmp_path / "src").mkdir()
    (tmp_path / ".clang-tidy").write_text("Checks: '-*'")
    header, middle, source = (tmp_path / "src" / name for name in ("a.h", "b.h", "c.c"))
    header.write_text("#define A 1\n")
    middle.write_text('#include "a.h"\n')
    source.write_text('#include "b.h"\n#include <stdio.h>\n')
    monkeypatch.setattr(tree, "ROOT", tmp_path)
    before = lint.fingerprint(source, "cc", "14")
    assert lint.fingerprint(source, "cc", "14") == before
    header.write_text("#define A 2\n")
    assert lint.fingerprint(source, "cc", "14") != before
