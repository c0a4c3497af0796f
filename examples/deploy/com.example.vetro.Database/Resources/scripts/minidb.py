"""A database server: SQL over HTTP, one SQLite file a database.

POST /query {"database", "sql", "args"} -> {"rows": [[...], ...]}, POST /drop {"database"}, GET /dump, GET /alive.
All but /alive want the header X-Token. Usage: minidb.py CONFIGURATION
"""

import hmac
import http.server
import json
import os
import re
import socketserver
import sqlite3
import sys
import threading

NAME = re.compile(r"[a-z][a-z0-9_]*\Z")
LOCK = threading.Lock()


def read_configuration(path):
    with open(path, encoding="utf-8") as stream:
        return dict(line.rstrip("\n").split("=", 1) for line in stream if "=" in line)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.path == "/alive":
            self.answer(200, {"alive": True})
        elif self.allowed() and self.path == "/dump":
            with LOCK:
                self.answer(200, {name: self.dump(name) for name in self.names()})
        else:
            self.answer(404, {"error": "there is no such page"})

    def do_POST(self):
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        if not self.allowed():
            return
        try:
            request = json.loads(body)
            name = request["database"]
            if not NAME.match(name):
                raise ValueError("bad name of a database")
            with LOCK:
                if self.path == "/query":
                    self.answer(200, {"rows": self.query(name, request["sql"], request.get("args", []))})
                elif self.path == "/drop":
                    if os.path.exists(self.file(name)):
                        os.remove(self.file(name))
                    self.answer(200, {"rows": []})
                else:
                    self.answer(404, {"error": "there is no such page"})
        except (KeyError, TypeError, ValueError, sqlite3.Error) as error:
            self.answer(400, {"error": str(error)})

    def allowed(self):
        token = self.headers.get("X-Token") or ""
        if hmac.compare_digest(token.encode(), self.server.settings["MINIDB_TOKEN"].encode()):
            return True
        self.answer(403, {"error": "wrong token"})
        return False

    def file(self, name):
        return os.path.join(self.server.settings["MINIDB_FOLDER"], name + ".sqlite")

    def names(self):
        found = os.listdir(self.server.settings["MINIDB_FOLDER"])
        return sorted(name[: -len(".sqlite")] for name in found if name.endswith(".sqlite"))

    def query(self, name, sql, args):
        connection = sqlite3.connect(self.file(name))
        try:
            with connection:
                return [list(row) for row in connection.execute(sql, args)]
        finally:
            connection.close()

    def dump(self, name):
        connection = sqlite3.connect(self.file(name))
        try:
            return "\n".join(connection.iterdump())
        finally:
            connection.close()

    def answer(self, status, data):
        body = json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, settings, port):
        self.settings = settings
        super().__init__(("", port), Handler)

    def server_bind(self):
        # The name of the machine is of no interest, and asking for it can take long.
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address[:2]


if __name__ == "__main__":
    settings = read_configuration(sys.argv[1])
    os.makedirs(settings["MINIDB_FOLDER"], exist_ok=True)
    Server(settings, int(settings["MINIDB_PORT"])).serve_forever()
