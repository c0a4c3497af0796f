#!/usr/bin/python3 -I
"""What is done at a running RabbitMQ: through its HTTP interface on this server, and its own programs as its own user.

The commands are the functions that take ``given``. ``admin`` of the input is the login of Vetro, which works on the
servers themselves only; ``node`` is what RabbitMQ calls this server.
"""

import base64
import hashlib
import http.client
import json
import os
import re
import subprocess
import sys
import time
import urllib.parse

PORT = 15672
#: Seconds until a node has to answer, and until its queues have caught up.
PATIENCE = 120
PROGRAMS = "/usr/lib/rabbitmq/bin"
HOME = "/var/lib/rabbitmq"
ALL = {"configure": ".*", "write": ".*", "read": ".*"}
READ = {"configure": "", "write": "", "read": ".*"}
#: What is in a backup. Who may use it is not: whoever was removed does not come back, and passwords are those of now.
SAVED = ("exchanges", "queues", "bindings", "policies", "parameters")
FORMAT = "vetro-rabbitmq-1"
_NAME = re.compile(r"[a-z][a-z0-9_]{0,40}")
#: What neither applications nor people are called: Vetro, RabbitMQ itself, and logins of applications are.
_TAKEN = re.compile(r"vetro_.*|guest|.*_[ab]")
_NODE = re.compile(r"rabbit@[a-z][a-z0-9-]{0,60}")


class Failed(Exception):
    """RabbitMQ refused a request, or one of its programs ended with an error."""


class Api:
    """The HTTP interface of this server's RabbitMQ."""

    def __init__(self, admin):
        pair = f"{admin['user']}:{admin['password']}".encode()
        self._headers = {
            "Authorization": "Basic " + base64.b64encode(pair).decode(),
            "Content-Type": "application/json",
        }

    def ask(self, verb, *path, query="", body=None, missing=False):
        """What it answers; null for nothing. Raises `Failed`, unless it says that there is none and that may be."""
        target = "/api/" + "/".join(urllib.parse.quote(part, safe="") for part in path) + query
        connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=60)
        try:
            connection.request(verb, target, None if body is None else json.dumps(body), self._headers)
            answer = connection.getresponse()
            text = answer.read().decode("utf-8", "replace")
        except (OSError, http.client.HTTPException) as error:
            raise Failed(f"it does not answer at port {PORT}: {error}") from None
        finally:
            connection.close()
        if answer.status == 404 and missing:
            return None
        if answer.status >= 300:
            raise Failed(f"{verb} {'/'.join(path)} has the status {answer.status}, {text.strip()[-500:]}")
        return json.loads(text) if text.strip() else None

    def ready(self):
        """Waits until it answers: a node that starts waits for the others, which may have what it lacks."""
        end = time.monotonic() + PATIENCE
        while True:
            try:
                return self.ask("GET", "overview")
            except Failed:
                if time.monotonic() > end:
                    raise
                time.sleep(0.5)


