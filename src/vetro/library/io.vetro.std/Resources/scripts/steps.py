#!/usr/bin/python3 -I
"""Brings a server to a state, step by step: what `io.vetro.std.Steps` sends, run by the server's agent as root.

Reads ``{"steps": [{"do": kind, ...}]}`` from standard input and writes ``{"changed": [number of a step], "values":
[value of each step]}`` to ``answer.json`` beside itself. Whoever runs it again changes nothing: each step looks first.
It stops at the first step that fails, with the reason on standard error and status 1. Everything that packages were
given comes as data and goes to programs as words; no shell reads it, unless the author wrote a shell command.
"""

import base64
import contextlib
import errno
import grp
import hashlib
import io
import json
import os
import pwd
import re
import shutil
import socket
import ssl
import stat
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import urllib.error
import urllib.request
import zipfile

#: Services that have to take up a change, a file each (not empty: a reload will do): the next plan ends what died.
NOTIFIED = "/var/lib/vetro-std/notified"
#: Where clouds without block devices have data volumes, by the name of the device.
VOLUMES = "/run/vetro-volumes"
#: Lines of a journal or an output in an error.
TAIL = 8
#: Seconds until a service that has just been started counts as running.
SETTLED = 1.0
#: Bytes that a file may have that is fetched: answers of agents have 16 MiB.
LARGEST = 11 << 20
_PACKAGE = re.compile(r"[a-z0-9][a-z0-9+.-]*(:[a-z0-9]+)?(=[A-Za-z0-9.+~:-]+)?")
_UNIT = re.compile(r"[A-Za-z0-9@_.:\\-]+")


class Failed(Exception):
    """A step cannot be done; the text is for people."""


def said(output):
    """The last lines of what a program or journal wrote."""
    lines = [line.rstrip() for line in (output or "").splitlines() if line.strip()]
    return "".join(f"\n{line}" for line in lines[-TAIL:])


def run(argv, **more):
    """Runs a program; its status, output and error output."""
    try:
        return subprocess.run(argv, capture_output=True, text=True, errors="replace", **more)
    except FileNotFoundError:
        raise Failed(f"the program '{argv[0]}' is not installed") from None
    except subprocess.TimeoutExpired:
        raise Failed(f"'{argv[0]}' did not end within {more['timeout']:g} seconds") from None


# -- packages ----------------------------------------------------------------------------------------------------------


def version(name):
    """The version of a package that is installed as a whole, else null."""
    done = run(["dpkg-query", "-W", "-f", "${db:Status-Status} ${Version}", name.partition("=")[0]])
    status, _, number = done.stdout.strip().partition(" ")
    return number if done.returncode == 0 and status == "installed" else None


def apt(*words):
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"}
    options = ["-o", "DPkg::Lock::Timeout=300", "-o", "Dpkg::Options::=--force-confold", "-o", "Dpkg::Use-Pty=0"]
    return run(["apt-get", "-q", "-y", *options, *words], env=environment, stdin=subprocess.DEVNULL)


def packages(step):
    names = step["names"]
    wrong = [name for name in names if not _PACKAGE.fullmatch(name)]
    if wrong:
        raise Failed(f"'{wrong[0]}' is no name of a package")
    before = {name: version(name) for name in names}
    pinned = [name for name in names if "=" in name and before[name] != name.partition("=")[2]]
    wanted = names if step.get("upgrade") else [name for name in names if before[name] is None or name in pinned]
    if wanted:
        print(f"installing {' '.join(wanted)}", flush=True)
        words = ["install", *([] if step.get("recommends") else ["--no-install-recommends"]), "--", *wanted]
        done = None if step.get("upgrade") else apt(*words)  # the image's lists do while the mirror has what they name
        if done is None or done.returncode != 0:
            updated = apt("update")
            done = apt(*words)
            if done.returncode != 0:
                why = said(updated.stderr if updated.returncode else done.stderr or done.stdout)
                raise Failed(f"cannot install {' '.join(wanted)}:{why}")
    after = {name.partition("=")[0]: version(name) for name in names}
    return after != {name.partition("=")[0]: number for name, number in before.items()}, after


