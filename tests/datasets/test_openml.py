"""Datasets fetched from a server that answers as OpenML does."""

from __future__ import annotations

import errno
import io
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from local_server import Server, arff, serve, serve_endlessly, serve_silence, serve_status, serve_truncated

import understudy.cli.data
from understudy import datasets
from understudy.cli.app import main
from understudy.datasets.openml import DownloadError, fetch
from understudy.datasets.reading import SplitImages, TableDataset, read
from understudy.datasets.registry import DatasetInfo, Edition, Part
from understudy.errors import InputError

assert understudy.cli.data, "importing the module registers the commands"

PIMA = {"preg": 17, "plas": 199, "pres": 122, "skin": 99, "insu": 846, "mass": 67.1, "pedi": 2.42, "age": 81}


def rows_like(name: str, rows: int, seed: int = 0) -> pd.DataFrame:
    """Random rows that fit a schema."""
    rng = np.random.default_rng(seed)
    made: dict[str, Any] = {}
    for column in datasets.schema(name):
        if column.kind == "categorical":
            made[column.name] = rng.choice(np.array(column.labels), rows)
        elif column.kind == "boolean":
            made[column.name] = rng.integers(0, 2, rows)
        elif column.kind == "integer":
            low, high = (int(bound) for bound in column.number_bounds)
            made[column.name] = rng.integers(low, high + 1, rows)
        else:
            made[column.name] = np.round(rng.uniform(*column.number_bounds, rows), 4)
    return pd.DataFrame(made)


def shrunk(name: str, frame: pd.DataFrame, **changes: Any) -> DatasetInfo:
    """The entry of a dataset that is only as large as `frame`."""
    entry = datasets.info(name)
    rows = len(frame)
    return replace(entry, rows=rows, editions=(Edition(entry.file, rows),), **changes)


def pima() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    made: dict[str, Any] = {name: np.round(rng.uniform(0, high, 768)) for name, high in PIMA.items()}
    made["age"] = rng.integers(21, 82, 768).astype(float)
    return pd.DataFrame(made | {"class": np.repeat(["tested_negative", "tested_positive"], [500, 268])})


def table(entry: DatasetInfo, path: Path) -> TableDataset:
    loaded = read(entry, path, entry.file)
    assert isinstance(loaded, TableDataset)
    return loaded


def count(loaded: TableDataset, column: str, value: object) -> int:
    return loaded.frame[column].tolist().count(value)


def left_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_pima_end_to_end(server: Server, cache: Path) -> None:
    frame = pima()
    server.offer(datasets.info("pima"), frame)
    loaded = datasets.load("pima")
    assert isinstance(loaded, TableDataset)
    assert loaded.frame["Glucose"].tolist() == frame["plas"].tolist()
    assert count(loaded, "Outcome", 1) == 268
    assert left_in(cache) == ["pima.parquet"]
    asked = len(server.asked)
    datasets.load("pima")
    assert len(server.asked) == asked, "the second load comes from the cache"


