"""The blob store: files by hash, checked when read, collected when nothing names them."""

from __future__ import annotations

import contextlib
import gzip
import os
import time
import tracemalloc
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import FileSystemStorage
from django.utils import timezone

from tests.server.catalog.archives import archive
from tests.server.catalog.s3site import Site
from vetro.server.catalog import blobs, deleted_versions, garbage, service
from vetro.server.catalog.blobs import BlobMissing, Bucket, Folder
from vetro.server.catalog.imports import import_packages
from vetro.server.config.config import ConfigError
from vetro.server.errors import Unavailable


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: Any) -> Folder:
    """A store of its own."""
    found = Folder(tmp_path / "blobs")
    monkeypatch.setattr(blobs, "store", lambda: found)
    return found


def test_what_is_put_is_got(folder: Folder) -> None:
    digest = blobs.put(b"hello")
    assert blobs.get(digest) == b"hello"
    assert blobs.put(b"hello") == digest
    assert blobs.local_file(digest).read_bytes() == b"hello"
    assert [name for name, _ in folder.listed()] == [digest]


def test_damage_is_noticed(folder: Folder) -> None:
    digest = blobs.put(b"hello")
    path = folder.path(digest)
    path.chmod(0o644)
    path.write_bytes(b"hullo")
    with pytest.raises(BlobMissing, match="damaged"):
        blobs.get(digest)
    folder.remove(digest)
    with pytest.raises(BlobMissing):
        blobs.get(digest)
    with pytest.raises(BlobMissing, match="missing"):
        blobs.local_file(digest)


@pytest.mark.parametrize("name", ["", "../../etc/passwd", "A" * 64, "0" * 63])
def test_only_digests_are_names(folder: Folder, name: str) -> None:
    with pytest.raises(BlobMissing, match="no digest"):
        blobs.get(name)


def test_a_full_disk_is_said_and_leaves_nothing(folder: Folder, monkeypatch: Any) -> None:
    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(blobs.os, "fsync", full)
    with pytest.raises(Unavailable, match="No space left"):
        blobs.put(b"hello")
    assert [f for f in folder.root.rglob("*") if f.is_file()] == []


def test_a_truncated_file_is_written_again(folder: Folder) -> None:
    digest = blobs.put(b"hello")
    folder.path(digest).chmod(0o644)
    folder.path(digest).write_bytes(b"")
    blobs.put(b"hello")
    assert blobs.get(digest) == b"hello"


def test_a_folder_that_is_not_mounted_is_away_and_its_blobs_not_gone(folder: Folder) -> None:
    digest, other = blobs.put(b"hello"), blobs.put(b"other")
    place = folder.root.rename(folder.root.with_name("elsewhere"))
    with pytest.raises(Unavailable, match="is empty"):
        blobs.local_file(digest)
    folder.root.mkdir()  # what is left of a mount
    with pytest.raises(Unavailable, match="is empty"):
        blobs.get(digest)
    folder.root.rmdir()
    place.rename(folder.root)
    assert blobs.get(digest) == b"hello"
    folder.remove(digest)
    with pytest.raises(BlobMissing, match="is missing"):
        blobs.local_file(digest)
    assert blobs.get(other) == b"other"


def test_a_bucket_gives_files_of_this_machine(tmp_path: Path, monkeypatch: Any) -> None:
    bucket = Bucket(FileSystemStorage(location=tmp_path / "far"), "some/prefix")
    monkeypatch.setattr(blobs, "store", lambda: bucket)

    class Settings:
        data = tmp_path / "near"

    monkeypatch.setattr(blobs, "config", Settings)
    digest = blobs.put(b"hello")
    assert blobs.put(b"hello") == digest
    assert (tmp_path / "far/some/prefix" / digest[:2] / digest).read_bytes() == b"hello"
    assert blobs.local_file(digest) == blobs.location_of(digest)
    assert blobs.local_file(digest).read_bytes() == b"hello"
    ((name, _),) = bucket.listed()
    assert name == digest
    bucket.remove(digest)
    with pytest.raises(BlobMissing):
        blobs.get(digest)