# -- files -------------------------------------------------------------------------------------------------------------


def owner_of(step):
    """Numbers of owner and group; the group is the owner's unless it is given."""
    try:
        who = pwd.getpwnam(step.get("owner") or "root")
        group = step.get("group")
        return who.pw_uid, grp.getgrnam(group).gr_gid if group else who.pw_gid
    except KeyError as error:
        raise Failed(f"'{step['path']}' cannot have this owner: {error.args[0]}") from None


def place_of(step):
    path = step["path"]
    if not path.startswith("/") or "\0" in path or ".." in path.split("/"):
        raise Failed(f"'{path}' is no absolute path")
    return path


def file(step):
    path, mode, (uid, gid) = place_of(step), int(step.get("mode") or "0644", 8), owner_of(step)
    data = base64.b64decode(step["base64"]) if "base64" in step else step["text"].encode()
    try:
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK)) as there:
            now = os.fstat(there.fileno())  # links, pipes and devices are replaced without being read
            same = stat.S_ISREG(now.st_mode) and there.read(len(data) + 1) == data
        if same and (stat.S_IMODE(now.st_mode), now.st_uid, now.st_gid) == (mode, uid, gid):
            return False, None
    except IsADirectoryError:
        raise Failed(f"'{path}' is a folder") from None
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ELOOP, errno.ENXIO):
            raise
    os.makedirs(os.path.dirname(path), exist_ok=True)
    handle, new = tempfile.mkstemp(dir=os.path.dirname(path), prefix=".vetro-")
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(data)
            os.fchown(out.fileno(), uid, gid)
            os.fchmod(out.fileno(), mode)
            out.flush()
            os.fsync(out.fileno())
        if step.get("check") and (done := run([*step["check"], new], cwd="/")).returncode != 0:
            why = said(done.stderr or done.stdout).replace(new, path)
            raise Failed(f"'{path}' stays as it is, {step['check'][0]} refuses what is to be in it:{why}")
        tell(step)
        os.rename(new, path)
    except BaseException:
        os.unlink(new)
        raise
    print(f"wrote {path}", flush=True)
    return True, None


def directory(step):
    path, mode, (uid, gid) = place_of(step), int(step.get("mode") or "0755", 8), owner_of(step)
    changed = not os.path.isdir(path)
    os.makedirs(path, exist_ok=True)
    now = os.stat(path)
    if (stat.S_IMODE(now.st_mode), now.st_uid, now.st_gid) != (mode, uid, gid):
        os.chown(path, uid, gid)
        os.chmod(path, mode)
        changed = True
    return changed, None


def absent(step):
    path = place_of(step)
    if not os.path.lexists(path):
        return False, None
    tell(step)
    if os.path.isdir(path) and not os.path.islink(path):
        if os.path.ismount(path):
            raise Failed(f"'{path}' is a file system of its own and stays")
        shutil.rmtree(path)
    else:
        os.unlink(path)
    return True, None


def fetch(step):
    path = place_of(step)
    try:
        with open(path, "rb") as there:
            data = there.read(LARGEST + 1)
    except OSError as error:
        raise Failed(f"'{path}' cannot be read: {error.strerror}") from None
    if len(data) > LARGEST:
        raise Failed(f"'{path}' is too large to be fetched: it has more than {LARGEST >> 20} MiB")
    return False, base64.b64encode(data).decode("ascii")


