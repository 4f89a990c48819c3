"""Pictures in folders and in Parquet: brought to one public size, and written so that others can read them."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

sys.path.insert(0, str(Path(__file__).parent))

from small_images import bars  # pyright: ignore[reportMissingImports]

import understudy
from understudy.cli.app import main
from understudy.errors import InputError
from understudy.images import (
    BLANK,
    ImageDataset,
    PictureSize,
    read_folder,
    read_npz,
    read_parquet,
    write_folder,
    write_parquet,
)

SMALL = PictureSize(8, 8, grey=True)


def coloured(count: int = 12, seed: int = 0) -> ImageDataset:
    images = np.random.default_rng(seed).integers(0, 256, (count, 6, 5, 3)).astype(np.uint8)
    return ImageDataset(images, np.arange(count) % 2, ("cat", "dog"))


@pytest.mark.parametrize("grey", [True, False])
def test_what_is_written_is_read_again(grey: bool, tmp_path: Path) -> None:
    data = bars(9) if grey else coloured()
    size = PictureSize(*data.shape[:2], grey=grey)
    write_parquet(data, tmp_path / "set.parquet")
    write_folder(data, tmp_path / "set")
    back = read_parquet(tmp_path / "set.parquet", size)
    np.testing.assert_array_equal(back.images, data.images)
    np.testing.assert_array_equal(back.labels, data.labels)
    assert back.classes == data.classes
    by_class = read_folder(tmp_path / "set", size)
    order = np.argsort(data.labels, kind="stable")
    np.testing.assert_array_equal(by_class.images, data.images[order])
    assert by_class.classes == data.classes


def test_every_picture_is_brought_to_the_size_that_was_said(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b" / "deeper").mkdir(parents=True)
    wide = np.zeros((20, 40, 3), np.uint8)
    wide[:, 10:30] = 200
    Image.fromarray(wide).save(tmp_path / "a" / "wide.PNG")
    Image.fromarray(wide[..., 0]).save(tmp_path / "a" / "grey.jpg")
    seen_through = np.zeros((9, 9, 4), np.uint8)
    Image.fromarray(seen_through).save(tmp_path / "b" / "nothing.webp", lossless=True)
    Image.fromarray(np.full((9, 9), 200 << 8, np.uint16)).save(tmp_path / "b" / "deeper" / "deep.png")
    turned = Image.Exif()
    turned[0x0112] = 6  # to be turned by 90 degrees to the right
    Image.fromarray(wide[:, :20].swapaxes(0, 1)).save(tmp_path / "b" / "turned.png", exif=turned)
    (tmp_path / "a" / "Thumbs.db").write_bytes(b"no picture by its name")
    data = read_folder(tmp_path, PictureSize(8, 8))
    assert data.images.shape == (5, 8, 8, 3)
    assert data.classes == ("a", "b")
    assert data.labels.tolist() == [0, 0, 1, 1, 1]
    assert np.abs(data.images[:2].astype(int) - 200).max() < 20  # the ends were cut
    means = sorted(int(image.mean()) for image in data.images[2:])
    assert means[2] == 255  # what is seen through is white
    assert abs(means[1] - 200) <= 1  # sixteen bits keep their brightness
    assert sorted(read_folder(tmp_path, PictureSize(8, 8), ["b", "a", "c"]).labels) == [0, 0, 0, 1, 1]


def test_what_is_no_picture_is_nobodys(tmp_path: Path) -> None:
    write_folder(bars(9), tmp_path / "set")
    (tmp_path / "set" / "left" / "000001.png").write_bytes(b"broken")
    (tmp_path / "set" / "left" / "000002.png").unlink()
    (tmp_path / "set" / "left" / "000002.png").mkdir()
    (tmp_path / "set" / "left" / "000003.png").unlink()
    (tmp_path / "set" / "left" / "000003.png").symlink_to("/dev/zero")
    data = read_folder(tmp_path / "set", SMALL)
    assert data.labels.tolist() == [BLANK, BLANK, 1, 1, 1, 2, 2, 2]
    assert not data.images[:2].any()
    plain = pa.table({"image": pa.array([{"bytes": b"", "path": "x"}] * 2), "label": [0, 7]})
    pq.write_table(plain, tmp_path / "set.parquet")
    assert read_parquet(tmp_path / "set.parquet", SMALL, ["a", "b"]).labels.tolist() == [BLANK, BLANK]


def test_a_huge_picture_is_not_unpacked(tmp_path: Path) -> None:
    file = io.BytesIO()
    Image.new("1", (12_000, 10_000)).save(file, "png")
    assert SMALL.fitted(file.getvalue()) is None


@pytest.mark.parametrize("said", ["", "x", "28x20x3", "-1", "1", "28.5", "5000"])
def test_a_size_that_is_none_is_refused(said: str) -> None:
    with pytest.raises(InputError, match=r"size|pictures"):
        PictureSize.parse(said)


def test_what_lacks_classes_is_refused(tmp_path: Path) -> None:
    (tmp_path / "only").mkdir()
    with pytest.raises(InputError, match="1 folder in it"):
        read_folder(tmp_path)
    with pytest.raises(InputError, match="no folder"):
        read_folder(tmp_path / "none")
    pq.write_table(pa.table({"image": pa.array([{"bytes": b"", "path": "x"}]), "label": [0]}), tmp_path / "a.parquet")
    with pytest.raises(InputError, match="--classes"):
        read_parquet(tmp_path / "a.parquet")
    pq.write_table(pa.table({"a": [1]}), tmp_path / "b.parquet")
    with pytest.raises(InputError, match="no column of pictures"):
        read_parquet(tmp_path / "b.parquet")
    (tmp_path / "c.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(InputError, match="as Parquet"):
        read_parquet(tmp_path / "c.parquet")


def test_names_that_no_folder_may_have(tmp_path: Path) -> None:
    data = ImageDataset(np.zeros((2, 4, 4), np.uint8), np.array([0, 1]), ("../up", "a/b"))
    write_folder(data, tmp_path / "set")
    assert sorted(one.name for one in (tmp_path / "set").iterdir()) == ["class 1", "class 2"]
    assert list(tmp_path.iterdir()) == [tmp_path / "set"]


def run(capsys: pytest.CaptureFixture[str], *args: object) -> tuple[int, str, str]:
    code = 0
    try:
        main([str(a) for a in args])
    except SystemExit as error:
        code = int(error.code or 0)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_from_a_folder_of_photos_to_pictures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_folder(coloured(300), tmp_path / "photos")
    (tmp_path / "photos" / "cat" / "000001.png").write_bytes(b"broken")
    common = ("--epsilon", 5, "--size", "8", "--set", "edges=0", "--set", "frequencies=3", "--rows", 20)
    made = ("synthesize", tmp_path / "photos", "--method", "moments", *common)
    code, out, err = run(capsys, *made, "--out", tmp_path / "gen", "--json")
    assert code == 0, err
    assert json.loads(out)["images"] == 20
    assert "8 x 8 pixels, in colour" in err
    assert read_npz(tmp_path / "gen" / "records.npz").images.shape == (20, 8, 8, 3)
    assert read_parquet(tmp_path / "gen" / "records.parquet", PictureSize(8, 8)).classes == ("cat", "dog")
    assert understudy.load(tmp_path / "gen").classes_ == ("cat", "dog")
    for name, found in (("more", "more/dog/000002.png"), ("more.npz",) * 2, ("more.parquet",) * 2, ("more.png",) * 2):
        code, _, err = run(capsys, "sample", tmp_path / "gen", "--rows", 4, "--out", tmp_path / name)
        assert code == 0, err
        assert (tmp_path / found).stat().st_size > 50
    code, out, err = run(capsys, "pictures", tmp_path / "gen", "--out", tmp_path / "as pngs")
    assert code == 0, err
    assert len(list((tmp_path / "as pngs").glob("*/*.png"))) == 20
    for wrong, said in (
        (("sample", tmp_path / "gen", "--out", tmp_path / "x.csv"), "name for a table"),
        (("pictures", tmp_path / "photos", "--out", tmp_path / "y"), "holds no images"),
        ((*made, "--target", "y", "--out", tmp_path / "z"), "leave --target"),
        (("synthesize", tmp_path / "gen" / "records.npz", "--size", 9, "--out", tmp_path / "z"), "have a size already"),
    ):
        code, _, err = run(capsys, *wrong)
        assert code == 2
        assert said in " ".join(err.split())
