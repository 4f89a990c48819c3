"""Who vouches for a release: an in-toto statement in a DSSE envelope, signed with an Ed25519 key.

The statement names the release's files with their checksums, and what the certificate promises. Envelope and key hint stand
in a bundle of sigstore's format (version 0.3), so that tools of that family find what they look for. A certificate proves
that its epsilon follows from its events; only a signature says who claims that these events are what happened.

    https://in-toto.io/Statement/v1   https://github.com/secure-systems-lab/dsse   https://docs.sigstore.dev
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from understudy.errors import InputError
from understudy.files import write_text
from understudy.release.bundle import Bundle, check_folder, read_bundle
from understudy.untrusted import read_bytes, read_text, strict_json

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

SIGNATURE = "signature.sigstore.json"
STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "urn:understudy:release:v1"
PAYLOAD = "application/vnd.in-toto+json"
MEDIA = "application/vnd.dev.sigstore.bundle.v0.3+json"
PASSWORD = "UNDERSTUDY_KEY_PASSWORD"
_LARGEST_SIGNATURE, _LARGEST_KEY, _MOST_SIGNATURES = 2**20, 2**16, 10


def statement(bundle: Bundle) -> dict[str, Any]:
    """What is signed: the checksum of every file, and the promise, so that nobody has to look it up."""
    body = bundle.certificate.body
    return {
        "_type": STATEMENT,
        "subject": [{"name": name, "digest": {"sha256": digest}} for name, digest in sorted(bundle.digests.items())],
        "predicateType": PREDICATE,
        "predicate": {
            "kind": bundle.kind,
            "method": bundle.method,
            "epsilon": body["epsilon"],
            "delta": body["delta"],
            "unsafe": list(bundle.certificate.unsafe),
            "run": body.get("run"),
            "created": body["created"],
        },
    }


def encoded(kind: str, payload: bytes) -> bytes:
    """DSSE's pre-authentication encoding: what is signed, so that no type can be taken for another."""
    return b"DSSEv1 %d %s %d %s" % (len(kind.encode()), kind.encode(), len(payload), payload)


def sign(path: str | Path, key: str | Path) -> Path:
    """Sign the release in a folder with a private key; the signature is a file of its own beside the others."""
    folder = Path(path)
    private = _private_key(key)
    bundle = read_bundle(folder)
    check_folder(folder, bundle, beside=[SIGNATURE])
    if (folder / SIGNATURE).exists():
        raise InputError(f"{folder / SIGNATURE} is there already. Take it away first if yours is to replace it.")
    payload = json.dumps(statement(bundle), ensure_ascii=False).encode()
    made = {
        "mediaType": MEDIA,
        "verificationMaterial": {"publicKey": {"hint": hint(private.public_key())}},
        "dsseEnvelope": {
            "payload": _text(payload),
            "payloadType": PAYLOAD,
            "signatures": [{"sig": _text(private.sign(encoded(PAYLOAD, payload))), "keyid": ""}],
        },
    }
    write_text(folder / SIGNATURE, json.dumps(made, indent=2) + "\n")
    return folder / SIGNATURE


def check_signature(bundle: Bundle, path: str | Path, key: str | Path) -> str:
    """The hint of the key that signed this release; an error where that is not the given public key, or not this release."""
    from cryptography.exceptions import InvalidSignature

    public = _public_key(key)
    where = Path(path) / SIGNATURE
    if not where.exists():
        raise InputError(f"{path} is not signed: there is no {SIGNATURE} in it. Ask for one, or leave --key out.")
    payload, signatures = _envelope(
        strict_json(read_text(where, most=_LARGEST_SIGNATURE, what="the signature", inside=True), where=str(where)),
        where,
    )
    for signature in signatures:
        try:
            public.verify(signature, encoded(PAYLOAD, payload))
            break
        except InvalidSignature:
            continue
    else:
        raise InputError(
            f"{where} was not made with the key {key}, or was edited since: nobody you know vouches for this."
        )
    if strict_json(_decoded(payload, where), where=str(where)) != json.loads(json.dumps(statement(bundle))):
        raise InputError(f"{where} is the signature of another release than {path}: files were exchanged.")
    return hint(public)