def archive(step):
    """Unpacks an archive into a folder that then holds nothing else; the same archive is not unpacked again."""
    path, data = place_of(step), base64.b64decode(step["base64"])
    mark = f"{path.rstrip('/')}.vetro-archive"
    digest = hashlib.sha256(data).hexdigest()
    if os.path.isdir(path) and os.path.exists(mark):
        with open(mark, encoding="ascii") as there:
            if there.read() == digest:
                return False, None
    parent = os.path.dirname(path.rstrip("/"))
    os.makedirs(parent, exist_ok=True)
    new = tempfile.mkdtemp(dir=parent, prefix=".vetro-")
    try:
        if zipfile.is_zipfile(io.BytesIO(data)):
            with zipfile.ZipFile(io.BytesIO(data)) as opened:
                _admit(step, [(info.filename, info.file_size) for info in opened.infolist()])
                opened.extractall(new)  # leaves no folder: names are made relative
        else:
            try:
                with tarfile.open(fileobj=io.BytesIO(data)) as opened:
                    members = [one for one in opened.getmembers() if one.isfile() or one.isdir()]
                    _admit(step, [(one.name, one.size) for one in members])
                    opened.extractall(new, members)
            except tarfile.TarError as error:
                raise Failed(f"what is given for '{path}' is neither a zip nor a tar archive: {error}") from None
        uid, gid = owner_of(step)
        entries = os.listdir(new)
        inner = os.path.join(new, entries[0]) if len(entries) == 1 else ""
        top = inner if inner and os.path.isdir(inner) else new  # archives mostly hold one folder with everything
        for at, folders, files in os.walk(new):
            for name in [*folders, *files]:
                os.lchown(os.path.join(at, name), uid, gid)
                os.chmod(os.path.join(at, name), 0o755 if name in folders else 0o644)
        os.chmod(top, 0o755)
        old = tempfile.mkdtemp(dir=parent, prefix=".vetro-") if os.path.isdir(path) else None
        if old:
            os.rename(path, os.path.join(old, "old"))
        os.rename(top, path)
        os.chown(path, uid, gid)
        if old:
            shutil.rmtree(old)
    finally:
        shutil.rmtree(new, ignore_errors=True)
    with open(mark, "w", encoding="ascii") as out:
        out.write(digest)
    return True, None


def _admit(step, entries):
    """Raises for an archive that would leave its folder or fill the disk."""
    most = 64 * LARGEST
    if len(entries) > 20000 or sum(size for _, size in entries) > most:
        raise Failed(f"the archive for '{step['path']}' holds more than 20,000 files or {most >> 20} MiB")
    for name, _ in entries:
        if name.startswith("/") or ".." in name.split("/") or "\0" in name:
            raise Failed(f"the archive for '{step['path']}' holds '{name[:200]}', which would lie outside of it")


# -- data volumes ------------------------------------------------------------------------------------------------------


def volume(step):
    """Mounts a data volume, now and at each start. A block device that holds nothing gets a file system."""
    path, device = place_of(step), step["device"]
    name = os.path.basename(device)
    source = os.path.join(VOLUMES, name)
    line = f"{source} {path} none bind,nofail 0 0"
    changed = False
    if not os.path.isdir(source):
        source = block_device(device)
        if not run(["blkid", "-o", "value", "-s", "TYPE", source]).stdout.strip():
            if (done := run(["mkfs.ext4", "-q", "-m", "0", "-L", name, source])).returncode != 0:
                raise Failed(f"the volume {device} gets no file system:{said(done.stderr)}")
            changed = True
        identity = run(["blkid", "-o", "value", "-s", "UUID", source]).stdout.strip()
        line = f"UUID={identity} {path} ext4 defaults,nofail 0 2"
    with open("/etc/fstab", encoding="utf-8") as file_:
        table = file_.read().splitlines()
    if line not in table:
        others = [one for one in table if one.split()[1:2] != [path]]
        with open("/etc/fstab.vetro", "w", encoding="utf-8") as out:
            out.write("\n".join([*others, line, ""]))
        os.chmod("/etc/fstab.vetro", 0o644)
        os.rename("/etc/fstab.vetro", "/etc/fstab")
        changed = True
    if not os.path.ismount(path) and not bound(path) and os.path.realpath(path) != source:
        if os.path.isdir(path) and os.listdir(path):
            raise Failed(f"'{path}' holds files already, which the volume {device} would hide")
        os.makedirs(path, exist_ok=True)
        if (done := run(["mount", path])).returncode != 0:
            raise Failed(f"the volume {device} cannot be mounted at '{path}':{said(done.stderr)}")
        changed = True
    with contextlib.suppress(OSError):  # programs that want an empty folder refuse it; fsck makes another one
        os.rmdir(os.path.join(path, "lost+found"))
    return changed, None


