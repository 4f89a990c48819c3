"""Files that a stranger crafted: each ends in one plain message and exit code 2, soon and in little memory.

Every case is opened by a process of its own, with a limit on its memory and on its processor time.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import json
import os
import resource
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from understudy import registry
from understudy.audit import worlds
from understudy.errors import InputError
from understudy.images import read_npz
from understudy.privacy import Budget, Certificate
from understudy.privacy.certificate import _checksum  # pyright: ignore[reportPrivateUsage]
from understudy.privacy.events import GaussianEvent, LaplaceEvent, SubsampledGaussianEvent, to_json
from understudy.release.arrays import read_arrays
from understudy.release.bundle import add_files, check_folder, read_bundle
from understudy.tables import Schema, read_table

GIGABYTE = 2**30
ROOT = Path(__file__).parents[2]
SECONDS = 15  # of which two are the start of the program; 5 on an ordinary machine, where nothing else runs


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small release of a method that needs no network."""
    folder = tmp_path_factory.mktemp("made") / "release"
    worlds.fit(registry.get("moments"), worlds.table(), Budget(1.0, 1e-5)).save(folder)
    return folder


@pytest.fixture
def copy(release: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "release"
    folder.mkdir()
    for file in release.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    return folder


def reseal(folder: Path, edit: Callable[[dict[str, Any]], None] = lambda manifest: None) -> None:
    """Make the checksums of a manifest fit again, as whoever crafts a release does; `edit` has the last word."""
    manifest = json.loads((folder / "manifest.json").read_text())
    for name in list(manifest["files"]):
        manifest["files"][name] = "sha256:" + hashlib.sha256((folder / name).read_bytes()).hexdigest()
    edit(manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest))


def certified(folder: Path, **changes: Any) -> None:
    body = json.loads((folder / "certificate.json").read_text()) | changes
    body.pop("checksum")
    (folder / "certificate.json").write_text(json.dumps(body | {"checksum": _checksum(body)}))
    reseal(folder)


def _limits() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
    resource.setrlimit(resource.RLIMIT_AS, (4 * GIGABYTE, 4 * GIGABYTE))


def refused(*words: object, message: str) -> None:
    """The command ends with exit code 2 and one line, in little processor time and less than 1 GB of memory."""
    code = (
        "import resource, sys\n"
        "from understudy.cli.app import main\n"
        "try:\n    main(sys.argv[1:])\n"
        "except SystemExit as ended:\n    code = ended.code\n"
        "used = resource.getrusage(resource.RUSAGE_SELF)\n"
        "from benchmarks.fuzz import peak\n"
        "print(f'USED {used.ru_utime + used.ru_stime} {peak()} {code}')\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code, *map(str, words)],
        capture_output=True,
        text=True,
        timeout=1500,
        preexec_fn=_limits,
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "JAX_PLATFORMS": "cpu"},
    )
    assert "Traceback" not in ended.stderr, ended.stderr[-2000:]
    seconds, held, status = ended.stdout.strip().splitlines()[-1].removeprefix("USED ").split()
    assert status == "2", ended.stdout
    assert message in ended.stderr
    assert len(ended.stderr) < 5000
    assert float(seconds) < SECONDS
    assert int(held) < GIGABYTE


# ---- what is no file ---------------------------------------------------------------------------------------------


def test_a_manifest_that_names_a_device(copy: Path) -> None:
    reseal(copy, lambda manifest: manifest["files"].update({"/dev/zero": "sha256:" + "0" * 64}))
    refused("verify", copy, message="no plain name")
    with pytest.raises(InputError, match="no plain name"):
        read_bundle(copy)


@pytest.mark.parametrize("name", ["../certificate.json", "sub/file", "..", "", "a\0b", "/etc/passwd", "C:\\x", None, 3])
def test_a_name_that_leads_out_of_the_folder(tmp_path: Path, name: Any) -> None:
    from understudy.untrusted import child

    with pytest.raises(InputError, match="no plain name"):
        child(tmp_path, name)