def new_key(path: str | Path) -> Path:
    """Make a key: the private part at `path`, readable by its owner alone, the public one beside it as `.pub`."""
    from cryptography.hazmat.primitives import serialization as form

    private = _ed25519().Ed25519PrivateKey.generate()
    target = Path(path)
    secret = os.environ.get(PASSWORD)
    guard = form.BestAvailableEncryption(secret.encode()) if secret else form.NoEncryption()
    pem = private.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, guard)
    public = private.public_key().public_bytes(form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo)
    try:
        with open(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
            file.write(pem)
    except OSError as error:
        raise InputError(f"cannot write a new key to {target}: {error.strerror}. Name another place.") from None
    beside = target.with_name(target.name + ".pub")
    write_text(beside, public.decode())
    return beside


def hint(key: Ed25519PublicKey) -> str:
    """How sigstore tells keys apart: the SHA-256 of the public key, in base 64."""
    from cryptography.hazmat.primitives import serialization as form

    return _text(hashlib.sha256(key.public_bytes(form.Encoding.DER, form.PublicFormat.SubjectPublicKeyInfo)).digest())


def _envelope(made: Any, where: Path) -> tuple[bytes, list[bytes]]:
    """What is signed, and by which signatures, if the file has the form of one."""
    wrong = InputError(f"{where} is no signature in sigstore's format with a DSSE envelope.")
    match made:
        case {
            "dsseEnvelope": {"payload": str() as payload, "payloadType": str() as kind, "signatures": list() as given}
        }:
            sigs = [one["sig"] for one in given if isinstance(one, dict) and isinstance(one.get("sig"), str)]
        case _:
            raise wrong
    if len(sigs) != len(given) or not 1 <= len(sigs) <= _MOST_SIGNATURES:
        raise wrong
    if kind != PAYLOAD:
        raise InputError(f"{where} signs {kind[:80]!r}, not a statement of in-toto ({PAYLOAD}).")
    try:
        return base64.b64decode(payload, validate=True), [base64.b64decode(one, validate=True) for one in sigs]
    except (binascii.Error, ValueError):
        raise InputError(f"{where} is damaged: it is not in base 64. Copy it again.") from None


def _decoded(payload: bytes, where: Path) -> str:
    try:
        return payload.decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{where} is damaged: what it signs is no text. Copy it again.") from None


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _ed25519() -> Any:
    try:
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise InputError("signatures need the package `cryptography`: pip install 'understudy[sign]'.") from None
    return ed25519


def _key_bytes(path: str | Path) -> bytes:
    try:
        return read_bytes(path, most=_LARGEST_KEY)
    except OSError as error:
        raise InputError(
            f"cannot read the key {path}: {error.strerror}. `understudy sign --new-key FILE` makes one."
        ) from None


def _private_key(path: str | Path) -> Ed25519PrivateKey:
    kinds = _ed25519()
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    secret = os.environ.get(PASSWORD)
    try:
        key: Any = load_pem_private_key(_key_bytes(path), secret.encode() if secret else None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"{path} is no private key in PEM form, or its password (${PASSWORD}) is wrong or missing."
        ) from None
    if not isinstance(key, kinds.Ed25519PrivateKey):
        raise InputError(f"{path} is not an Ed25519 key; `understudy sign --new-key FILE` makes one.")
    return key


def _public_key(path: str | Path) -> Ed25519PublicKey:
    kinds = _ed25519()
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    data = _key_bytes(path)
    if b"PRIVATE KEY" in data:
        raise InputError(f"{path} is a private key, which nobody but its owner needs: give the public one (.pub).")
    try:
        key: Any = load_pem_public_key(data)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise InputError(f"{path} is no public key in PEM form.") from None
    if not isinstance(key, kinds.Ed25519PublicKey):
        raise InputError(f"{path} is not an Ed25519 key, and no other kind is read.")
    return key