def block_device(device):
    """The device of a volume, once the kernel has it."""
    end = time.monotonic() + 60
    while not os.path.exists(device):
        if time.monotonic() > end:
            raise Failed(f"the data volume {device} does not appear in this server")
        time.sleep(0.2)
    return device


def bound(path):
    with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as table:
        return any(line.split()[4] == path for line in table)


# -- services ----------------------------------------------------------------------------------------------------------


def notified(service):
    if not _UNIT.fullmatch(service):
        raise Failed(f"'{service}' is no name of a service")
    return os.path.join(NOTIFIED, service)


def notify(service, note=""):
    os.makedirs(NOTIFIED, mode=0o700, exist_ok=True)
    with contextlib.suppress(FileExistsError), open(notified(service), "x" if note else "w", encoding="ascii") as out:
        out.write(note)


def tell(step):
    for note, names in (("", step.get("notify")), ("reload", step.get("reload"))):
        for one in names or ():
            notify(one, note)


def systemctl(*words):
    return run(["systemctl", *words])


def service(step):
    name = step["name"]
    mark, changed = notified(name), False
    pending = os.path.exists(mark)
    reload = step.get("reload") or (pending and os.path.getsize(mark) > 0)
    if pending or systemctl("show", "-p", "NeedDaemonReload", "--value", "--", name).stdout.strip() == "yes":
        systemctl("daemon-reload")
    enabled = systemctl("is-enabled", "--quiet", "--", name).returncode == 0
    if step.get("enabled", True) != enabled:
        verb = "enable" if step.get("enabled", True) else "disable"
        if (done := systemctl(verb, "--quiet", "--", name)).returncode != 0:
            raise Failed(f"the service '{name}' cannot be enabled:{said(done.stderr)}")
        changed = True
    active = systemctl("is-active", "--quiet", "--", name).returncode == 0
    if not step.get("running", True):
        if active and systemctl("stop", "--", name).returncode != 0:
            raise Failed(f"the service '{name}' does not stop")
    elif not active or pending:
        verb = "start" if not active else "reload" if reload else "restart"
        systemctl("reset-failed", "--", name)
        done = systemctl(verb, "--", name)
        end = time.monotonic() + SETTLED
        while done.returncode == 0 and time.monotonic() < end:
            time.sleep(0.1)
            if systemctl("is-active", "--quiet", "--", name).returncode != 0:
                break
        if done.returncode != 0 or systemctl("is-active", "--quiet", "--", name).returncode != 0:
            journal = run(["journalctl", "--no-pager", "-q", "-o", "cat", "-n", str(TAIL), "-u", name])
            raise Failed(f"the service '{name}' does not run; its journal ends with:{said(journal.stdout)}")
        print(f"{verb}ed {name}", flush=True)
        changed = True
    if pending:
        os.unlink(mark)
    return changed or active != step.get("running", True), None


# -- commands and scripts ----------------------------------------------------------------------------------------------


def words_of(step):
    return ["runuser", "-u", step["user"], "--", *step["words"]] if step.get("user") else step["words"]


def command(step):
    if step.get("creates") and os.path.lexists(step["creates"]):
        return False, None
    if step.get("unless") and run(step["unless"], cwd="/").returncode == 0:
        return False, None
    done = run(words_of(step), input=step.get("input") or "", cwd="/", timeout=step.get("timeout"))
    if done.returncode != 0 and not step.get("failing"):
        what = step["words"][0] if step["words"][0] not in ("sh", "bash") else "the command"
        raise Failed(f"{what} ended with status {done.returncode}:{said(done.stderr or done.stdout)}")
    return True, {"exitCode": done.returncode, "stdout": done.stdout, "stderr": done.stderr}