def test_a_sparse_manifest_of_many_gigabytes(copy: Path) -> None:
    with (copy / "manifest.json").open("r+b") as file:
        file.truncate(16 * GIGABYTE)
    refused("verify", copy, message="larger than 32 MiB")
    refused("sample", copy, "--out", copy.parent / "rows.csv", message="larger than 32 MiB")


@pytest.mark.parametrize("name", ["manifest.json", "certificate.json", "arrays.safetensors"])
def test_a_pipe_that_nobody_writes_to(copy: Path, name: str) -> None:
    (copy / name).unlink()
    os.mkfifo(copy / name)
    refused("verify", copy, message="not a regular file")


@pytest.mark.parametrize("name", ["manifest.json", "certificate.json", "arrays.safetensors"])
def test_a_link_to_a_file_elsewhere(copy: Path, name: str) -> None:
    (copy / name).rename(copy.parent / "elsewhere")
    (copy / name).symlink_to(copy.parent / "elsewhere")
    refused("verify", copy, message="is a link")


def test_devices_and_pipes_as_any_other_input(tmp_path: Path) -> None:
    refused("verify", "/dev/zero", message="not a regular file")
    for name in ("pipe.csv", "pipe.csv.gz", "pipe.parquet", "pipe.feather", "pipe.yaml", "pipe.npz", "pipe.json"):
        os.mkfifo(tmp_path / name)
    for name in ("pipe.csv", "pipe.csv.gz", "pipe.parquet", "pipe.feather"):
        with pytest.raises(InputError, match="not a regular file"):
            read_table(tmp_path / name)
    with pytest.raises(InputError, match="not a regular file"):
        Schema.read(tmp_path / "pipe.yaml")
    with pytest.raises(InputError, match="not a regular file"):
        read_npz(tmp_path / "pipe.npz")
    refused("account", tmp_path / "pipe.json", message="not a regular file")


# ---- what unpacks to more than it is -----------------------------------------------------------------------------


def test_a_yaml_bomb(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 8)]
    (tmp_path / "bomb.yaml").write_text("\n".join(lines))
    assert (tmp_path / "bomb.yaml").stat().st_size < 500
    refused("schema", "check", tmp_path / "bomb.yaml", message="anchors and aliases")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("version: 1\ncolumns: *x", "anchors and aliases"),
        ("version: !!int 1\ncolumns: []", "tags such as"),
        ("version: !!bool maybe\ncolumns: []", "tags such as"),
        ("[" * 5000 + "]" * 5000, "nested too deeply"),
        ("version: " + "9" * 400, "400 digits"),
        ("version: 1\ncolumns: [{name: a, kind: integer, bounds: [0, 1" + "0" * 399 + "]}]", "400 digits"),
        ("version: 1\ncolumns: [{name: a, kind: continuous, bounds: [0, .inf]}]", "must be finite"),
        ("version: 1\ncolumns: [{name: a, kind: continuous, bounds: [0, .nan]}]", "must be finite"),
        ("version: 1\ncolumns: [" + "{}, " * 130000 + "]", "values"),
    ],
)
def test_yaml_that_is_no_schema(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "s.yaml").write_text(text)
    with pytest.raises(InputError, match=message) as refusal:
        Schema.read(tmp_path / "s.yaml")
    assert len(str(refusal.value)) < 5000


def test_a_gzip_bomb(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "bomb.csv.gz", "wb") as file:
        file.write(b"a,b\n")
        for _ in range(40):
            file.write(b"1,2\n" * 2**20)
    with pytest.raises(InputError, match="would unpack"):
        read_table(tmp_path / "bomb.csv.gz")


def test_a_parquet_file_of_a_billion_equal_rows(tmp_path: Path) -> None:
    column = pa.array(np.zeros(2_000_000, np.int64))
    with pq.ParquetWriter(tmp_path / "bomb.parquet", pa.schema([("x", pa.int64())])) as writer:
        for _ in range(100):
            writer.write_table(pa.table({"x": column}))
    with pytest.raises(InputError, match="would unpack"):
        read_table(tmp_path / "bomb.parquet")