def program(name, *words):
    """Runs one of RabbitMQ's programs as the user that owns what they touch."""
    environment = {"HOME": HOME, "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"}
    done = subprocess.run(
        [os.path.join(PROGRAMS, name), "--quiet", *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        cwd=HOME,
        env=environment,
        user="rabbitmq",
        group="rabbitmq",
        extra_groups=[],
    )
    if done.returncode != 0:
        raise Failed(
            f"{name} {words[0]} ended with status {done.returncode}, {(done.stderr or done.stdout).strip()[-500:]}"
        )


def named(name):
    """A name of a virtual host that is an application's. Raises `SystemExit` for another one."""
    if not _NAME.fullmatch(name) or _TAKEN.fullmatch(name):
        raise SystemExit(f"no virtual host can be called '{name}'")
    return name


def node(name):
    """A name of a node. Raises `SystemExit` for what is none."""
    if not _NODE.fullmatch(name):
        raise SystemExit(f"'{name}' is no name of a node")
    return name


# -- the cluster -------------------------------------------------------------------------------------------------------


def quorum(api):
    """The queues that several nodes have: what each says of its members, or nothing while it does not say."""
    found = api.ask("GET", "queues", query="?columns=name,vhost,type,members,online")
    return [one for one in found if one.get("type") == "quorum" and "members" in one]


def member(given):
    """The node is in the cluster of the first one, and has all that queues hold which the cluster had by then."""
    api, mine = Api(given["admin"]), node(given["node"])
    api.ready()
    if given["first"] not in {one["name"] for one in api.ask("GET", "nodes", query="?columns=name")}:
        raise SystemExit(f"{mine} is in a cluster of its own, without {given['first']}")
    there = quorum(api)  # a client that declares queues all the time keeps nobody waiting
    changed = any(mine not in one["members"] for one in there)
    if changed:
        program("rabbitmq-queues", "grow", mine, "all")
    known, end = {(one["vhost"], one["name"]) for one in there}, time.monotonic() + PATIENCE
    while late := [
        one
        for one in quorum(api)
        if (one["vhost"], one["name"]) in known
        and (mine not in one["members"] or mine not in one.get("online", [mine]))
    ]:
        if time.monotonic() > end:
            names = ", ".join(sorted(one["name"] for one in late)[:5])
            raise SystemExit(f"{mine} does not have all queues of the cluster yet: {names}")
        time.sleep(1)
    return {"changed": changed}


def running(api):
    """The nodes of the cluster by name, and whether each runs."""
    return {one["name"]: bool(one.get("running")) for one in api.ask("GET", "nodes", query="?columns=name,running")}


def alone(api, gone):
    """Ends with an error where only nodes that are about to leave have a queue: messages of a classic one, or all
    members of one that several nodes have. Nodes that do not run have nothing that anybody could take before."""
    up = {name for name, runs in running(api).items() if runs}.intersection(gone)
    only = []
    for one in api.ask("GET", "queues", query="?columns=name,vhost,type,node,messages,members"):
        if one.get("type") in ("quorum", "stream"):
            members = {*(one.get("members") or [one.get("node")])}
            lost = members <= {*gone} and members & up
        else:
            lost = one.get("node") in up and one.get("messages")
        only += [f"{one['name']} of {one['vhost']}"] if lost else []
    if only:
        names, nodes = ", ".join(sorted(only)[:5]), ", ".join(sorted(up))
        raise SystemExit(f"nobody but {nodes} has the messages of the queues {names}: take them first, nobody leaves")


def leaving(given):
    """Whether nodes may leave, all of these: it is asked before the first one does. Ends with an error where not."""
    api = Api(given["admin"])
    api.ready()
    alone(api, [node(name) for name in given["gone"]])
    return {"changed": False}


def forget(given):
    """Another node leaves the cluster. It stays while it has messages that no other one has, such as those that came
    after `leaving`: it is looked at once more when queues that several nodes have are no longer on it."""
    api, gone = Api(given["admin"]), node(given["gone"])
    api.ready()
    there = running(api)
    if gone not in there:
        return {"changed": False}
    alone(api, [gone])
    program("rabbitmq-queues", "shrink", gone)
    alone(api, [gone])
    if there[gone]:
        program("rabbitmqctl", "stop_app", "--node", gone)
    program("rabbitmqctl", "forget_cluster_node", gone)
    return {"changed": True}


def spare(given):
    """Waits until no queue loses its majority when this node stops; not where there is one node only."""
    api = Api(given["admin"])
    api.ready()
    end = time.monotonic() + PATIENCE
    while len(api.ask("GET", "nodes", query="?columns=name")) > 1:
        try:
            api.ask("GET", "health", "checks", "node-is-quorum-critical")
            break
        except Failed as error:
            if time.monotonic() > end:
                raise SystemExit(f"queues would stop with {given['node']}: {error}") from None
            time.sleep(1)
    return {"changed": False}


# -- virtual hosts and users -------------------------------------------------------------------------------------------


def same(password, digest):
    """Whether RabbitMQ's digest, a salt and a SHA-256, is that of a password."""
    raw = base64.b64decode(digest or "")
    return raw[4:] == hashlib.sha256(raw[:4] + password.encode()).digest()


def account(api, login, tags):
    """A user is there with its password; whether anything changed."""
    found = api.ask("GET", "users", login["user"], missing=True)
    if found and same(login["password"], found["password_hash"]) and found["tags"] == tags:
        return False
    body = {"password": login["password"], "tags": ",".join(tags)}
    api.ask("PUT", "users", login["user"], body=body)
    return True


def permit(api, user, host, rights):
    """A user may do this in a virtual host; whether anything changed."""
    found = api.ask("GET", "permissions", host, user, missing=True) or {}
    if {key: found.get(key) for key in rights} == rights:
        return False
    api.ask("PUT", "permissions", host, user, body=rights)
    return True


def hosts(api):
    """Names of virtual hosts."""
    return {one["name"] for one in api.ask("GET", "vhosts", query="?columns=name")}


def make(name):
    """A virtual host whose queues are quorum queues, unless who declares one says otherwise."""
    program("rabbitmqctl", "add_vhost", name, "--default-queue-type", "quorum")


def logins_of(name):
    """The names that logins of the owner of a virtual host may have."""
    return {name, f"{name}_a", f"{name}_b"}


def owners(api, name):
    """Users by which an application has its virtual host. Who has a tag is a person."""
    found = api.ask("GET", "users", query="?columns=name,tags")
    return {one["name"] for one in found if one["name"] in logins_of(name) and not one["tags"]}


def host(given):
    """A virtual host is there, and belongs to these logins and no other ones that it had."""
    api, name, logins = Api(given["admin"]), named(given["name"]), given["logins"]
    if wrong := sorted({login["user"] for login in logins} - logins_of(name)):
        raise SystemExit(f"'{wrong[0]}' is no login of the virtual host '{name}'")
    there = {one["name"] for one in api.ask("GET", "users", query="?columns=name")}
    if people := sorted(there & logins_of(name) - owners(api, name)):
        raise SystemExit(f"there is a person '{people[0]}', who would get the virtual host '{name}': nothing changed")
    changed = name not in hosts(api)
    if changed:
        make(name)
    for login in logins:
        changed = account(api, login, []) or changed
        changed = permit(api, login["user"], name, ALL) or changed
    for user in owners(api, name) - {login["user"] for login in logins}:
        api.ask("DELETE", "users", user)  # that ends its connections
        changed = True
    return {"changed": changed}


def drop(given):
    """A virtual host goes with all that is in it, and its logins."""
    api, name = Api(given["admin"]), named(given["name"])
    api.ask("DELETE", "vhosts", name, missing=True)
    for user in owners(api, name):
        api.ask("DELETE", "users", user)
    return {"changed": True}


def users(given):
    """The people: [{user, virtualHosts, writes}]. Logins of applications and of Vetro are none."""
    api, found = Api(given["admin"]), {}
    for one in api.ask("GET", "users"):
        if one["name"] != given["admin"]["user"] and one["name"] not in given["applications"]:
            found[one["name"]] = {"user": one["name"], "virtualHosts": [], "writes": False}
    for one in api.ask("GET", "permissions"):
        if row := found.get(one["user"]):
            row["virtualHosts"] = sorted([*row["virtualHosts"], one["vhost"]])
            row["writes"] = row["writes"] or bool(one["write"])
    return [found[name] for name in sorted(found)]


def grant(given):
    """A person may use a virtual host."""
    api, user = Api(given["admin"]), given["login"]["user"]
    there = hosts(api)
    if not _NAME.fullmatch(user) or _TAKEN.fullmatch(user) or user in {given["admin"]["user"], *there}:
        raise SystemExit(f"nobody can be called '{user}'")
    if given["host"] not in there:
        raise SystemExit(f"there is no virtual host '{given['host']}', only {', '.join(sorted(there)) or 'none'}")
    account(api, given["login"], ["management"])
    permit(api, user, given["host"], ALL if given["writes"] else READ)
    return {"changed": True}


def revoke(given):
    """A person may use nothing any more."""
    if given["user"] not in {one["user"] for one in users(given)}:
        raise SystemExit(f"there is no user '{given['user']}'")
    Api(given["admin"]).ask("DELETE", "users", given["user"])
    return {"changed": True}


# -- backups -----------------------------------------------------------------------------------------------------------


def save(given):
    """Writes what clients declared to a file, which nobody else reads: no messages, no users, and no rights of them."""
    os.umask(0o077)
    api = Api(given["admin"])
    now = api.ask("GET", "definitions")
    saved = {key: now.get(key, []) for key in SAVED}
    names = sorted(hosts(api))
    with open(given["path"], "w", encoding="utf-8") as out:
        json.dump({"format": FORMAT, "hosts": names, "definitions": saved}, out, sort_keys=True)
    return {"changed": True, "queues": len(saved["queues"]), "hosts": names}


def restore(given):
    """What is in the file of virtual hosts of applications, ``accounts``, is there again, and belongs to their logins.
    What was declared later stays, and so do all messages. ``left`` are virtual hosts that are no application's now."""
    try:
        with open(given["path"], encoding="utf-8") as file:
            saved = json.load(file)
        whole = saved["format"] == FORMAT
    except (ValueError, KeyError, TypeError):
        whole = False
    if not whole:
        raise SystemExit("the file is no whole backup of RabbitMQ")
    wanted = {one["name"]: one for one in given["accounts"] if one["name"] in saved["hosts"]}
    for one in wanted.values():
        host({**given, **one})
    found = saved["definitions"]
    body = {key: [row for row in found.get(key, []) if row.get("vhost") in wanted] for key in SAVED}
    Api(given["admin"]).ask("POST", "definitions", body=body)
    left = sorted({*saved["hosts"]} - {*wanted, "/"})
    if left:
        print(f"not restored, for they are no application's: the virtual hosts {', '.join(left)}", file=sys.stderr)
    return {"changed": True, "queues": len(body["queues"]), "hosts": sorted(wanted), "left": left}


# -- how it is ---------------------------------------------------------------------------------------------------------


def status(given):
    """Version, members of the cluster, those of them that do not run, alarms, queues, messages, connections."""
    api = Api(given["admin"])
    seen = api.ask("GET", "overview")
    nodes = {one["name"]: one for one in api.ask("GET", "nodes")}
    mine = nodes.get(given["node"], {})
    alarms = {"memory": mine.get("mem_alarm"), "disk": mine.get("disk_free_alarm"), "partition": mine.get("partitions")}
    totals = seen.get("object_totals", {})
    return {
        "version": seen["rabbitmq_version"],
        "members": sorted(nodes),
        "away": sorted(name for name, one in nodes.items() if not one.get("running")),
        "alarms": [name for name, on in alarms.items() if on],
        "memory": mine.get("mem_used"),
        "queues": totals.get("queues", 0),
        "connections": totals.get("connections", 0),
        "messages": seen.get("queue_totals", {}).get("messages", 0),
    }


if __name__ == "__main__":
    COMMANDS = (member, leaving, forget, spare, host, drop, users, grant, revoke, save, restore, status)
    try:
        json.dump({one.__name__: one for one in COMMANDS}[sys.argv[1]](json.load(sys.stdin)), sys.stdout)
    except Failed as error:
        sys.exit(f"RabbitMQ says: {error}")
