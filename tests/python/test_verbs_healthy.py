# test_verbs_healthy.py - what the writing verbs make of a healthy trace is a healthy trace to `flagprof check`.

import pytest

SOURCES = ["cuda_graph", "ddp_rank0", "schedule", "streams", "train", "train_stack_memory_shapes", "two_gpus_one_process"]


@pytest.fixture
def healthy(run_cli, tmp_path):
    def call(verb, *arguments):
        target = tmp_path / "out.json"
        run_cli(verb, *arguments, "-o", target).ok()
        done = run_cli("check", target)
        assert done.returncode == 0, done
        return done

    return call


@pytest.mark.parametrize("name", SOURCES)
def test_a_part_by_time_or_launches_has_no_error(healthy, fixtures_dir, name):
    source = fixtures_dir / "traces" / f"h200_{name}.json.gz"
    healthy("cut", source, "--from", "2ms", "--to", "12ms")
    healthy("cut", source, "--kernel", "gemm|elementwise")


def test_a_part_by_step_or_device_has_no_error(healthy, fixtures_dir):
    healthy("cut", fixtures_dir / "traces" / "h200_schedule.json.gz", "--step", "3")
    for device in "01":
        healthy("cut", fixtures_dir / "traces" / "h200_two_gpus_one_process.json.gz", "--device", device)


@pytest.mark.parametrize("name", SOURCES)
def test_fixed_and_converted_it_has_no_error(healthy, fixtures_dir, name):
    source = fixtures_dir / "traces" / f"h200_{name}.json.gz"
    healthy("fix", source)
    healthy("convert", source, "--compact")


def test_merged_ranks_have_no_error_and_every_pair(run_cli, healthy, fixtures_dir, tmp_path):
    ranks = [fixtures_dir / "traces" / f"h200_ddp_rank{rank}.json.gz" for rank in (0, 1)]
    healthy("merge", *ranks)

    def pairs(path):
        return run_cli("check", path, "--format", "json").json()["flow_pairs"]

    assert pairs(tmp_path / "out.json") == sum(pairs(rank) for rank in ranks)
