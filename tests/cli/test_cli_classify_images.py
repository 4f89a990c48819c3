"""`understudy classify` and `predict` of image sets, from pictures to predictions."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command import run  # pyright: ignore[reportMissingImports]

sys.path.insert(0, str(Path(__file__).parents[1] / "images"))

from small_images import bars  # pyright: ignore[reportMissingImports]

from understudy import datasets
from understudy.cli.app import main
from understudy.images import ImageDataset, write_folder, write_npz, write_parquet
from understudy.privacy import Ledger

QUICK = ("--set", "batch=60", "--set", "epochs=2", "--set", "width=4", "--epsilon", "4")


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A network of 8 x 8 images, and the ledger that was charged for it."""
    folder = tmp_path_factory.mktemp("images")
    write_npz(bars(120), folder / "set.npz")
    Ledger.create(folder / "ledger.db").add_dataset("bars", epsilon=6, delta=1e-4)
    booked = ("--ledger", folder / "ledger.db", "--dataset", "bars")
    with pytest.raises(SystemExit):
        main([str(a) for a in ("classify", folder / "set.npz", "--out", folder / "release", *QUICK, *booked, "--json")])
    return folder / "release"


def test_a_release_of_images_is_charged_once_and_verified(release: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "verify", release, "--json")
    assert code == 0, err
    assert 3.5 < json.loads(out)["epsilon"] <= 4
    assert 3.5 < Ledger(release.parent / "ledger.db").spent("bars").epsilon <= 4
    assert not release.with_name("release.private").exists()


def test_every_form_of_the_same_pictures_gets_the_same_classes(
    release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = bars(9, seed=1)
    order = np.argsort(asked.labels, kind="stable")
    asked = asked.take(order)
    write_npz(asked, tmp_path / "new.npz")
    write_parquet(asked, tmp_path / "new.parquet")
    write_folder(asked, tmp_path / "new")
    (tmp_path / "new" / "left" / "zz.png").write_bytes(b"no picture")
    found = {}
    for name in ("new.npz", "new.parquet", "new"):
        code, _, err = run(capsys, "predict", release, tmp_path / name, "--out", tmp_path / f"{name}.csv")
        assert code == 0, err
        found[name] = pd.read_csv(tmp_path / f"{name}.csv")
    assert list(found["new.npz"]["prediction"]) == list(found["new.parquet"]["prediction"])
    of_folder = found["new"].set_index("image")["prediction"]
    assert pd.isna(of_folder["left/zz.png"])
    assert list(of_folder.drop("left/zz.png")) == list(found["new.npz"]["prediction"])


def test_public_images_teach_and_their_classes_are_not_needed(
    release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_npz(bars(60, seed=1), tmp_path / "public.npz")
    quick = ("--set", "landmarks=20", "--set", "second_landmarks=20", "--set", "first_steps=3", "--set", "steps=3")
    given = ("classify", release.parent / "set.npz", "--public", tmp_path / "public.npz", "--epsilon", "4", *quick)
    code, out, err = run(capsys, *given, "--out", tmp_path / "taught", "--json")
    assert code == 0, err
    assert json.loads(out)["method"] == "neighbours"
    assert not (tmp_path / "taught.private").exists()
    assert run(capsys, "verify", tmp_path / "taught")[0] == 0
    assert run(capsys, "predict", tmp_path / "taught", tmp_path / "public.npz", "--out", tmp_path / "p.csv")[0] == 0
    assert len(pd.read_csv(tmp_path / "p.csv")) == 60
    code, _, err = run(capsys, *given, "--out", tmp_path / "again", "--resume")
    assert code == 2
    assert "keeps no checkpoints" in " ".join(err.split())


def test_a_named_set_of_other_classes_may_be_public_too(
    release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    others = bars(60, seed=1)
    others = ImageDataset(others.images, np.arange(60) % 10, tuple("abcdefghij"))
    monkeypatch.setattr(datasets, "load_images", lambda name, part: others)
    quick = ("--set", "landmarks=20", "--set", "second_landmarks=20", "--set", "first_steps=3", "--set", "steps=3")
    given = ("classify", release.parent / "set.npz", "--public", "mnist", "--epsilon", "4", *quick)
    code, out, err = run(capsys, *given, "--out", tmp_path / "taught", "--json")
    assert code == 0, err
    assert json.loads(out)["classes"] == list(bars(3).classes)


def test_a_single_picture_is_printed(release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_folder(bars(3), tmp_path / "one")
    code, out, err = run(capsys, "predict", release, tmp_path / "one" / "left" / "000001.png")
    assert code == 0, err
    assert out.startswith("image,prediction\n000001.png,")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--target", "y"), "carries its labels"),
        (("--teachers", "5"), "--teachers is about tables"),
        (("--person", "who"), "--person is about tables"),
        (("--rows-per-person", "3"), "--rows-per-person is about tables"),
        (("--teacher", "network"), "--teacher is about tables"),
        (("--student", "forest"), "--student is about tables"),
        (("--method", "pate"), "unknown method 'pate'"),
        (("--method", "neighbours"), "name them with --public"),
        (("--method", "dpsgd", "--public", "mnist"), "from the private images themselves"),
    ],
)
def test_what_is_about_tables_is_refused(
    release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], given: tuple[str, ...], said: str
) -> None:
    code, _, err = run(capsys, "classify", release.parent / "set.npz", "--out", tmp_path / "out", *given)
    assert code == 2
    assert said in " ".join(err.split())
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("given", "said"),
    [((), "--target is missing"), (("--target", "y", "--method", "dpsgd"), "are for image sets"),
     (("--target", "y", "--grey"), "for image sets")],
)  # fmt: skip
def test_what_is_about_images_is_refused_for_tables(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], given: tuple[str, ...], said: str
) -> None:
    pd.DataFrame({"a": [1, 2], "y": ["no", "yes"]}).to_csv(tmp_path / "data.csv", index=False)
    code, _, err = run(capsys, "classify", tmp_path / "data.csv", "--out", tmp_path / "out", *given)
    assert code == 2
    assert said in " ".join(err.split())


def test_images_of_another_shape_are_refused(release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_npz(bars(3, side=9), tmp_path / "new.npz")
    code, _, err = run(capsys, "predict", release, tmp_path / "new.npz")
    assert code == 2
    assert "shape (9, 9); (8, 8) is wanted" in " ".join(err.split())