def script(step):
    """A script of a package: its command as an argument, JSON in, JSON out; what it says on stderr goes to people.

    Services are told before it runs, for it may die after the change; where there was none that is taken back."""
    name, before = os.path.basename(step["name"]), os.listdir(NOTIFIED) if os.path.isdir(NOTIFIED) else []
    fresh = [one for one in step.get("notify") or () if one not in before]
    for one in fresh:
        notify(one)
    with tempfile.TemporaryDirectory(prefix="vetro-") as folder:
        os.chmod(folder, 0o755)
        for part, text in [*(step.get("modules") or {}).items(), (name, step["text"])]:
            path = os.path.join(folder, os.path.basename(part))
            with open(path, "w", encoding="utf-8") as out:
                out.write(text)
            os.chmod(path, 0o755)
        step = {**step, "words": [path, *([step["command"]] if step.get("command") else [])]}
        heard = []
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        environment = {**os.environ, "VETRO_NOTIFIED": " ".join(before)}
        with subprocess.Popen(words_of(step), cwd="/", env=environment, **pipes) as child:

            def feed():
                with contextlib.suppress(BrokenPipeError), child.stdin:  # it need not read its input
                    child.stdin.write(json.dumps(step.get("input")).encode())

            def follow():
                for line in child.stderr:
                    heard.append(line.decode("utf-8", "replace"))
                    del heard[:-TAIL]
                    print(heard[-1], end="", flush=True)

            for other in (others := [threading.Thread(target=task, daemon=True) for task in (feed, follow)]):
                other.start()
            output = child.stdout.read().decode("utf-8", "replace")
            status = child.wait()
            for other in others:
                other.join(5)
    if status != 0:
        raise Failed(f"{name} {step.get('command') or ''} ended with status {status}:{said(''.join(heard) or output)}")
    try:
        value = json.loads(output) if output.strip() else None
    except ValueError:
        raise Failed(f"{name} {step.get('command') or ''} wrote something else than JSON:{said(output)}") from None
    answer = value if isinstance(value, dict) else {}
    for one in fresh if not answer.get("changed") else ():
        os.unlink(notified(one))
    for one in answer.get("notify") or ():
        notify(one)
    return bool(answer.get("changed")), value


# -- waiting -----------------------------------------------------------------------------------------------------------


def attempt(step):
    """Null when what is waited for is there, else what is seen instead."""
    try:
        if "url" in step:
            wanted = step.get("expect") or range(200, 400)
            request = urllib.request.Request(step["url"], headers={"User-Agent": "vetro"})
            context = ssl._create_unverified_context()  # asked is whether it answers, not who
            try:
                with urllib.request.urlopen(request, timeout=5, context=context) as answer:
                    status = answer.status
            except urllib.error.HTTPError as error:
                status = error.code
            return None if status in wanted else f"it answers with status {status}"
        if "port" in step:
            with socket.create_connection((step.get("host") or "127.0.0.1", step["port"]), 5):
                return None
        done = run(words_of(step), timeout=30, cwd="/")
        return None if done.returncode == 0 else f"status {done.returncode}{said(done.stderr or done.stdout)}"
    except (OSError, ValueError, Failed) as error:
        return str(error)


def wait(step):
    end = time.monotonic() + (timeout := step.get("timeout") or 60)
    while (seen := attempt(step)) is not None:
        if time.monotonic() > end:
            what = step.get("url") or (f"port {step['port']}" if "port" in step else step["words"][0])
            raise Failed(f"{what} was not ready within {timeout:g} seconds: {seen}")
        time.sleep(min(step.get("every") or 0.5, max(0.05, end - time.monotonic())))
    return False, None


KINDS = {
    step.__name__: step
    for step in (packages, file, directory, absent, fetch, archive, volume, service, command, script, wait)
}


def main():
    """Runs the steps of standard input; the exit status."""
    here, answer = os.path.dirname(os.path.abspath(__file__)), {"changed": [], "values": []}
    for number, step in enumerate(json.load(sys.stdin)["steps"]):
        try:
            changed, value = KINDS[step["do"]](step)
        except (Failed, OSError) as error:
            print(error, file=sys.stderr)
            return 1
        answer["changed"] += [number] if changed else []
        answer["values"].append(value)
    with open(os.path.join(here, "answer.json"), "w", encoding="utf-8") as out:
        json.dump(answer, out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