@pytest.fixture
def site(monkeypatch: Any) -> Iterator[Site]:
    """An S3 of this machine, and the environment that leads to it. A connection that broke is tried once more, as an
    operator would have it: the machine of a test may be busy.
    """
    found = Site()
    for name, value in {
        "AWS_ENDPOINT_URL_S3": found.url, "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_DEFAULT_REGION": "here", "AWS_MAX_ATTEMPTS": "2", "AWS_EC2_METADATA_DISABLED": "true",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    yield found
    found.close()


def test_a_bucket_of_s3(site: Site, tmp_path: Path, monkeypatch: Any) -> None:
    bucket = blobs._open("s3://store/some/prefix")
    monkeypatch.setattr(blobs, "store", lambda: bucket)

    class Settings:
        data = tmp_path / "near"

    monkeypatch.setattr(blobs, "config", Settings)
    monkeypatch.setattr(garbage, "config", Settings)
    digest = blobs.put(b"hello")
    assert blobs.put(b"hello") == digest
    place = f"store/some/prefix/{digest[:2]}/{digest}"
    assert site.objects == {place: b"hello"}
    assert blobs.get(digest) == b"hello" and blobs.local_file(digest).read_bytes() == b"hello"
    assert list(bucket.listed()) == [(digest, 1795255200.0)]
    site.objects[place] = b"hullo"
    with pytest.raises(BlobMissing, match="damaged"):
        blobs.get(digest)
    bucket.remove(digest)
    with pytest.raises(BlobMissing):
        blobs.get(digest)
    site.refuses = 403
    with pytest.raises(Unavailable, match="blob store cannot be read"):
        blobs.get(digest)
    with pytest.raises(Unavailable, match="blob store cannot be written"):
        blobs.put(b"other")


GIB = 1 << 30


@pytest.fixture
def inner() -> Iterator[Site]:
    """A storage to which nobody was to be led."""
    found = Site()
    yield found
    found.close()


@pytest.mark.attack("data", "a hostile S3")
@pytest.mark.parametrize(
    ("attack", "text"),
    [
        ("endless", "larger than anything"),
        ("endless-head", "HTTPHeaderError|headers|Connection|within"),
        ("error", "larger than anything"),
        ("drip", "more than 1|within 1|seconds"),
        ("drip-head", "within 1"),
        ("short", "damaged|IncompleteRead|Connection"),
        ("long", "damaged"),
        ("other", "damaged"),
        ("gzip", "damaged"),
        ("redirect", "301|redirect|Moved|within 1|closed"),
    ],
)
def test_a_bucket_of_a_hostile_server(site: Site, inner: Site, monkeypatch: Any, attack: str, text: str) -> None:
    """What it answers is bounded in bytes and seconds, is what was stored or an error, and leads nowhere else."""
    from vetro.server.catalog import s3

    monkeypatch.setattr(s3, "LARGEST_TOTAL", 4 << 20)
    bucket = blobs._open("s3://store")
    monkeypatch.setattr(blobs, "store", lambda: bucket)
    digest = blobs.put(b"hello")
    inner.objects = dict(site.objects)
    site.hostile = lambda handler: attacked(handler, attack, inner.url)
    if "1" in text:  # the others end by what they say; a busy machine has all the time for them
        monkeypatch.setattr(s3, "SECONDS", 1.5)
    began = time.monotonic()
    tracemalloc.start()
    try:
        with pytest.raises((Unavailable, BlobMissing), match=text):
            blobs.get(digest)
        assert tracemalloc.get_traced_memory()[1] < 40 << 20
    finally:
        tracemalloc.stop()
    assert time.monotonic() - began < 30 and not inner.asked
    site.hostile = None
    monkeypatch.setattr(s3, "SECONDS", 30.0)
    assert blobs.get(digest) == b"hello"


@pytest.mark.attack("data", "a hostile S3")
@pytest.mark.parametrize("attack", ["pages", "names", "endless", "drip"])
def test_a_list_of_a_hostile_server_ends(site: Site, monkeypatch: Any, attack: str) -> None:
    from vetro.server.catalog import s3

    monkeypatch.setattr(s3, "SECONDS", 1.5)
    monkeypatch.setattr(s3, "MOST_NAMES", 5000)
    bucket = blobs._open("s3://store")
    site.hostile = lambda handler: attacked(handler, attack, "")
    began = time.monotonic()
    with pytest.raises(OSError, match=r"does not end|larger than anything|seconds"):
        list(bucket.names())
    assert time.monotonic() - began < 30


def attacked(handler: Any, attack: str, inner: str) -> None:
    """One answer of a server that wants to harm: it ends when nobody listens any more."""
    send = handler.wfile.write
    if attack in ("pages", "names"):
        many = 1 if attack == "pages" else 1000
        stamp = time.monotonic_ns()
        keys = "".join(f"<CommonPrefixes><Prefix>{stamp}-{n}/</Prefix></CommonPrefixes>" for n in range(many))
        next = f"<IsTruncated>true</IsTruncated><NextMarker>{stamp}</NextMarker>"
        handler.answer(200, f"<ListBucketResult>{next}{keys}</ListBucketResult>".encode())
        return
    handler.close_connection = True
    if attack == "redirect":
        send(f"HTTP/1.1 301 Moved\r\nLocation: {inner}{handler.path}\r\nContent-Length: 0\r\n\r\n".encode())
        return
    body = {"short": b"hell", "long": b"hello, world", "other": b"hullo", "gzip": gzip.compress(b"hello")}.get(attack)
    if body is not None:
        length = 5 if attack == "short" else len(body)
        packed = "Content-Encoding: gzip\r\n" if attack == "gzip" else ""
        send(f"HTTP/1.1 200 OK\r\n{packed}Content-Length: {length}\r\n\r\n".encode() + body)
        return
    status = "403 Forbidden" if attack == "error" else "200 OK"
    send(f"HTTP/1.1 {status}\r\n".encode())
    with contextlib.suppress(OSError):
        if attack == "endless-head":
            for number in range(100_000):
                send(b"X-%d: %s\r\n" % (number, b"x" * 1000))
        if attack == "drip-head":
            for _ in range(100):
                send(b"X")
                time.sleep(0.1)
        send(b"\r\n")
        for _ in range(100 if attack == "drip" else GIB >> 16):
            send(b"x" if attack == "drip" else b"x" * (1 << 16))
            time.sleep(0.1 if attack == "drip" else 0)


def test_a_bucket_that_is_away(site: Site, monkeypatch: Any) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:1")
    bucket = blobs._open("s3://store")
    monkeypatch.setattr(blobs, "store", lambda: bucket)
    with pytest.raises(Unavailable, match="blob store cannot be written"):
        blobs.put(b"hello")
    with pytest.raises(Unavailable, match="blob store cannot be read"):
        blobs.get("0" * 64)
    with pytest.raises(OSError, match="Could not connect"):
        list(bucket.listed())
    with pytest.raises(OSError, match="Could not connect"):
        bucket.remove("0" * 64)


def test_garbage_in_a_bucket(db: None, site: Site, tmp_path: Path, monkeypatch: Any) -> None:
    bucket = blobs._open("s3://store")
    monkeypatch.setattr(blobs, "store", lambda: bucket)
    digest = blobs.put(b"hello")
    site.clock += garbage.GRACE - 1
    assert garbage.collect() == 0 and list(site.objects) == [f"store/{digest[:2]}/{digest}"]
    site.clock += 2
    assert garbage.collect() == 1
    assert site.objects == {}


def test_what_is_young_by_the_clock_of_the_store_stays(db: None, folder: Folder, monkeypatch: Any) -> None:
    digest = blobs.put(b"of an import that has not committed")
    draft = folder.path(digest).parent / ".new-half"
    draft.write_bytes(b"half")
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + 3 * garbage.GRACE)  # this machine is ahead
    assert garbage.collect() == 0
    assert blobs.get(digest) and draft.exists()
    monkeypatch.setattr(time, "time", lambda: real() - 3 * garbage.GRACE)
    os.utime(folder.path(digest), (real() - 2 * garbage.GRACE,) * 2)
    assert garbage.collect() == 1


