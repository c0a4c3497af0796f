"""The shop: a page with a greeting and a counter that lives in a database on another server.

GET / counts and greets, GET /report gives figures as JSON, GET /backup the shop's data as SQL text.
Usage: webshop.py CONFIGURATION
"""

import html
import http.server
import json
import os
import socketserver
import string
import sys
import urllib.error
import urllib.request

FOLDER = os.path.dirname(os.path.abspath(__file__))


def read_configuration(path):
    with open(path, encoding="utf-8") as stream:
        return dict(line.rstrip("\n").split("=", 1) for line in stream if "=" in line)


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        try:
            if self.path == "/":
                self.query("update visits set number = number + 1")
                values = {"greeting": html.escape(self.greeting()), "visits": self.visits()}
                with open(os.path.join(FOLDER, "page.html"), encoding="utf-8") as stream:
                    self.answer(200, "text/html", string.Template(stream.read()).substitute(values))
            elif self.path == "/report":
                figures = {
                    "greeting": self.greeting(),
                    "visits": self.visits(),
                    "database": self.server.settings["DATABASE"],
                }
                self.answer(200, "application/json", json.dumps(figures))
            elif self.path == "/backup":
                dump = self.ask("/dump", None)
                self.answer(200, "text/plain", dump.get(self.server.settings["DATABASE"], ""))
            else:
                self.answer(404, "text/plain", "there is no such page\n")
        except (OSError, urllib.error.URLError) as error:
            self.answer(503, "text/plain", f"the database cannot be reached: {error}\n")

    def greeting(self):
        folder = os.path.dirname(self.server.path)
        with open(os.path.join(folder, "greeting.txt"), encoding="utf-8") as stream:
            return stream.read().strip()

    def visits(self):
        return self.query("select number from visits")[0][0]

    def query(self, sql):
        statements = (
            "create table if not exists visits (number integer not null)",
            "insert into visits select 0 where not exists (select * from visits)",
            sql,
        )
        for statement in statements:
            rows = self.ask("/query", {"database": self.server.settings["DATABASE"], "sql": statement})["rows"]
        return rows

    def ask(self, path, data):
        body = None if data is None else json.dumps(data).encode()
        headers = {"X-Token": self.server.settings["TOKEN"], "Content-Type": "application/json"}
        request = urllib.request.Request(self.server.settings["DATABASE_URL"] + path, body, headers)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=10) as response:
            return json.loads(response.read())

    def answer(self, status, kind, text):
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind + "; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, path):
        self.path = os.path.abspath(path)
        self.settings = read_configuration(path)
        super().__init__(("", int(self.settings["PORT"])), Handler)

    def server_bind(self):
        # The name of the machine is of no interest, and asking for it can take long.
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address[:2]


if __name__ == "__main__":
    Server(sys.argv[1]).serve_forever()
