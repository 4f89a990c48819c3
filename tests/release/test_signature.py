"""Signatures: who vouches for a release can be told, and nothing can be exchanged behind their back."""

from __future__ import annotations

import base64
import json
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from understudy.cli.app import main
from understudy.errors import InputError
from understudy.privacy import Budget, Certificate, NoisyCounts
from understudy.release.bundle import Bundle, read_bundle, write_bundle
from understudy.release.signature import PAYLOAD, SIGNATURE, STATEMENT, check_signature, encoded, new_key, sign


def made(folder: Path, value: float = 0.0) -> Path:
    budget = Budget(0.5)
    NoisyCounts(0.5).release(np.array([3]), budget)
    certificate = Certificate.from_budget(budget, release={"kind": "generator", "method": "x"})
    write_bundle(Bundle("generator", "x", {"settings": {}}, {"a": np.full(2, value)}, certificate), folder)
    return folder


@pytest.fixture
def key(tmp_path: Path) -> Path:
    new_key(tmp_path / "key.pem")
    return tmp_path / "key.pem"


@pytest.fixture
def release(tmp_path: Path) -> Path:
    return made(tmp_path / "release")


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    printed = capsys.readouterr()
    return int(ended.value.code or 0), printed.out, printed.err


def test_the_encoding_is_that_of_dsse() -> None:
    """The example of the specification."""
    expected = b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    assert encoded("http://example.com/HelloWorld", b"hello world") == expected


def test_signed_and_verified(capsys: pytest.CaptureFixture[str], tmp_path: Path, release: Path) -> None:
    assert run(capsys, "sign", "--new-key", tmp_path / "k.pem")[0] == 0
    assert stat.S_IMODE((tmp_path / "k.pem").stat().st_mode) == 0o600
    assert run(capsys, "sign", release, "--key", tmp_path / "k.pem")[0] == 0
    code, out, _ = run(capsys, "verify", release, "--key", tmp_path / "k.pem.pub")
    assert code == 0
    assert "Signed with the key" in out
    code, out, _ = run(capsys, "verify", release)
    assert code == 0
    assert "not checked" in out
    assert json.loads(run(capsys, "verify", release, "--key", tmp_path / "k.pem.pub", "--json")[1])["signed_by"]


def test_the_file_is_a_statement_in_an_envelope_in_sigstores_bundle(release: Path, key: Path) -> None:
    value: dict[str, Any] = json.loads(sign(release, key).read_text())
    assert value["mediaType"] == "application/vnd.dev.sigstore.bundle.v0.3+json"
    assert len(base64.b64decode(value["verificationMaterial"]["publicKey"]["hint"])) == 32
    assert value["dsseEnvelope"]["payloadType"] == PAYLOAD
    statement = json.loads(base64.b64decode(value["dsseEnvelope"]["payload"]))
    assert statement["_type"] == STATEMENT
    named = {subject["name"]: subject["digest"]["sha256"] for subject in statement["subject"]}
    assert named == read_bundle(release).digests
    assert set(named) == {"manifest.json", "arrays.safetensors", "certificate.json"}
    assert statement["predicate"]["epsilon"] == 0.5


def test_the_signature_of_another_release_is_noticed(tmp_path: Path, release: Path, key: Path) -> None:
    sign(release, key)
    other = made(tmp_path / "other", 1.0)
    (other / SIGNATURE).write_bytes((release / SIGNATURE).read_bytes())
    with pytest.raises(InputError, match="of another release"):
        check_signature(read_bundle(other), other, f"{key}.pub")


def test_an_edited_signature_and_a_wrong_key_are_noticed(tmp_path: Path, release: Path, key: Path) -> None:
    sign(release, key)
    new_key(tmp_path / "mine.pem")
    with pytest.raises(InputError, match="nobody you know"):
        check_signature(read_bundle(release), release, tmp_path / "mine.pem.pub")
    value: dict[str, Any] = json.loads((release / SIGNATURE).read_text())
    payload = base64.b64decode(value["dsseEnvelope"]["payload"]).replace(b'"epsilon": 0.5', b'"epsilon": 0.4')
    value["dsseEnvelope"]["payload"] = base64.b64encode(payload).decode()
    (release / SIGNATURE).write_text(json.dumps(value))
    with pytest.raises(InputError, match="nobody you know"):
        check_signature(read_bundle(release), release, f"{key}.pub")


@pytest.mark.parametrize(
    "edit",
    [
        lambda value: [],
        lambda value: {},
        lambda value: value | {"dsseEnvelope": None},
        lambda value: value | {"dsseEnvelope": value["dsseEnvelope"] | {"payload": "***"}},
        lambda value: value | {"dsseEnvelope": value["dsseEnvelope"] | {"payloadType": "text/plain"}},
        lambda value: value | {"dsseEnvelope": value["dsseEnvelope"] | {"signatures": []}},
        lambda value: value | {"dsseEnvelope": value["dsseEnvelope"] | {"signatures": [3]}},
        lambda value: value | {"dsseEnvelope": value["dsseEnvelope"] | {"signatures": [{"sig": "AAAA"}] * 11}},
        lambda value: value | {"dsseEnvelope": value["dsseEnvelope"] | {"signatures": [{"sig": "AAAA"}]}},
    ],
)
def test_what_is_no_signature_is_refused(release: Path, key: Path, edit: Any) -> None:
    sign(release, key)
    (release / SIGNATURE).write_text(json.dumps(edit(json.loads((release / SIGNATURE).read_text()))))
    with pytest.raises(InputError):
        check_signature(read_bundle(release), release, f"{key}.pub")


def test_what_is_refused_before(tmp_path: Path, release: Path, key: Path, capsys: pytest.CaptureFixture[str]) -> None:
    public = f"{key}.pub"
    for words, message in (
        (("sign", release), "name the release and the key"),
        (("sign", release, "--key", public), "no private key"),
        (("sign", release, "--key", tmp_path / "none.pem"), "cannot read the key"),
        (("verify", release, "--key", public), "is not signed"),
        (("verify", release, "--key", key), "is a private key"),
        (("verify", release / "certificate.json", "--key", public), "needs the folder"),
        (("sign", "--new-key", key), "cannot write a new key"),
    ):
        code, _, err = run(capsys, *words)
        assert code == 2
        assert message in err
    sign(release, key)
    with pytest.raises(InputError, match="there already"):
        sign(release, key)
    (release / "extra").write_text("x")
    with pytest.raises(InputError, match="'extra'"):
        sign(release, key)


def test_a_key_may_have_a_password(tmp_path: Path, release: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNDERSTUDY_KEY_PASSWORD", "correct horse")
    public = new_key(tmp_path / "locked.pem")
    assert "ENCRYPTED" in (tmp_path / "locked.pem").read_text()
    sign(release, tmp_path / "locked.pem")
    monkeypatch.delenv("UNDERSTUDY_KEY_PASSWORD")
    assert check_signature(read_bundle(release), release, public)
    with pytest.raises(InputError, match="password"):
        sign(made(tmp_path / "second"), tmp_path / "locked.pem")