def npz(path: Path, members: dict[str, bytes], how: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", how) as archive:
        for name, data in members.items():
            archive.writestr(f"{name}.npy", data)
    return path


def npy(array: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


LABELS, PIXELS = npy(np.zeros(2, np.int64)), npy(np.zeros((2, 4, 4), np.uint8))


def test_images_that_unpack_to_gigabytes(tmp_path: Path) -> None:
    header = npy(np.zeros((0, 1024, 1024), np.uint8)).replace(b"(0, 1024, 1024), }   ", b"(500, 1024, 1024), } ")
    bomb = npz(tmp_path / "bomb.npz", {"images": header + bytes(500 * 2**20), "labels": LABELS})
    with pytest.raises(InputError, match="would unpack"):
        read_npz(bomb, ["a", "b"])


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"images": PIXELS.replace(b"(2, 4, 4)", b"(9, 9, 4)"), "labels": LABELS}, "shorter than its shape"),
        ({"images": PIXELS.replace(b"(2, 4, 4), }      ", b"(999999999999,), }"), "labels": LABELS}, "shorter"),
        ({"images": npy(np.array({"a": 1}, dtype=object)), "labels": LABELS}, "Object arrays"),
        ({"images": b"no array", "labels": LABELS}, "cannot read"),
        ({"images": npy(np.float64(1.0)), "labels": LABELS}, "images of shape"),
        ({"images": PIXELS, "labels": npy(np.int64(1))}, "labels of shape"),
        ({"images": PIXELS, "labels": LABELS, "classes": npy(np.array("ab"))}, "no list"),
        ({"labels": LABELS}, "has no array"),
    ],
)
def test_images_of_wrong_shapes(tmp_path: Path, members: dict[str, bytes], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_npz(npz(tmp_path / "i.npz", members), None if "classes" in members else ["a", "b"])


@pytest.mark.parametrize("how", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_images_packed_in_other_ways(tmp_path: Path, how: int) -> None:
    with pytest.raises(InputError, match="is not read"):
        read_npz(npz(tmp_path / "i.npz", {"images": PIXELS, "labels": LABELS}, how), ["a", "b"])


def test_renamed_formats(tmp_path: Path, release: Path) -> None:
    np.save(tmp_path / "one.npy", np.zeros(3))
    pq.write_table(pa.table({"a": [1]}), tmp_path / "t.parquet")
    disguises = [
        *((tmp_path / "one.npy", name) for name in ("a.npz", "a.csv", "a.parquet", "a.feather", "a.yaml", "a.csv.gz")),
        *((tmp_path / "t.parquet", name) for name in ("b.npz", "b.csv", "b.feather", "b.yaml", "b.csv.gz", "b.json")),
        *((release / "arrays.safetensors", name) for name in ("c.npz", "c.csv", "c.parquet", "c.yaml", "c.json")),
    ]
    for source, name in disguises:
        (tmp_path / name).write_bytes(source.read_bytes())
        read: Any = {".npz": read_npz, ".yaml": Schema.read, ".json": Certificate.load}.get(
            Path(name).suffix, read_table
        )
        with pytest.raises(InputError):
            read(tmp_path / name)


# ---- what is in a release ----------------------------------------------------------------------------------------


def arrays(**entries: Any) -> bytes:
    body = b"".join(np.asarray(value).tobytes() for value in entries.values())
    header, at = {}, 0
    kinds = {"float64": "F64", "float32": "F32", "int64": "I64", "bool": "BOOL", "uint8": "U8"}
    for name, value in entries.items():
        array = np.asarray(value)
        header[name] = {
            "dtype": kinds[str(array.dtype)], "shape": list(array.shape), "data_offsets": [at, at + array.nbytes],
        }  # fmt: skip
        at += array.nbytes
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + body


def test_arrays_are_read_as_safetensors_writes_them(release: Path) -> None:
    from safetensors.numpy import load_file

    ours = read_arrays((release / "arrays.safetensors").read_bytes(), where="here")
    theirs = load_file(release / "arrays.safetensors")
    assert ours.keys() == theirs.keys()
    for name, array in theirs.items():
        assert ours[name].dtype == array.dtype
        np.testing.assert_array_equal(ours[name], array)


GOOD = arrays(a=np.arange(6.0).reshape(2, 3))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "header does not fit"),
        (b"\xff" * 64, "header does not fit"),
        (GOOD[:-1], "do not fit its shape"),
        (GOOD + b"x", "take 48 bytes of 49"),
        (GOOD.replace(b"[2, 3]", b"[3, 3]"), "do not fit"),
        (GOOD.replace(b"[2, 3]", b"[-2,3]"), "whole numbers"),
        (GOOD.replace(b"[2, 3]", b"[2., 3"), "JSON"),
        (GOOD.replace(b'"F64"', b'"F65"'), "known are"),
        (GOOD.replace(b'"F64"', b'"F32"'), "do not fit"),
        (arrays(a=np.array([1.0, np.nan])), "not finite"),
        (arrays(a=np.array([-np.inf])), "not finite"),
        (arrays(b=np.array([2], np.uint8)).replace(b'"U8", ', b'"BOOL",').replace(b'{"b": ', b'{"b":'), "neither"),
    ],
)
def test_arrays_that_are_not_what_they_say(data: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_arrays(data, where="here")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("format", value) for value in (None, "1", True, 1.5, 0, -3, 99, [])),
        *(("kind", value) for value in (None, 3, [], {})),
        *(("method", value) for value in (None, 3, [], {}, "no-such-method")),
        *(("parameters", value) for value in (None, 3, [], {}, {"settings": None}, {"settings": {"epsilon": []}})),
        *(("schema", value) for value in (3, [], {}, "x")),
        *(("files", value) for value in (None, [], {}, 3, {"arrays.safetensors": None})),
    ],
)
def test_a_manifest_of_wrong_types(copy: Path, name: str, value: Any) -> None:
    reseal(copy, lambda manifest: manifest.update({name: value}))
    with pytest.raises(InputError):
        registry.load(copy)


