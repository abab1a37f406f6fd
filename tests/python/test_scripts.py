# test_scripts.py - the scripts that prepare a machine: what they find, what they say, and that they touch nothing else.

import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"

# By its path: the standard library has a module of the same name.
spec = importlib.util.spec_from_file_location("scripts_venv", SCRIPTS / "venv.py")
scripts_venv = importlib.util.module_from_spec(spec)
spec.loader.exec_module(scripts_venv)


@pytest.fixture
def machine(tmp_path):
    """A tree with a package list of one missing and one present package, and a PATH on which commands are ours."""
    (tmp_path / "scripts").mkdir()
    shutil.copy(SCRIPTS / "bootstrap.sh", tmp_path / "scripts")
    (tmp_path / "scripts" / "packages.txt").write_text(
        "# a comment\nbuild bash cmd:bash a shell\nbuild frobnicate cmd:frobnicate frobs the nicate\n"
        "test gone file:/no/such/*.a never here\n"
    )
    commands = tmp_path / "bin"
    commands.mkdir()
    for name in ("bash", "dirname", "mkdir", "tail", "id"):
        (commands / name).symlink_to(shutil.which(name))
    (commands / "python3").symlink_to(sys.executable)
    return tmp_path


def command(machine, name, source):
    path = machine / "bin" / name
    path.unlink(missing_ok=True)
    path.write_text(f"#!{shutil.which('bash')}\n{source}\n")
    path.chmod(0o755)


def bootstrap(machine, *groups):
    environment = {"PATH": str(machine / "bin"), "HOME": str(machine)}
    script = [shutil.which("bash"), str(machine / "scripts" / "bootstrap.sh"), *groups]
    return subprocess.run(script, env=environment, capture_output=True, text=True, timeout=60)


def test_without_apt_the_missing_packages_are_named_with_their_reason(machine):
    done = bootstrap(machine)
    assert done.returncode == 1 and "no apt-get" in done.stderr
    assert "frobnicate" in done.stderr and "frobs the nicate" in done.stderr
    assert "bash " not in done.stderr and "gone" not in done.stderr, "what is there, or not asked for, is not named"


def test_who_is_not_root_gets_the_command_for_root_and_apt_is_not_called(machine):
    command(machine, "id", "echo 1000")
    command(machine, "apt-get", f"echo called >>{machine}/apt")
    done = bootstrap(machine, "build", "test")
    assert done.returncode == 1 and "apt-get install --no-install-recommends frobnicate gone" in done.stderr
    assert not (machine / "apt").exists()


def test_root_gets_exactly_what_is_missing_and_nothing_there_is_upgraded(machine):
    command(machine, "id", "echo 0")
    command(machine, "apt-get", f'echo "$@" >>{machine}/apt; : >{machine}/bin/frobnicate; builtin exec {chmod(machine)}')
    done = bootstrap(machine)
    assert done.returncode == 0, done.stderr
    calls = (machine / "apt").read_text().splitlines()
    assert len(calls) == 1 and calls[0].endswith("frobnicate") and "--no-upgrade" in calls[0]
    assert bootstrap(machine).stdout == "", "the second time all is there, and nothing is said"
    assert len((machine / "apt").read_text().splitlines()) == 1


def chmod(machine):
    return f"{shutil.which('chmod')} +x {machine}/bin/frobnicate"


def test_package_lists_are_fetched_when_the_first_try_fails(machine):
    command(machine, "id", "echo 0")
    command(machine, "apt-get", f'case "$*" in *update) : >{machine}/updated ;; esac; [ -e {machine}/updated ] || exit 100\n'
            f'case "$*" in *frobnicate) : >{machine}/bin/frobnicate; {chmod(machine)} ;; esac')  # fmt: skip
    done = bootstrap(machine)
    assert done.returncode == 0, done.stderr


def test_when_apt_fails_its_last_words_are_shown(machine):
    command(machine, "id", "echo 0")
    command(machine, "apt-get", "echo 'E: Unable to locate package frobnicate'; exit 100")
    done = bootstrap(machine)
    assert done.returncode == 1 and "Unable to locate package" in done.stderr and "frobs the nicate" in done.stderr