def test_a_store_that_was_never_written_has_no_garbage(db: None, folder: Folder) -> None:
    assert garbage.collect() == 0 and not folder.root.exists()


def test_addresses_of_stores() -> None:
    with pytest.raises(ConfigError, match="s3://BUCKET"):
        blobs._open("ftp://x/y")


def test_garbage_is_what_nothing_names(ann: Any, folder: Folder) -> None:
    from vetro.server.environments.models import Environment, EnvironmentPackage
    from vetro.server.tasks.models import Task

    kept = import_packages(ann.caller, [archive("com.example.Kept")]).packages[0]
    gone = import_packages(ann.caller, [archive("com.example.Gone")]).packages[0]
    stray, queued, pinned = blobs.put(b"stray"), blobs.put(b"queued"), blobs.put(b"pinned")
    Task.objects.create(project_id="p", user_id="u", kind="deploy", spec={"packages": [queued]})
    environment = Environment.objects.create(project_id="p", name="e")
    EnvironmentPackage.objects.create(environment=environment, fqn="x", version="1", digest=pinned)
    service.delete(ann.caller, gone)
    assert garbage.collect() == 0  # all of it is young
    for path in folder.root.rglob("*"):
        os.utime(path, (0, 0))
    assert garbage.collect() == 1  # what was deleted a moment ago can be put back
    deleted_versions.forget(timezone.now() + timedelta(seconds=1))
    assert garbage.collect() == 1
    left = {name for name, _ in folder.listed()}
    assert {kept.digest, queued, pinned} <= left and not {stray, gone.digest} & left


