"""The moments generator in setting B: datasets x epsilons x seeds x classifiers, each a process with a time limit.

    UNDERSTUDY_DATA=... python benchmarks/bench_moments.py --out benchmarks/results/moments.json --jobs 16

Results are kept after each job; the same command goes on where it was stopped. `--budget` ends the run after so many
seconds, whatever is left. Order: epsilon 1 first, the quick panel first, then seeds.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import tempfile
import time
import traceback
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Any

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")

from understudy.benchmarks import moments  # noqa: E402
from understudy.benchmarks.machine import machine, versions  # noqa: E402

REAL = "real"
SPLITS: dict[str, moments.Split] = {}


def jobs(given: argparse.Namespace) -> list[dict[str, Any]]:
    """All jobs in their order: fits before what is trained on their rows."""
    from understudy.evaluation.classifiers import PANELS

    made: list[dict[str, Any]] = []
    epsilons = sorted(given.epsilons, key=lambda e: abs(e - 1))
    judged: list[dict[str, Any]] = []
    for order, epsilon in enumerate([REAL, *epsilons]):
        for dataset in given.datasets:
            for seed in range(1 if epsilon == REAL else given.seeds):
                here = {"dataset": dataset, "epsilon": epsilon, "seed": seed, "most": given.most}
                if epsilon != REAL:
                    made.append({"kind": "fit", **here, "rank": (order, 0, seed)})
                for place, panel in enumerate(given.panels):
                    if panel == "four" and dataset != "credit":
                        continue
                    for classifier in PANELS[panel]:
                        if f"{dataset}/{panel}/{classifier}" in given.skip:
                            continue
                        rank = (order, 1 + place, seed)
                        judged.append({"kind": "judge", **here, "panel": panel, "classifier": classifier, "rank": rank})
    return sorted([*made, *judged], key=lambda job: job["rank"])


def identity(job: dict[str, Any]) -> str:
    return "/".join(str(job.get(k, "")) for k in ("kind", "dataset", "epsilon", "seed", "panel", "classifier"))


def rows_file(folder: Path, job: dict[str, Any]) -> Path:
    return folder / f"{job['dataset']}-{job['epsilon']}-{job['seed']}.pkl"


def work(job: dict[str, Any], folder: Path, answer: Path) -> None:
    """One job in its own process; the answer is a file, whole or not there."""
    warnings.simplefilter("ignore")
    import pandas as pd

    found: dict[str, Any] = {k: v for k, v in job.items() if k != "rank"}
    try:
        data = SPLITS[job["dataset"]]
        if job["kind"] == "fit":
            draw = moments.DRAWS.get(job["dataset"], moments.Draw())
            rows, facts = moments.synthetic(job["dataset"], job["epsilon"], job["seed"], data, draw)
            partial = rows_file(folder, job).with_suffix(".partial")
            rows.to_pickle(partial)
            partial.replace(rows_file(folder, job))
            found |= {"facts": facts}
        else:
            rows = data.train if job["epsilon"] == REAL else pd.read_pickle(rows_file(folder, job))
            found |= {"scores": moments.judge(job["panel"], job["classifier"], rows, data.test, data, job["most"])}
    except Exception:
        found |= {"error": traceback.format_exc(limit=3)}
    partial = answer.with_suffix(".partial")
    partial.write_text(json.dumps(found))
    partial.replace(answer)


def run(given: argparse.Namespace) -> None:
    out = Path(given.out)
    results = json.loads(out.read_text())["results"] if out.exists() else []
    if given.known and not out.exists():
        known = json.loads(Path(given.known).read_text())["results"]
        results = [one for one in known if one["epsilon"] == REAL and "scores" in one]
    folder = Path(given.scratch or tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    ended = {identity(one) for one in results}
    waiting = [
        job
        for job in jobs(given)
        if identity(job) not in ended or (job["kind"] == "fit" and not rows_file(folder, job).exists())
    ]
    results = [one for one in results if identity(one) not in {identity(job) for job in waiting}]
    for dataset in given.datasets:
        SPLITS[dataset] = moments.split(dataset)
    import sklearn.ensemble
    import sklearn.linear_model

    del sklearn  # children are forked and need not import it again

    context = multiprocessing.get_context("fork")
    began = time.monotonic()
    running: list[tuple[Any, dict[str, Any], Path, float]] = []
    number = written = 0
    while waiting or running:
        now = time.monotonic()
        late = now - began > given.budget
        for entry in list(running):
            process, job, answer, started = entry
            if process.is_alive() and now - started < given.limit and not late:
                continue
            if process.is_alive():
                process.terminate()
            process.join()
            running.remove(entry)
            if answer.exists():
                results.append(json.loads(answer.read_text()))
            elif not late:
                plain = {k: v for k, v in job.items() if k != "rank"}
                results.append({**plain, "error": f"stopped after {given.limit:g} s"})
            if not late:
                print(f"{now - began:6.0f} s, {len(waiting)} wait:", identity(job), _short(results[-1]), flush=True)
        if late:
            break
        for job in list(waiting):
            if len(running) >= given.jobs:
                break
            if job["kind"] == "judge" and job["epsilon"] != REAL and not rows_file(folder, job).exists():
                fit = identity({**job, "kind": "fit", "panel": "", "classifier": ""})
                if any(identity(one) == fit for one in results):  # the fit ended without rows: its jobs cannot run
                    waiting.remove(job)
                continue
            waiting.remove(job)
            number += 1
            answer = folder / f"answer-{os.getpid()}-{number}.json"
            process = context.Process(target=work, args=(job, folder, answer))
            process.start()
            running.append((process, job, answer, time.monotonic()))
        if len(results) != written and (time.monotonic() - began) % 5 < 0.5:
            write(out, results, given)
            written = len(results)
        time.sleep(0.1)
    write(out, results, given)
    for row in moments.summary(results):
        print(row)


def _short(one: dict[str, Any]) -> str:
    if "scores" in one:
        return " ".join(f"{k} {v:.4g}" for k, v in one["scores"].items() if k in ("auroc", "auprc", "weighted_f1"))
    return str(one.get("facts") or one.get("error", ""))[:300]


def write(out: Path, results: list[dict[str, Any]], given: argparse.Namespace) -> None:
    body = {
        "command": "python benchmarks/bench_moments.py " + " ".join(sys.argv[1:]),
        "machine": machine(),
        "versions": versions(),
        "note": "Classifiers train on at most 50,000 rows (the twelve: 10,000); with two classes the rarer one is kept "
        "whole, up to half. `draws` says how many synthetic rows there are and how much rare classes are favoured "
        "(`sample(balance=...)`), where that is not as many as training rows and not at all. f1 is the mean over classes, weighted_f1 weighs them by their rows; the "
        "papers do not say which of the two they print.",
        "limit_seconds": given.limit,
        "draws": {name: asdict(draw) for name, draw in moments.DRAWS.items()},
        "papers": moments.PAPERS,
        "summary": moments.summary(results),
        "results": results,
    }
    out.parent.mkdir(parents=True, exist_ok=True)
    draft = out.with_suffix(".partial")
    draft.write_text(json.dumps(body, indent=1) + "\n")
    draft.replace(out)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--datasets", nargs="+", default=list(moments.DATASETS), choices=moments.DATASETS)
    parser.add_argument("--epsilons", nargs="+", type=float, default=[0.1, 1.0, 10.0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--panels", nargs="+", default=["five", "four", "twelve"])
    parser.add_argument(
        "--skip", nargs="*", default=[], help="what is known not to end in time: dataset/panel/classifier"
    )
    parser.add_argument("--most", type=int, help="rows that a classifier trains on, in place of the panel's own limit")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--limit", type=float, default=180.0, help="seconds a job")
    parser.add_argument("--budget", type=float, default=1e9, help="seconds for all of it")
    parser.add_argument("--known", help="an earlier result whose figures of the real rows are taken over")
    parser.add_argument("--scratch", help="folder for synthetic rows; a temporary one if left out")
    parser.add_argument("--out", default="benchmarks/results/moments.json")
    run(parser.parse_args())
