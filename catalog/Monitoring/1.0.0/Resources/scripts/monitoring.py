#!/usr/bin/python3 -I
"""What is done at the server of the monitoring: its configuration, and what it is asked.

``prepare``, ``login`` and ``configure`` write, ``settle`` has Prometheus take it up, ``status`` asks.
Configurations are made as data and written as JSON, which Prometheus reads as YAML. A new one is looked at by promtool
before it takes the place of the old one.
"""

import grp
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # Debian 12 has it
    import crypt

#: Configurations, each in a folder named by what is in it; 'live' leads to the one that is used.
FOLDER = "/etc/vetro-monitoring"
LIVE = f"{FOLDER}/live"
LOGINS = "/etc/nginx/vetro-monitoring.users"
USER = "prometheus"
PROMETHEUS = "http://127.0.0.1:9090"
#: Of each service where it is asked and what its own metrics begin with.
SERVICES = {"prometheus": (PROMETHEUS, "prometheus")}
#: Where services have the words with which they are started.
DEFAULTS = "/etc/default"
#: What services are started with until they have a configuration of ours: they are for this server only.
FIRST = {
    "prometheus": "--web.listen-address=127.0.0.1:9090",
    "prometheus-node-exporter": "--web.listen-address=127.0.0.1:9100",
}
#: Seconds until a service has to have taken up its configuration; it reads what it has stored before.
PATIENCE = 120
#: What Prometheus takes of one place at a time. Of a place that has more it takes nothing, and says so.
LIMITS = {
    "body_size_limit": "64MB",
    "sample_limit": 50000,
    "label_limit": 64,
    "label_name_length_limit": 256,
    "label_value_length_limit": 4096,
}
_HOST = re.compile(r"[A-Za-z0-9:]([A-Za-z0-9.:_-]{0,251}[A-Za-z0-9:])?")
_PATH = re.compile(r"/[A-Za-z0-9._~/-]{0,200}")


class Refused(Exception):
    """A service refuses, or something given is not what it should be; the text is for people."""


def ask(url):
    """What a service answers, as JSON. Raises `Refused` with its reason."""
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            text = answer.read().decode("utf-8", "replace")
    except urllib.error.HTTPError as error:
        raise Refused(f"status {error.code}: {error.read(500).decode('utf-8', 'replace').strip()}") from None
    return json.loads(text)


# -- configuration -----------------------------------------------------------------------------------------------------


def place(where):
    """HOST:PORT of something that is measured."""
    host, port = where.get("host"), where.get("port")
    if not isinstance(host, str) or not _HOST.fullmatch(host) or type(port) is not int or not 0 < port < 65536:
        raise Refused(f"it has metrics at {host!r}, port {port!r}: that is no place")
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def job(name, where):
    """How an application is measured."""
    found = []
    for one in where:
        path = one.get("path") or "/metrics"
        if not _PATH.fullmatch(path):
            raise Refused(f"it has metrics at the path {path!r}: that is none")
        found.append({"targets": [place(one)], "labels": {"__metrics_path__": path}})
    return {"job_name": name, "follow_redirects": False, **LIMITS, "static_configs": found}


def prometheus(given, names):
    """The configuration of Prometheus."""
    own = [("127.0.0.1", 9090), ("127.0.0.1", 9100)]
    jobs = [job("monitoring", [{"host": host, "port": port} for host, port in own])]
    for name, one in zip(names, given["applications"]):
        try:
            jobs += [job(name, one["metrics"])] if one["metrics"] else []
        except Refused as error:
            raise Refused(f"{name}: {error}") from None
    return {
        "global": {"scrape_interval": f"{given['interval']}s", "evaluation_interval": f"{given['interval']}s"},
        "rule_files": ["rules/*.yaml"],
        "scrape_configs": jobs,
    }


def unique(applications):
    """A name for each application: its own, with its id where others are called the same. No two have the same one,
    also where somebody is called like another one with its id."""
    names = [one["name"] if one["name"].isprintable() else one["id"] for one in applications]
    taken = {name for name in names if name != "monitoring" and names.count(name) == 1}
    found = []
    for name, one in zip(names, applications):
        if name == "monitoring" or names.count(name) > 1:
            name = f"{name}-{one['id']}"
            while name in taken:
                name += f"-{one['id']}"
            taken.add(name)
        found.append(name)
    return found