@pytest.mark.parametrize("text", ["NaN", "Infinity", "1e999", "1" + "0" * 400, "-1" + "0" * 400, '"\\ud800"', "null"])
def test_numbers_that_are_none(copy: Path, text: str) -> None:
    manifest = (copy / "manifest.json").read_text()
    for key in ('"format": ', '"epsilon": ', '"rows": ', '"delta": ', '"missing": '):
        start = manifest.index(key) + len(key)
        end = min(manifest.index(c, start) for c in ",\n")
        (copy / "manifest.json").write_text(manifest[:start] + text + manifest[end:])
        with pytest.raises(InputError):
            registry.load(copy)


@pytest.mark.parametrize("shape", ["scalar", "empty", "transposed", "negative", "huge", "text"])
def test_arrays_that_do_not_fit_the_method(copy: Path, shape: str) -> None:
    """Every array of the release in turn, in a shape that its method never wrote; all checksums fit."""
    first = read_arrays((copy / "arrays.safetensors").read_bytes(), where="here")
    change: dict[str, Callable[[np.ndarray], Any]] = {
        "scalar": lambda array: np.float64(1.0),
        "empty": lambda array: np.zeros((0, *array.shape[1:])),
        "transposed": lambda array: np.zeros((*array.shape, 2)),
        "negative": lambda array: np.full_like(array, -1),
        "huge": lambda array: np.full(array.shape, 1e308),
        "text": lambda array: np.zeros(array.shape, np.uint8),
    }
    for name in first:
        (copy / "arrays.safetensors").write_bytes(arrays(**first | {name: change[shape](first[name])}))
        reseal(copy)
        with contextlib.suppress(InputError):
            registry.load(copy).sample(20, random_state=0)


# ---- certificates ------------------------------------------------------------------------------------------------


def odd(number: int) -> list[dict[str, Any]]:
    return [to_json(SubsampledGaussianEvent(2.0 + i / 997, 0.01 + i / 99991, 20)) for i in range(number)]


def test_hundreds_of_odd_events(copy: Path) -> None:
    certified(copy, events=odd(300), epsilon=1.0)
    refused("verify", copy, message="300 kinds of sampled steps")


