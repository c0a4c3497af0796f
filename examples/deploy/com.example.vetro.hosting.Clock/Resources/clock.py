"""Tells the time: GET / answers with the time in the form of CLOCK_FORMAT, at the first of the PORTS."""

import http.server
import os
import socketserver
import time


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = (time.strftime(os.environ["CLOCK_FORMAT"]) + "\n").encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


socketserver.TCPServer.allow_reuse_address = True
with socketserver.TCPServer(("", int(os.environ["PORTS"].split(",")[0])), Handler) as server:
    server.serve_forever()