def test_a_python_that_is_too_old_is_refused_with_its_version(machine):
    command(machine, "python3", "echo 3.9 headers venv")
    done = bootstrap(machine)
    assert done.returncode == 1 and "3.9" in done.stderr and "3.11" in done.stderr


def test_every_package_of_the_list_has_a_known_group_a_probe_and_a_reason():
    for line in (SCRIPTS / "packages.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            group, _, probe, reason = line.split(None, 3)
            assert group in ("build", "test", "cross") and reason
            assert probe.split(":")[0] in ("cmd", "header", "file", "python")


# --- sysroot.sh ---


def test_arm_libraries_are_never_laid_over_a_folder_of_the_users(tmp_path):
    mine = tmp_path / "root"
    mine.mkdir()
    (mine / "etc").write_text("an Arm system's")
    done = subprocess.run([SCRIPTS / "sysroot.sh", mine], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and str(mine) in done.stderr
    assert (mine / "etc").read_text() == "an Arm system's"


# --- venv.py ---


def venv(folder, *arguments, env=None):
    environment = {**os.environ, "FLAGPROF_VENV": str(folder), **(env or {})}
    return subprocess.run(
        [sys.executable, str(SCRIPTS / "venv.py"), *arguments], env=environment, capture_output=True, text=True, timeout=300
    )


def fake_torch(folder, version):
    (folder / "torch").mkdir(parents=True)
    (folder / "torch" / "__init__.py").write_text(f"__version__ = {version!r}\n")
    info = folder / f"torch-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n")
    return folder


OFFLINE = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "", "PIP_CONFIG_FILE": os.devnull}


def test_a_torch_that_this_python_can_import_is_used_and_nothing_is_fetched(tmp_path):
    packages = fake_torch(tmp_path / "packages", "2.11.0")
    done = venv(tmp_path / "venv", env={**OFFLINE, "PYTHONPATH": str(packages)})
    assert done.returncode == 0, done.stderr
    assert "Fetching" not in done.stdout
    python = tmp_path / "venv" / "bin" / "python"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    shown = subprocess.run([python, "-c", "import torch; print(torch.__version__)"], env=environment,
                           capture_output=True, text=True, timeout=60)  # fmt: skip
    assert shown.stdout == "2.11.0\n"


def test_an_older_torch_is_left_alone_and_said_and_without_an_index_the_cure_is_named(tmp_path):
    packages = fake_torch(tmp_path / "packages", "2.9.1")
    done = venv(tmp_path / "venv", env={**OFFLINE, "PYTHONPATH": str(packages)})
    assert "2.9.1" in done.stdout and "older than 2.10" in done.stdout
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1
    assert "torch 2.13.0" in done.stderr and "network" in done.stderr and "2.10 or newer" in done.stderr


def test_versions_compare_as_numbers():
    assert scripts_venv.numbers("2.10.0") > scripts_venv.numbers("2.9.1+cu130")
    assert scripts_venv.is_torch_right("2.13.0+cpu", "2.13.0") and not scripts_venv.is_torch_right("2.13.1", "2.13.0")


def test_a_size_comes_from_the_file_that_an_index_on_disk_points_to(tmp_path):
    (tmp_path / "a b.whl").write_bytes(b"x" * 1234)
    assert scripts_venv.size_of((tmp_path / "a b.whl").as_uri()) == 1234
    assert scripts_venv.size_of("file:///no/such/file") is None


def test_what_will_be_fetched_is_said_with_its_size(tmp_path, capsys):
    wheel = tmp_path / "torch.whl"
    wheel.write_bytes(b"x" * 3_000_000)
    items = [{"download_info": {"url": url}, "metadata": {"name": name, "version": "2.13.0"}}
             for name, url in (("torch", wheel.as_uri()), ("sympy", "file:///gone"))]  # fmt: skip
    scripts_venv.say_size(json.loads(json.dumps(items)))
    assert "torch 2.13.0" in (said := capsys.readouterr().out) and "3 MB" in said and "1 whose size" in said
