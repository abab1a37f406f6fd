# test_verbs_view.py - `flagprof view` serves a file to Perfetto's page, for one whole fetch and to nobody else.

import contextlib
import gzip
import http.client
import pathlib
import re
import shutil
import socket
import subprocess
import time

import pytest

TEXT = b'{"traceEvents": [{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 2}]}' + b" " * 3_000_000


@pytest.fixture
def free_port():
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", 9001))
        except OSError:
            pytest.skip("port 9001 of this machine is taken")


@pytest.fixture
def viewing(tree, free_port):
    @contextlib.contextmanager
    def start(*paths):
        process = subprocess.Popen(
            [tree.cli, "view", *map(str, paths)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        try:
            process.links = [process.stdout.readline().strip() for _ in paths]
            process.ssh_line = process.stdout.readline().strip()
            yield process
        finally:
            process.kill()
            process.communicate()

    return start


def ask(method, target, headers=None):
    connection = http.client.HTTPConnection("127.0.0.1", 9001, timeout=10)
    connection.request(method, target, headers={"Origin": "https://ui.perfetto.dev", **(headers or {})})
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer, body


def ended(process):
    return process.wait(timeout=10) == 0


def test_the_link_is_perfettos_and_the_page_may_read_the_answer(viewing, tmp_path):
    path = tmp_path / "my trace.json"
    path.write_bytes(TEXT)
    with viewing(path) as process:
        assert process.links == ["https://ui.perfetto.dev/#!/?url=http://127.0.0.1:9001/my_trace.json"]
        assert "ssh -L 9001:127.0.0.1:9001" in process.ssh_line
        answer, body = ask("GET", "/my_trace.json")
        assert body == TEXT
        assert answer.headers["Access-Control-Allow-Origin"] == "https://ui.perfetto.dev"
        assert answer.headers["Content-Length"] == str(len(TEXT))
        assert "no-cache" in answer.headers["Cache-Control"]
        assert ended(process)


def test_preflight_head_and_strangers_do_not_count_as_the_fetch(viewing, tmp_path):
    path = tmp_path / "a.json"
    path.write_bytes(TEXT)
    with viewing(path) as process:
        answer, _ = ask("OPTIONS", "/a.json", {"Access-Control-Request-Private-Network": "true"})
        assert answer.status == 204
        assert answer.headers["Access-Control-Allow-Private-Network"] == "true"
        assert "GET" in answer.headers["Access-Control-Allow-Methods"]
        answer, body = ask("HEAD", "/a.json")
        assert (answer.status, body, answer.headers["Content-Length"]) == (200, b"", str(len(TEXT)))
        assert ask("GET", "/other.json")[0].status == 404
        assert ask("GET", "/../a.json")[0].status == 404
        assert ask("POST", "/a.json")[0].status == 405
        assert ask("GET", "/a.json", {"Host": "evil.example"})[0].status == 400
        assert process.poll() is None
        assert ask("GET", "/a.json")[1] == TEXT
        assert ended(process)


def test_a_fetch_that_breaks_off_does_not_count_and_a_silent_connection_does_not_block(viewing, tmp_path):
    path = tmp_path / "a.json"
    path.write_bytes(TEXT * 4)
    with viewing(path) as process, socket.create_connection(("127.0.0.1", 9001)):
        with socket.create_connection(("127.0.0.1", 9001)) as broken:
            broken.sendall(b"GET /a.json HTTP/1.1\r\nHost: 127.0.0.1:9001\r\n\r\n")
            broken.recv(1000)
        time.sleep(0.2)
        assert process.poll() is None
        assert ask("GET", "/a.json")[1] == TEXT * 4
        assert ended(process)


@pytest.mark.skipif(not shutil.which("zstd"), reason="no zstd program to pack with")
def test_gzip_is_sent_as_it_is_and_zstd_as_text(viewing, tmp_path):
    packed = gzip.compress(TEXT)
    (tmp_path / "a.json.gz").write_bytes(packed)
    (tmp_path / "b.json").write_bytes(TEXT)
    subprocess.run(["zstd", "-q", tmp_path / "b.json"], check=True)
    with viewing(tmp_path / "a.json.gz", tmp_path / "b.json.zst") as process:
        assert process.links[1].endswith("/b.json")
        answer, body = ask("GET", "/a.json.gz")
        assert body == packed and "Content-Encoding" not in answer.headers
        assert process.poll() is None
        assert ask("GET", "/b.json")[1] == TEXT
        assert ended(process)


def test_files_of_one_name_get_links_of_their_own(run_cli, tmp_path):
    for folder in "ab":
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "t.json").write_text("[]")
    done = run_cli("view", "--print-only", tmp_path / "a" / "t.json", tmp_path / "b" / "t.json").ok()
    links = re.findall(r"9001/(\S+)", done.stdout)
    assert len(set(links)) == 2


def test_a_busy_port_is_said_in_one_plain_sentence(run_cli, free_port, tmp_path):
    path = pathlib.Path(tmp_path / "a.json")
    path.write_text("[]")
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", 9001))
        other.listen()
        done = run_cli("view", path)
    assert done.returncode == 2
    assert "9001" in done.stderr and "in use" in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize("name", ["missing.json", ".", "empty.json", "-"])
def test_what_cannot_be_served_is_refused_before_the_port_is_opened(run_cli, tmp_path, name):
    (tmp_path / "empty.json").write_text("")
    done = run_cli("view", name, cwd=tmp_path)
    assert done.returncode == 2 and done.stderr.count("\n") == 1
