#!/usr/bin/python3 -I
"""What is done at the server of the monitoring: its configuration, backups, and what it is asked.

``prepare``, ``login`` and ``configure`` write, ``settle`` has the services take it up; ``save`` and ``restore`` are
backups; ``status``, ``alerts``, ``silence``, ``silences`` and ``resume`` ask. Configurations are made as data and
written as JSON, which both read as YAML. promtool and amtool look at a new one before it takes the place of the old.
"""

import datetime
import grp
import hashlib
import json
import os
import pwd
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # Debian 12 has it
    import crypt

#: Configurations, each in a folder named by what is in it; 'live' leads to the one that is used.
FOLDER = "/etc/vetro-monitoring"
LIVE = f"{FOLDER}/live"
LOGINS = "/etc/nginx/vetro-monitoring.users"
DATA = "/var/lib/vetro-monitoring"
USER = "prometheus"
PROMETHEUS, ALERTMANAGER = "http://127.0.0.1:9090", "http://127.0.0.1:9093"
#: Of each service where it is asked and what its own metrics begin with.
SERVICES = {"prometheus": (PROMETHEUS, "prometheus"), "prometheus-alertmanager": (ALERTMANAGER, "alertmanager")}
#: Where services have the words with which they are started.
DEFAULTS = "/etc/default"
#: What services are started with until they have a configuration of ours: they are for this server only.
FIRST = {
    "prometheus": "--web.listen-address=127.0.0.1:9090",
    "prometheus-alertmanager": "--web.listen-address=127.0.0.1:9093 --cluster.listen-address=",
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
_SNAPSHOT = re.compile(r"[0-9]{8}T[0-9]{6}Z-[0-9a-f]{1,32}")


class Refused(Exception):
    """A service refuses, or something given is not what it should be; the text is for people."""


def ask(url, data=None, method=None, timeout=60):
    """What a service answers, as JSON. Raises `Refused` with its reason."""
    body = None if data is None else json.dumps(data).encode()
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            text = answer.read().decode("utf-8", "replace")
    except urllib.error.HTTPError as error:
        raise Refused(f"status {error.code}: {error.read(500).decode('utf-8', 'replace').strip()}") from None
    return json.loads(text) if text.strip() else None


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
    own = [("127.0.0.1", 9090), ("127.0.0.1", 9093), ("127.0.0.1", 9100)]
    jobs = [job("monitoring", [{"host": host, "port": port} for host, port in own])]
    for name, one in zip(names, given["applications"]):
        try:
            jobs += [job(name, one["metrics"])] if one["metrics"] else []
        except Refused as error:
            raise Refused(f"{name}: {error}") from None
    return {
        "global": {"scrape_interval": f"{given['interval']}s", "evaluation_interval": f"{given['interval']}s"},
        "rule_files": ["rules/*.yaml"],
        "alerting": {"alertmanagers": [{"static_configs": [{"targets": ["127.0.0.1:9093"]}]}]},
        "scrape_configs": jobs,
    }


def alertmanager(given):
    """The configuration of Alertmanager: who is told of alerts."""
    # Whoever gets alerts leads Alertmanager to nobody else, such as what is for its own server only.
    about = {"send_resolved": True, "http_config": {"follow_redirects": False}}
    told = [{"url": given["webhook"], **about}] if given["webhook"] else []
    route = {"receiver": "people", "group_by": ["alertname", "job"], "group_wait": "10s", "group_interval": "1m"}
    return {
        "route": {**route, "repeat_interval": "4h"},
        "receivers": [{"name": "people", "webhook_configs": told}],
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


def look(words, secret):
    """Has a program look at a configuration. Raises `Refused` with what it says, without the secret."""
    done = subprocess.run(words, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode != 0:
        lines = (done.stderr + done.stdout).replace(os.path.dirname(words[-1]) + "/", "").splitlines()
        said = [line.strip() for line in lines if "rror" in line or "FAILED: " in line]
        text = "\n".join(said[-4:]) or f"status {done.returncode}"
        raise Refused(text.replace(secret, "...") if secret else text)


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
    texts["alertmanager.json"] = json.dumps(alertmanager(given), indent=1, ensure_ascii=False)
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
                look(["promtool", "check", "rules", os.path.join(new, file)], None)
            except Refused as error:
                raise Refused(f"the alert rules of {whose} are not taken: {error}") from None
        look(["promtool", "check", "config", os.path.join(new, "prometheus.json")], None)
        look(["amtool", "check-config", os.path.join(new, "alertmanager.json")], given["webhook"])
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
    tidied = tidy()
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
    return {"changed": tidied or bool(missing)}


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
    """Both services use the configuration that is there. Those that have an older one are asked to read it."""
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


# -- backups -----------------------------------------------------------------------------------------------------------


def ordinary(words, **more):
    """Runs a program as the user of Prometheus, who owns what was measured. Raises `Refused` where it fails."""
    who = pwd.getpwnam(USER)
    user = {"user": who.pw_uid, "group": who.pw_gid, "extra_groups": [], "umask": 0o077}
    done = subprocess.run(words, stderr=subprocess.PIPE, cwd="/", env={"PATH": "/usr/bin:/bin"}, **user, **more)
    if done.returncode != 0:
        raise Refused(f"{words[0]}: {done.stderr.decode('utf-8', 'replace').strip()[-500:]}")


def clear(folder):
    """A folder of measurements is empty; its owner removes what is in it."""
    if os.path.isdir(folder):
        ordinary(["find", folder, "-mindepth", "1", "-delete"])


def empty(folder):
    """A folder of measurements goes."""
    if os.path.isdir(folder):
        clear(folder)
        os.rmdir(folder)


def tidy():
    """What a restore that was killed left behind goes, and measurements that it had put aside are back in their place;
    whether there was anything. It comes before anything else: an empty folder would take that place."""
    old, new, live = (f"{DATA}/metrics{end}" for end in (".old", ".new", ""))
    left = [folder for folder in (old, new) if os.path.isdir(folder)]
    if os.path.isdir(old) and not os.path.isdir(live):
        os.rename(old, live)
    empty(old)
    empty(new)
    return bool(left)


def save(given):
    """Writes all that was measured until now to a file. Snapshots are made for this only, so none stays."""
    snapshots = f"{DATA}/metrics/snapshots"
    clear(snapshots)
    handle = os.open(given["path"], os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        made = ask(f"{PROMETHEUS}/api/v1/admin/tsdb/snapshot", method="POST", timeout=600)["data"]["name"]
        if not _SNAPSHOT.fullmatch(made):
            raise Refused("Prometheus calls its snapshot otherwise than it should")
        ordinary(["tar", "-C", f"{snapshots}/{made}", "-cf", "-", "."], stdout=handle)
    finally:
        os.close(handle)
        clear(snapshots)
    return {"changed": True}


def restore(given):
    """Brings back what was measured. What is there stays until the file has been read as a whole."""
    old, new, live = (f"{DATA}/metrics{end}" for end in (".old", ".new", ""))
    who = pwd.getpwnam(USER)
    tidy()
    os.mkdir(new, 0o700)
    os.chown(new, who.pw_uid, who.pw_gid)
    with open(given["path"], "rb") as file:
        ordinary(["tar", "-C", new, "--no-same-owner", "-xf", "-"], stdin=file)
    subprocess.run(["systemctl", "stop", "prometheus"], check=True)
    try:
        if os.path.isdir(live):
            os.rename(live, old)
        os.rename(new, live)
        os.chmod(live, 0o750)
    finally:
        subprocess.run(["systemctl", "start", "prometheus"], check=True)
    empty(old)
    settle(given)
    return {"changed": True}


# -- what it is asked --------------------------------------------------------------------------------------------------


def status(given):
    """What is measured and whether it answers, the alerts, and the version."""
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
        "alerts": alerts(given),
    }


def alerts(given):
    """The alerts that there are, the gravest first."""
    found = [
        {
            "alert": one["labels"].get("alertname", ""),
            "severity": one["labels"].get("severity", ""),
            "application": one["labels"].get("job", ""),
            "instance": one["labels"].get("instance", ""),
            "text": one["annotations"].get("summary", ""),
            "since": one["startsAt"],
            "silenced": bool(one["status"]["silencedBy"]),
        }
        for one in ask(f"{ALERTMANAGER}/api/v2/alerts")
    ]
    return sorted(found, key=lambda one: (one["severity"] != "critical", one["alert"], one["instance"]))


def silence(given):
    """Nobody is told of alerts with this name, of this application or instance, for some hours."""
    wanted = {"alertname": given["alert"], "job": given["application"], "instance": given["instance"]}
    matchers = [
        {"name": name, "value": value, "isRegex": False, "isEqual": True} for name, value in wanted.items() if value
    ]
    if not matchers:
        raise Refused("say of which alert, application or instance")
    now = datetime.datetime.now(datetime.UTC)
    until = (now + datetime.timedelta(hours=given["hours"])).isoformat()
    body = {"matchers": matchers, "startsAt": now.isoformat(), "endsAt": until}
    made = ask(f"{ALERTMANAGER}/api/v2/silences", {**body, "createdBy": "Vetro", "comment": given["comment"]})
    return {"id": made["silenceID"], "until": until}


def silences(given):
    """The silences that have not ended."""
    return [
        {
            "id": one["id"],
            "until": one["endsAt"],
            "comment": one["comment"],
            **{name: next((m["value"] for m in one["matchers"] if m["name"] == label), "") for name, label in _NAMES},
        }
        for one in ask(f"{ALERTMANAGER}/api/v2/silences")
        if one["status"]["state"] != "expired"
    ]


_NAMES = (("alert", "alertname"), ("application", "job"), ("instance", "instance"))


def resume(given):
    """A silence ends."""
    ask(f"{ALERTMANAGER}/api/v2/silence/{urllib.parse.quote(given['id'], safe='')}", method="DELETE")
    return {"changed": True}


if __name__ == "__main__":
    os.umask(0o077)
    commands = (prepare, login, configure, settle, save, restore, status, alerts, silence, silences, resume)
    try:
        json.dump({one.__name__: one for one in commands}[sys.argv[1]](json.load(sys.stdin)), sys.stdout)
    except (OSError, Refused) as error:
        sys.exit(f"Monitoring: {error}")
