from __future__ import annotations

import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from vetro.agent.errors import SigningKeyError
from vetro.agent.guest.signature import KeyInvalid, PublicKey
from vetro.agent.signing import KeyFile, SigningKey, ensure_key, load_key


@pytest.fixture(scope="module")
def private() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


@pytest.fixture(scope="module")
def key(private: rsa.RSAPrivateKey) -> SigningKey:
    return SigningKey(private)


def test_the_agent_accepts_what_the_engine_signed(key: SigningKey) -> None:
    public = PublicKey(key.public_pem())
    signature = key.sign("queue", '{"ж": 1}')
    assert public.verifies(signature, 'queue{"ж": 1}'.encode())


@pytest.mark.attack("agent", "forged plans")
@pytest.mark.parametrize(
    "data", [b"queue{}", b"queu{}", b"queue{} ", b"other{}", b""], ids=["same", "queue", "space", "other", "empty"]
)
def test_only_the_signed_bytes_are_accepted(key: SigningKey, data: bytes) -> None:
    public = PublicKey(key.public_pem())
    assert public.verifies(key.sign("queue", "{}"), data) is (data == b"queue{}")


@pytest.mark.attack("agent", "forged plans")
def test_changed_signatures_are_refused(key: SigningKey) -> None:
    public = PublicKey(key.public_pem())
    good = key.sign("q", "{}")
    for bad in (good[:-1], good + b"\0", b"\0" + good, b"", bytes(256), b"\xff" * 256, bytes([good[0] ^ 1]) + good[1:]):
        assert not public.verifies(bad, b"q{}")


@pytest.mark.attack("agent", "forged plans")
def test_padding_is_compared_as_a_whole(private: rsa.RSAPrivateKey, key: SigningKey) -> None:
    """A block with less padding and rubbish behind the digest is a forgery that lazy readers accept."""
    import hashlib

    numbers = private.private_numbers()
    modulus = numbers.public_numbers.n
    tail = bytes.fromhex("3031300d060960864801650304020105000420") + hashlib.sha256(b"q{}").digest()
    good = b"\0\1" + b"\xff" * (256 - 3 - len(tail)) + b"\0" + tail
    forged = b"\0\1" + b"\xff" * 8 + b"\0" + tail + bytes(256 - 11 - len(tail))
    public = PublicKey(key.public_pem())
    for block, accepted in ((good, True), (forged, False)):
        signature = pow(int.from_bytes(block, "big"), numbers.d, modulus).to_bytes(256, "big")
        assert public.verifies(signature, b"q{}") is accepted


def test_openssl_agrees(key: SigningKey, tmp_path: Path) -> None:
    (tmp_path / "key").write_text(key.public_pem())
    (tmp_path / "signature").write_bytes(key.sign("q", "{}"))
    (tmp_path / "data").write_bytes(b"q{}")
    command = ["openssl", "dgst", "-sha256", "-verify", "key", "-signature", "signature", "data"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.strip() == "Verified OK", done.stderr


def test_the_public_key_has_the_form_of_old_agents(key: SigningKey) -> None:
    lines = key.public_pem().splitlines()
    assert (lines[0], lines[-1]) == ("-----BEGIN RSA PUBLIC KEY-----", "-----END RSA PUBLIC KEY-----")


def test_the_other_form_of_public_keys_is_read(private: rsa.RSAPrivateKey, key: SigningKey) -> None:
    pem = private.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    assert PublicKey(pem.decode()).verifies(key.sign("q", "{}"), b"q{}")


@pytest.mark.attack("agent", "forged plans")
@pytest.mark.parametrize(
    "pem",
    [
        "",
        "x",
        "-----BEGIN RSA PUBLIC KEY-----\n!!!\n-----END RSA PUBLIC KEY-----",
        "-----BEGIN RSA PUBLIC KEY-----\nMAA=\n-----END RSA PUBLIC KEY-----",
        "-----BEGIN RSA PUBLIC KEY-----\n-----END RSA PUBLIC KEY-----",
        "-----BEGIN RSA PUBLIC KEY-----\nMAYCAQECAQM=\n-----END RSA PUBLIC KEY-----",
    ],
)
def test_rubbish_is_no_public_key(pem: str) -> None:
    with pytest.raises(KeyInvalid, match="engine_key"):
        PublicKey(pem)


def test_a_cut_off_key_is_refused(key: SigningKey) -> None:
    lines = key.public_pem().splitlines()
    with pytest.raises(KeyInvalid):
        PublicKey("\n".join([lines[0], lines[1], lines[-1]]))


def test_a_new_key_is_private_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "key"
    first = ensure_key(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert ensure_key(path).public_pem() == first.public_pem()
    assert sorted(item.name for item in path.parent.iterdir()) == ["key"]


def test_rivals_get_the_same_key(tmp_path: Path) -> None:
    keys: list[str] = []
    threads = [
        threading.Thread(target=lambda: keys.append(ensure_key(tmp_path / "key").public_pem())) for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(keys) == 3
    assert len(set(keys)) == 1


@pytest.mark.parametrize("form", ["pkcs1", "pkcs8", "openssh"])
def test_usual_forms_of_private_keys_are_read(private: rsa.RSAPrivateKey, tmp_path: Path, form: str) -> None:
    formats = {
        "pkcs1": serialization.PrivateFormat.TraditionalOpenSSL,
        "pkcs8": serialization.PrivateFormat.PKCS8,
        "openssh": serialization.PrivateFormat.OpenSSH,
    }
    data = private.private_bytes(serialization.Encoding.PEM, formats[form], serialization.NoEncryption())
    (tmp_path / "key").write_bytes(data)
    assert load_key(tmp_path / "key").public_pem() == SigningKey(private).public_pem()


def _write(path: Path, kind: str) -> None:
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    if kind == "rubbish":
        path.write_text("no key")
    elif kind == "curve":
        path.write_bytes(
            ec.generate_private_key(ec.SECP256R1()).private_bytes(encoding, form, serialization.NoEncryption())
        )
    elif kind == "locked":
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        path.write_bytes(key.private_bytes(encoding, form, serialization.BestAvailableEncryption(b"secret")))
    elif kind == "folder":
        path.mkdir()


@pytest.mark.parametrize("kind", ["rubbish", "curve", "locked", "folder", "missing"])
def test_unusable_keys_are_named(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "key"
    _write(path, kind)
    with pytest.raises(SigningKeyError, match="key") as caught:
        load_key(path)
    assert caught.value.hint


def test_a_key_is_not_shown(key: SigningKey) -> None:
    assert "BEGIN" not in repr(key)
    assert sys.getsizeof(repr(key)) < 200


def test_a_key_is_made_when_it_is_wanted_and_read_at_once_where_it_is(tmp_path: Path) -> None:
    path = tmp_path / "key.pem"
    lazy = KeyFile(path)
    assert not path.exists()
    signature = lazy.sign("q", "{}")
    assert PublicKey(KeyFile(path).public_pem()).verifies(signature, b"q{}")
    path.write_text("no key")
    with pytest.raises(SigningKeyError, match="no private key"):
        KeyFile(path)