def look(words):
    """Has a program look at a configuration. Raises `Refused` with what it says."""
    done = subprocess.run(words, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode != 0:
        lines = (done.stderr + done.stdout).replace(os.path.dirname(words[-1]) + "/", "").splitlines()
        said = [line.strip() for line in lines if "rror" in line or "FAILED: " in line]
        raise Refused("\n".join(said[-4:]) or f"status {done.returncode}")


def store(path, text):
    """Writes a file that root changes and the services read."""
    with open(path, "wb") as out:
        out.write(text.encode("utf-8", "replace"))
        os.fchown(out.fileno(), 0, grp.getgrnam(USER).gr_gid)
        os.fchmod(out.fileno(), 0o640)


def fill(folder, texts):
    """Writes the files of a configuration."""
    for at in (folder, os.path.join(folder, "rules")):
        os.makedirs(at, exist_ok=True)
        shutil.chown(at, "root", USER)
        os.chmod(at, 0o750)
    for name, text in texts.items():
        store(os.path.join(folder, name), text)


def same(folder, texts):
    """Whether a folder has these files, byte by byte, and no other."""
    found = {}
    for at, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(at, name)
            with open(path, "rb") as file:
                found[os.path.relpath(path, folder)] = file.read()
    return found == {name: text.encode("utf-8", "replace") for name, text in texts.items()}


def configure(given):
    """The configuration is what is wanted, and sound; where it is not sound, the old one stays."""
    names, rules = unique(given["applications"]), {}
    for name, text in [("monitoring", given["rules"]), *zip(names, (one["rules"] for one in given["applications"]))]:
        if text:
            # The same rules of two applications are written once: they look at whatever is measured.
            rules.setdefault(
                f"rules/{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:24]}.yaml", (name, text)
            )
    texts = {name: text for name, (_, text) in rules.items()}
    texts["prometheus.json"] = json.dumps(prometheus(given, names), indent=1, ensure_ascii=False)
    name = hashlib.sha256(json.dumps(texts, sort_keys=True).encode()).hexdigest()[:24]
    folder = os.path.join(FOLDER, name)
    if os.path.islink(LIVE) and os.readlink(LIVE) == name and same(folder, texts):
        return {"changed": False}
    os.makedirs(FOLDER, exist_ok=True)
    os.chmod(FOLDER, 0o755)
    new = tempfile.mkdtemp(dir=FOLDER, prefix=".new-")
    try:
        fill(new, texts)
        for file, (whose, _) in rules.items():
            try:
                look(["promtool", "check", "rules", os.path.join(new, file)])
            except Refused as error:
                raise Refused(f"the alert rules of {whose} are not taken: {error}") from None
        look(["promtool", "check", "config", os.path.join(new, "prometheus.json")])
        if os.path.isdir(folder):
            shutil.rmtree(folder)
        os.rename(new, folder)
    finally:
        shutil.rmtree(new, ignore_errors=True)
    link = os.path.join(FOLDER, ".link")
    if os.path.lexists(link):
        os.unlink(link)
    os.symlink(name, link)
    os.rename(link, LIVE)
    for other in os.listdir(FOLDER):
        if other not in ("live", name):
            shutil.rmtree(os.path.join(FOLDER, other), ignore_errors=True)
    return {"changed": True}


def prepare(given):
    """Packages that are about to be installed start their services for this server only."""
    missing = [name for name in FIRST if not os.path.exists(f"{DEFAULTS}/{name}")]
    for name in missing:
        # As a whole or not at all: with half a line the service would listen to everybody, and be left so.
        new = f"{DEFAULTS}/.{name}.vetro"
        with open(new, "w", encoding="ascii") as out:
            out.write(f'ARGS="{FIRST[name]}"\n')
            os.fchmod(out.fileno(), 0o644)
            out.flush()
            os.fsync(out.fileno())
        os.rename(new, f"{DEFAULTS}/{name}")
    return {"changed": bool(missing)}


def login(given):
    """The password of the page is this one."""
    try:
        with open(LOGINS, encoding="ascii") as file:
            there = file.read().strip().partition("admin:")[2]
    except FileNotFoundError:
        there = ""
    if there and crypt.crypt(given["password"], there) == there:
        return {"changed": False}
    new = f"{LOGINS}.new"
    with open(new, "w", encoding="ascii") as out:
        out.write(f"admin:{crypt.crypt(given['password'], crypt.mksalt(crypt.METHOD_SHA512))}\n")
        os.fchown(out.fileno(), 0, grp.getgrnam("www-data").gr_gid)
        os.fchmod(out.fileno(), 0o640)
    os.rename(new, LOGINS)
    return {"changed": True}


def taken(url, kind):
    """When a service last took up its configuration, and whether it has refused one since."""
    with urllib.request.urlopen(f"{url}/metrics", timeout=10) as answer:
        rows = (line.decode("utf-8", "replace").split() for line in answer)
        found = {row[0]: float(row[1]) for row in rows if len(row) == 2 and row[0].startswith(f"{kind}_config_last")}
    good = found.get(f"{kind}_config_last_reload_successful") == 1
    return found.get(f"{kind}_config_last_reload_success_timestamp_seconds", 0), good


def settle(given):
    """Prometheus uses the configuration that is there. With an older one it is asked to read it."""
    changed, since = False, os.lstat(LIVE).st_mtime
    for service, (url, kind) in SERVICES.items():
        end, asked = time.monotonic() + PATIENCE, False
        while True:
            try:
                when, good = taken(url, kind)
                if when >= since and good:
                    break
                if not asked:
                    subprocess.run(["systemctl", "reload", "--", service], check=True)
                    asked = changed = True
                seen = "it does not take it"
            except (OSError, ValueError, subprocess.CalledProcessError) as error:
                seen = str(error)
            if time.monotonic() > end:
                raise Refused(f"{service} does not use its configuration: {seen}")
            time.sleep(0.2)
    return {"changed": changed}


# -- what it is asked --------------------------------------------------------------------------------------------------


def status(given):
    """What is measured and whether it answers, and the version."""
    seen = ask(f"{PROMETHEUS}/api/v1/targets?state=active")["data"]["activeTargets"]
    return {
        "version": ask(f"{PROMETHEUS}/api/v1/status/buildinfo")["data"]["version"],
        "targets": [
            {
                "application": one["labels"]["job"],
                "instance": one["labels"]["instance"],
                "state": one["health"],
                "error": one["lastError"],
            }
            for one in seen
        ],
    }


if __name__ == "__main__":
    os.umask(0o077)
    commands = (prepare, login, configure, settle, status)
    try:
        json.dump({one.__name__: one for one in commands}[sys.argv[1]](json.load(sys.stdin)), sys.stdout)
    except (OSError, Refused) as error:
        sys.exit(f"Monitoring: {error}")