def test_what_is_imported_again_while_garbage_is_collected_stays(db: None, folder: Folder, monkeypatch: Any) -> None:
    digest = blobs.put(b"stray")
    os.utime(folder.path(digest), (0, 0))
    used = garbage.used

    def importing() -> set[str]:
        found = used()
        blobs.put(b"stray")  # its row is committed later
        return found

    monkeypatch.setattr(garbage, "used", importing)
    assert garbage.collect() == 0 and blobs.get(digest) == b"stray"


def test_drafts_of_a_crash_are_removed(folder: Folder) -> None:
    digest = blobs.put(b"hello")
    draft = folder.path(digest).parent / ".new-left"
    draft.write_bytes(b"half")
    os.utime(draft, (0, 0))
    assert [name for name, _ in folder.listed()] == [digest]
    assert not draft.exists()


@pytest.mark.attack("data", "keys of blobs")
@pytest.mark.parametrize(
    "digest",
    ["", "..", "../" * 21 + "x", "/etc/passwd", "0" * 63, "0" * 65, "0" * 63 + "A", "0" * 63 + "\n", "\uff10" * 64,
     "0" * 32 + "/../" + "0" * 28, "\0" * 64, "%2e" * 21 + "0"],
)  # fmt: skip
def test_only_digests_name_blobs(folder: Folder, digest: str) -> None:
    """In a folder and in S3 alike: whatever a row or an archive of an installation says."""
    for ask in (blobs.get, blobs.local_file, blobs.location_of, blobs.local_path):
        with pytest.raises(BlobMissing, match="is no digest"):
            ask(digest)
    assert not folder.root.exists()
