"""Properties of the environments that a launcher gives to the ranks of a job."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from argosy.runtime.launch.rank_env import Job, inherited_by_children, public, worker_env

names = st.sampled_from(
    ("HOME", "http_proxy", "MASTER_PORT", "OMP_NUM_THREADS", "PADDLE_TRAINER_ID", "ARGOSY_TOKEN")
)
variables = st.dictionaries(names, st.text("abc0", max_size=4))


@st.composite
def hosts(draw):
    """The hosts of one job, as each of them sees it."""
    counts = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    has_cards = draw(st.booleans())
    shared = {
        "endpoints": [f"10.0.0.{h}:{6000 + i}" for h, n in enumerate(counts) for i in range(n)],
        "devices": [str(i) for n in counts for i in range(n)] if has_cards else [],
        "master": "10.0.0.0:9",
        "token": "secret of the job",
        "num_nodes": len(counts),
        "num_threads": draw(st.integers(1, 4)),
        "is_num_threads_asked": draw(st.booleans()),
    }
    return [Job(nproc=n, first_rank=sum(counts[:h]), **shared) for h, n in enumerate(counts)]


def environments(jobs, inherited):
    return [worker_env(job, i, inherited) for job in jobs for i in range(job.nproc)]


@given(hosts(), variables)
def test_the_ranks_of_all_hosts_are_told_apart_and_agree_on_the_rest(jobs, inherited):
    found = environments(jobs, inherited)
    assert [env["PADDLE_TRAINER_ID"] for env in found] == [str(i) for i in range(len(found))]
    endpoints = [env["PADDLE_CURRENT_ENDPOINT"] for env in found]
    assert {env["PADDLE_TRAINER_ENDPOINTS"] for env in found} == {",".join(endpoints)}
    for name in ("PADDLE_TRAINERS_NUM", "PADDLE_MASTER", "PADDLE_NNODES", "ARGOSY_TOKEN"):
        assert len({env[name] for env in found}) == 1


@given(hosts(), variables)
def test_what_the_launcher_inherits_does_not_change_the_job(jobs, inherited):
    own = {name for env in environments(jobs, {}) for name in env} - {
        "OMP_NUM_THREADS",
        "MKL_NUM_THREADS",
    }
    for with_it, without in zip(environments(jobs, inherited), environments(jobs, {}), strict=True):
        assert {name: with_it[name] for name in own & with_it.keys()} == {
            name: without[name] for name in own & without.keys()
        }


@given(variables, st.integers(1, 8), st.booleans())
def test_threads_are_those_asked_for_or_else_those_inherited(inherited, num_threads, is_asked):
    found = inherited_by_children(inherited, num_threads, is_asked)
    kept = None if is_asked else inherited.get("OMP_NUM_THREADS")
    assert found["OMP_NUM_THREADS"] == (str(num_threads) if kept is None else kept)
    assert not {"http_proxy", "MASTER_PORT"} & found.keys()


@given(hosts(), variables)
def test_no_line_for_a_log_has_the_secret(jobs, inherited):
    for env in environments(jobs, inherited):
        lines = public(env)
        assert not any("secret of the job" in line for line in lines)
        assert f"PADDLE_TRAINER_ID={env['PADDLE_TRAINER_ID']}" in lines