@pytest.mark.parametrize(
    "events",
    [
        odd(32),
        [to_json(LaplaceEvent(1e-9, 2**53))],
        [to_json(LaplaceEvent(1e-6, 10**10))],
        [to_json(SubsampledGaussianEvent(2e4, 0.5, 10**7))],
        [to_json(GaussianEvent(2e4, 10**8, "discrete", integer_unit=True))],
        [to_json(GaussianEvent(20.0 + i / 7, 1 + i, "discrete", integer_unit=True)) for i in range(999)],
        [to_json(GaussianEvent(1e4 + i, 1, "discrete", integer_unit=True)) for i in range(100)],
        [to_json(LaplaceEvent(1e-4 + i * 1e-7, 1 + i % 3)) for i in range(999)],
        [to_json(SubsampledGaussianEvent(0.3 + i / 1000, 1e-9, 10**5)) for i in range(20)],
    ],
)
def test_events_that_are_costly_to_recompute(copy: Path, events: list[dict[str, Any]]) -> None:
    certified(copy, events=events, epsilon=7.25, gaussian_dp={"mu": 1.0, "delta": 0.0})
    refused("verify", copy, message="the certificate states")


@pytest.mark.parametrize(
    "changes",
    [
        {"events": odd(1) * 5000},
        {"events": [{"mechanism": "laplace", "epsilon": 10**400}]},
        {"events": [{"mechanism": "gaussian", "noise_multiplier": 1e-300}]},
        {"events": [{"mechanism": "laplace", "epsilon": 1, "count": 10**30}]},
        {"events": None},
        {"accounting": {"basis": "filter", "method": "rdp", "order": None}},
        {"accounting": {"basis": "filter", "method": "rdp", "order": 1e300}},
        {"accounting": {"basis": "none", "method": "not-private", "order": None}},
        {"gaussian_dp": {"mu": 1e300, "delta": 0.5}},
        {"delta": 0},
        {"delta": 1e-320},
        {"epsilon": 1e300},
        {"release": []},
        {"software": {"dp-accounting": None}},
    ],
)
def test_certificates_that_hold_nothing(tmp_path: Path, release: Path, changes: dict[str, Any]) -> None:
    body = json.loads((release / "certificate.json").read_text()) | changes
    body.pop("checksum")
    (tmp_path / "c.json").write_text(json.dumps(body | {"checksum": _checksum(body)}))
    with pytest.raises(InputError):
        Certificate.load(tmp_path / "c.json").verify()


def test_a_tiny_cost_is_not_rounded_to_nothing() -> None:
    """A pure event of 1e-9 costs about order * 5e-19, far below the last place of a number around one."""
    from understudy.privacy.accountant import compose

    assert compose([LaplaceEvent(1e-9, 2**53)], 1e-5).epsilon > 0.3
    assert compose([LaplaceEvent(1e-8, 10**12)], 1e-5).epsilon > 0.02


# ---- the whole folder --------------------------------------------------------------------------------------------


def test_a_folder_is_checked_as_a_whole(copy: Path) -> None:
    check_folder(copy, read_bundle(copy))
    (copy / "extra.csv").write_text("a\n1\n")
    refused("verify", copy, message="'extra.csv'")
    add_files(copy, ["extra.csv"])
    check_folder(copy, read_bundle(copy))
    (copy / "extra.csv").write_text("a\n2\n")
    with pytest.raises(InputError, match=r"extra\.csv is damaged"):
        check_folder(copy, read_bundle(copy))
    (copy / "extra.csv").unlink()
    with pytest.raises(InputError, match="No such file"):
        check_folder(copy, read_bundle(copy))
    (copy / "arrays.safetensors").write_bytes((copy / "arrays.safetensors").read_bytes() + b" ")
    with pytest.raises(InputError, match=r"arrays\.safetensors is damaged"):
        read_bundle(copy)
    (copy / "arrays.safetensors").unlink()
    with pytest.raises(InputError, match="No such file"):
        read_bundle(copy)