def test_the_command_line_fetches(server: Server, cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    server.offer(datasets.info("pima"), pima())
    with pytest.raises(SystemExit) as exit:
        main(["data", "path", "pima"])
    assert not exit.value.code
    assert capsys.readouterr().out.strip() == str(cache / "pima.parquet")


def test_a_wrong_checksum_never_reaches_the_cache(server: Server, cache: Path) -> None:
    server.offer(datasets.info("pima"), pima(), md5_checksum="0" * 32)
    with pytest.raises(DownloadError, match=r"'pima' could not be had from OpenML: .*checksum.*UNDERSTUDY_DATA"):
        datasets.load("pima")
    assert left_in(cache) == []


def test_a_table_of_other_counts_never_reaches_the_cache(server: Server, cache: Path) -> None:
    server.offer(datasets.info("pima"), pima().assign(**{"class": "tested_positive"}))
    with pytest.raises(DownloadError, match=r"768 rows \(1: 768\), but 'pima' has 768 rows \(0: 500, 1: 268\)"):
        datasets.load("pima")
    assert left_in(cache) == []


def test_a_busy_server_and_a_truncated_file_are_survived(server: Server, cache: Path, pauses: list[float]) -> None:
    file = server.offer(datasets.info("pima"), pima())
    describe, whole = server.routes["/api/v1/json/data/37"], arff(pima())
    server.routes["/api/v1/json/data/37"] = [serve_status(502), serve(b"<html>"), *describe]
    server.on(file, serve_status(500), serve_truncated(whole, 100), serve_status(503), serve(whole))
    assert datasets.load_table("pima").frame.shape == (768, 9)
    assert pauses == [1.0, 1.0, 1.0], "a page and half a file are asked for again at once"
    assert left_in(cache) == ["pima.parquet"]


def test_endless_failure_gives_up(server: Server, cache: Path) -> None:
    file = server.offer(datasets.info("pima"), pima())
    server.on(file, serve_status(500))
    with pytest.raises(DownloadError, match=r"could not be had from OpenML: HTTP Error 500"):
        datasets.load("pima")
    assert server.asked.count(file) == 5
    assert left_in(cache) == []


def test_a_silent_server_is_given_up_and_asked_again(server: Server, cache: Path) -> None:
    file = server.offer(datasets.info("pima"), pima())
    over = threading.Event()
    server.on(file, serve_silence(over), serve_endlessly(b"@RELATION"), serve(arff(pima())))
    fetch(datasets.info("pima"), silence=0.5)
    over.set()
    assert server.asked.count(file) == 3
    assert left_in(cache) == ["pima.parquet"]


def test_nobody_answers(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNDERSTUDY_OPENML", "http://127.0.0.1:9")
    with pytest.raises(DownloadError, match=r"'pima' could not be had from OpenML: .*Connection refused"):
        datasets.load("pima")
    assert left_in(cache) == []


@pytest.mark.parametrize(
    "answer", [b"[]", b"{}", b'{"error": 1}', b'{"data_set_description": {"name": "iris"}}'], ids=str
)
def test_a_server_that_is_not_openml_is_told_apart(server: Server, cache: Path, answer: bytes) -> None:
    server.on("/api/v1/json/data/37", serve(answer))
    with pytest.raises(InputError, match=r"does not describe dataset 37 as 'diabetes'.*UNDERSTUDY_OPENML"):
        datasets.load("pima")
    assert left_in(cache) == []


def test_another_dataset_under_the_number_is_told_apart(server: Server, cache: Path) -> None:
    server.offer(datasets.info("pima"), pima(), name="iris")
    with pytest.raises(InputError, match="does not describe dataset 37 as 'diabetes'"):
        datasets.load("pima")
    assert left_in(cache) == []


def test_an_unknown_dataset_there(server: Server, cache: Path) -> None:
    server.on("/api/v1/json/data/37", serve_status(412))
    with pytest.raises(DownloadError, match="data_id 37 not found"):
        datasets.load("pima")
    assert left_in(cache) == []


def test_an_unwritable_cache_is_refused_before_anything_is_asked(
    server: Server, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del cache
    (tmp_path / "file").touch()
    monkeypatch.setenv("UNDERSTUDY_CACHE", str(tmp_path / "file"))
    with pytest.raises(InputError, match=r"cannot make the folder .*UNDERSTUDY_CACHE"):
        datasets.load("pima")
    assert server.asked == []


@pytest.mark.parametrize("step", ["sklearn.datasets._openml.shutil.move", "understudy.datasets.openml.convert"])
def test_a_full_disk_is_not_blamed_on_openml(
    server: Server, cache: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    server.offer(datasets.info("pima"), pima())
    monkeypatch.setattr(step, full)
    with pytest.raises(InputError, match=f"cannot write .*{os.strerror(errno.ENOSPC)}") as refused:
        datasets.load("pima")
    assert not isinstance(refused.value, DownloadError)
    assert left_in(cache) == []


def test_what_killed_processes_left_is_swept(server: Server, cache: Path) -> None:
    cache.mkdir(parents=True)
    old, folder, new = cache / ".0123-pima.parquet", cache / ".scratch", cache / ".4567-pima.parquet"
    folder.mkdir()
    (folder / "part").touch()
    for path in (old, new):
        path.touch()
    for path in (old, folder):
        os.utime(path, (time.time() - 2 * 86400, time.time() - 2 * 86400))
    server.offer(datasets.info("pima"), pima())
    datasets.load("pima")
    assert left_in(cache) == [new.name, "pima.parquet"]


PROGRAM = "from understudy import datasets; datasets.load('pima')"


def start() -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def wait_until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 1500
    while not condition():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.01)


def test_two_processes_fetch_the_same_dataset_at_once(server: Server, cache: Path) -> None:
    server.offer(datasets.info("pima"), pima())
    for process in [start(), start()]:
        _, errors = process.communicate(timeout=1500)
        assert process.returncode == 0, errors
    assert left_in(cache) == ["pima.parquet"]


@pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")
@pytest.mark.parametrize("kill", [False, True], ids=["interrupted", "killed"])
def test_a_download_that_is_cut_off_leaves_no_file_of_that_name(server: Server, cache: Path, kill: bool) -> None:
    file = server.offer(datasets.info("pima"), pima())
    server.on(file, serve_endlessly(b"@RELATION"), serve(arff(pima())))
    process = start()
    wait_until(lambda: file in server.asked)
    process.send_signal(signal.SIGKILL if kill else signal.SIGINT)
    process.communicate(timeout=1500)
    assert process.returncode != 0
    assert all(name.startswith(".") for name in left_in(cache)) if kill else left_in(cache) == []
    assert datasets.load_table("pima").frame.shape == (768, 9)


@pytest.mark.parametrize(("terminal", "size"), [(True, 0), (True, 1 << 30), (False, 0)])
def test_a_terminal_is_shown_how_far_a_large_file_is(
    server: Server, cache: Path, monkeypatch: pytest.MonkeyPatch, terminal: bool, size: int
) -> None:
    shown = io.StringIO()
    monkeypatch.setattr(shown, "isatty", lambda: terminal)
    monkeypatch.setattr("sys.stderr", shown)
    monkeypatch.setattr("understudy.datasets.openml._WORTH_A_BAR", size)
    server.offer(datasets.info("pima"), pima())
    datasets.load("pima")
    assert ("pima" in shown.getvalue()) == (terminal and size == 0)


def test_the_way_of_other_requests_is_left_as_it_was(server: Server, cache: Path) -> None:
    """A program may have an opener of its own, for a proxy with a password say."""
    before = urllib.request.build_opener()
    urllib.request.install_opener(before)
    try:
        server.offer(datasets.info("pima"), pima())
        datasets.load("pima")
        assert urllib.request._opener is before  # pyright: ignore[reportAttributeAccessIssue]
    finally:
        urllib.request.install_opener(None)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("test_first", [True, False])
def test_adult_with_dashes_missing_marks_and_the_split_in_either_order(
    server: Server, cache: Path, test_first: bool
) -> None:
    frame = rows_like("adult", 300)
    positives = (frame["income"] == ">50K").to_numpy()
    cut = 100 if test_first else 200
    sizes = {"first": Part(cut, int(positives[:cut].sum())), "rest": Part(300 - cut, int(positives[cut:].sum()))}
    train, test = (sizes["rest"], sizes["first"]) if test_first else (sizes["first"], sizes["rest"])
    entry = shrunk("adult", frame, parts=(("train", train), ("test", test)))
    there = frame.rename(columns=lambda name: name.replace("_", "-")).rename(columns={"income": "class"})
    there = there.replace("?", None)
    assert there.isna().any().sum() == 3
    server.offer(entry, there)
    loaded = table(entry, fetch(entry))
    assert loaded.frame.astype("object").equals(frame.astype("object"))
    assert loaded.split is not None
    assert (loaded.split == ("test" if test_first else "train")).tolist() == [True] * cut + [False] * (300 - cut)


def test_a_shuffled_table_has_no_split(server: Server, cache: Path) -> None:
    frame = rows_like("adult", 300)
    entry = shrunk("adult", frame, parts=(("train", Part(200, 0)), ("test", Part(100, 0))))
    server.offer(entry, frame, target="income")
    assert table(entry, fetch(entry)).split is None


def test_census_by_place_with_padding_and_without_its_weight(server: Server, cache: Path) -> None:
    frame = rows_like("census", 200)
    there = frame.copy()
    there.insert(24, "instance_weight", 1.5)
    text = [name for name in there if there[name].dtype == "str"]
    there[text] = (" " + there[text]).replace(" ?", None)
    there.columns = [f"V{place}" for place in range(1, 43)]
    entry = shrunk("census", frame, parts=())
    server.offer(entry, there, target="V42")
    loaded = table(entry, fetch(entry))
    assert loaded.frame.astype("object").equals(frame.astype("object"))


def test_columns_in_another_order_by_place_are_noticed(server: Server, cache: Path) -> None:
    there = rows_like("census", 200)
    there.insert(24, "instance_weight", 1.5)
    there[["age", "dividends_from_stocks"]] = there[["dividends_from_stocks", "age"]].to_numpy()
    there.columns = [f"V{place}" for place in range(1, 43)]
    entry = shrunk("census", there, parts=())
    server.offer(entry, there, target="V42")
    with pytest.raises(DownloadError, match=r"% of the values of 'age' are none that it can have"):
        fetch(entry)


def test_text_where_numbers_should_be_is_named(server: Server, cache: Path) -> None:
    entry = datasets.info("pima")
    server.offer(entry, pima().assign(plas="high"))
    with pytest.raises(DownloadError, match=r"the column 'Glucose' should hold numbers: .*'high'"):
        fetch(entry)


@pytest.mark.parametrize("with_time", [True, False])
def test_credit_with_and_without_time(server: Server, cache: Path, with_time: bool) -> None:
    frame = rows_like("credit", 100)
    there = frame.assign(Class=[f"'{label}'" for label in frame["Class"]])
    if with_time:
        there.insert(0, "Time", 0.0)
    entry = shrunk("credit", frame)
    server.offer(entry, there, target="Class")
    assert table(entry, fetch(entry)).frame.astype(float).equals(frame.astype(float))


def test_covtype_and_intrusion_with_digits_as_text(server: Server, cache: Path) -> None:
    for name in ("covtype", "intrusion"):
        frame = rows_like(name, 200)
        flags = [column.name for column in datasets.schema(name) if column.kind == "boolean"]
        there = frame.copy()
        there[flags] = there[flags].astype(str)
        if name == "intrusion":
            there["label"] = frame["label"].replace({"dos": "smurf", "probe": "satan", "r2l": "phf", "u2r": "perl"})
        else:
            there = there.rename(columns={"Cover_Type": "class"})
        entry = shrunk(name, frame)
        server.offer(entry, there, target="class" if name == "covtype" else "label")
        assert table(entry, fetch(entry)).frame.astype("object").equals(frame.astype("object"))


def isolet(shuffle: bool) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    letters = np.concatenate([np.tile(np.arange(1, 27), 60) for _ in range(5)])
    letters = np.delete(letters, [3 * 1560 + 5, 3 * 1560 + 31, 4 * 1560 + 12])
    if shuffle:
        rng.shuffle(letters)
    values = np.zeros((7797, 617), dtype=int)
    values[:, -1] = rng.integers(-10000, 10001, 7797)
    frame = pd.DataFrame(values / 1e4, columns=[f"f{number}" for number in range(1, 618)])
    return frame.assign(**{"class": letters.astype(str)}), values


@pytest.mark.parametrize("shuffle", [False, True])
def test_isolet_and_its_groups(server: Server, cache: Path, shuffle: bool) -> None:
    entry = datasets.info("isolet")
    there, values = isolet(shuffle)
    server.offer(entry, there)
    loaded = table(entry, fetch(entry))
    assert np.array_equal(np.rint(loaded.frame["f617"].to_numpy() * 1e4), values[:, 616])
    assert count(loaded, "vowel", 1) == 1500
    assert (loaded.groups is None) == shuffle
    if loaded.split is not None:
        assert (loaded.split == "test").sum() == 1559


def test_isolet_with_values_out_of_range_is_refused(server: Server, cache: Path) -> None:
    entry = datasets.info("isolet")
    there, _ = isolet(False)
    server.offer(entry, there.assign(f3=0.12345))
    with pytest.raises(DownloadError, match="not four decimals"):
        fetch(entry)


def pictures(name: str, labels: list[Any], **changes: Any) -> tuple[DatasetInfo, pd.DataFrame, np.ndarray]:
    """Two pictures of each class to train and one to test, as rows of pixels."""
    entry = datasets.info(name)
    entry = replace(entry, rows=30, train=(2,) * 10, test=(1,) * 10, editions=(Edition(entry.file, 30),), **changes)
    pixels = np.random.default_rng(0).integers(0, 256, (30, entry.features))
    frame = pd.DataFrame(pixels, columns=[f"pixel{number}" for number in range(1, entry.features + 1)])
    return entry, frame.assign(**{"class": np.tile(labels, 3)}), pixels


@pytest.mark.parametrize("name", ["mnist", "fashion", "cifar10", "svhn"])
def test_pictures(server: Server, cache: Path, name: str) -> None:
    labels = [str(digit) for digit in range(10)] if name != "svhn" else [10, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    entry, frame, pixels = pictures(name, labels)
    server.offer(entry, frame)
    loaded = read(entry, fetch(entry), entry.file)
    assert isinstance(loaded, SplitImages)
    assert loaded.train_labels.tolist() == list(range(10)) * 2
    assert loaded.test_labels.tolist() == list(range(10))
    first = pixels[0].reshape(3, 32, 32).transpose(1, 2, 0) if name == "cifar10" else pixels[0].reshape(entry.shape)
    assert np.array_equal(loaded.train_images[0], first)


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda f: f.assign(pixel1=0.5), "uint8 for float64 dtyped data in column 0"),
        (lambda f: f.assign(pixel1=256), "uint8 for int64 dtyped data in column 0"),
        (lambda f: f.drop(columns="pixel1"), r"\(30, 783\) images and pixels, not \(30, 784\)"),
        (lambda f: f.assign(**{"class": "3"}), "images of each class"),
    ],
    ids=["fraction", "too large", "fewer pixels", "labels"],
)
def test_pictures_that_are_none_are_refused(server: Server, cache: Path, spoil: Any, says: str) -> None:
    entry, frame, _ = pictures("mnist", [str(digit) for digit in range(10)])
    server.offer(entry, spoil(frame))
    with pytest.raises(DownloadError, match=says):
        fetch(entry)
    assert list(cache.iterdir()) == []
