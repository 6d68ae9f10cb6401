"""The command that plans dropped files for a browser on this computer: serve."""

from __future__ import annotations

import html
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from pathlib import Path
from threading import Semaphore
from typing import Any
from urllib.parse import parse_qs, urlsplit

import click

from ..errors import Error
from ..targets import CORES
from .status import hide_status
from .terminal import say

#: Bytes of a file, seconds of its planning, files that are planned at the same time.
MOST_BYTES, MOST_SECONDS, MOST_FILES = 2**26, 120, 2

#: The one address that is listened on.
HOST = "127.0.0.1"


class Server(ThreadingHTTPServer):
    """A server of the form and of pages; it answers requests to its own names alone."""

    daemon_threads = True

    def __init__(self, port: int) -> None:
        super().__init__((HOST, port), _Handler)
        own = self.server_address[1]
        self.names = {f"{name}:{own}" for name in (HOST, "localhost")}
        self.free = Semaphore(MOST_FILES)


class _Handler(BaseHTTPRequestHandler):
    server: Server
    timeout = 30

    def do_GET(self) -> None:
        """Answer with the form."""
        if self.path != "/":
            self._answer(HTTPStatus.NOT_FOUND, "there is only /", "plain")
        elif self._is_own():
            form = resources.files(__package__).joinpath("serve.html").read_text("utf-8")
            cores = "".join(f'<option value="{html.escape(core)}">' for core in CORES)
            self._answer(HTTPStatus.OK, form.replace("@CORES@", cores), "html")

    def do_POST(self) -> None:
        """Answer with the page of a file, or with the reason why there is none."""
        url = urlsplit(self.path)
        if url.path != "/page" or not self._is_own():
            return
        try:
            size = int(self.headers.get("Content-Length", ""))
        except ValueError:
            size = -1
        if not 0 < size <= MOST_BYTES:
            said = f"a file has 1 to {MOST_BYTES:,} bytes"
            self._answer(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, said, "plain")
            return
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        content = self.rfile.read(size)
        try:
            with self.server.free:
                page = make_page(content, query.get("name", ""), query.get("target", ""))
        except Error as error:
            self._answer(HTTPStatus.UNPROCESSABLE_ENTITY, str(error), "plain")
        else:
            self._answer(HTTPStatus.OK, page, "html")

    def _is_own(self) -> bool:
        """Refuse requests that another site made; return true for all others."""
        host, origin = self.headers.get("Host", ""), self.headers.get("Origin")
        own = host in self.server.names and origin in (None, f"http://{host}")
        if not own:
            self._answer(HTTPStatus.FORBIDDEN, "another site asks", "plain")
        return own

    def _answer(self, status: HTTPStatus, text: str, kind: str) -> None:
        content = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", f"text/{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""


def make_page(content: bytes, name: str, target: str) -> str:
    """Return the page of a file's content, planned by a process that ends after MOST_SECONDS.

    Raises Error with the sentence of that process. The files are deleted.
    """
    with tempfile.TemporaryDirectory() as folder:
        model, page = Path(folder) / f"network{_find_ending(name)}", Path(folder) / "page.html"
        model.write_bytes(content)
        options = ["--quiet", "-o", str(page), *([f"--target={target}"] if target else [])]
        command: Sequence[str] = [sys.executable, "-m", "qemu_nn", "page", str(model), *options]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=MOST_SECONDS)
        except subprocess.TimeoutExpired:
            raise Error(f"{name} takes more than {MOST_SECONDS} seconds") from None
        if done.returncode:
            said = done.stderr.strip().removeprefix("Error: ")
            raise Error(
                said.replace(str(model), name)
                or f"{name} cannot be planned: run qemu-nn info on it, which says why"
            )
        return page.read_text("utf-8")


def _find_ending(name: str) -> str:
    """Return the ending of a file's name if it is letters and digits, else none."""
    ending = Path(name).suffix
    return ending if ending[1:].isalnum() and len(ending) < 12 else ""


@click.command()
@click.option("--port", type=click.IntRange(0, 65535), default=8080, show_default=True)
def serve(port: int) -> None:
    """Serve a page to which networks are dropped."""
    try:
        server = Server(port)
    except OSError as error:
        raise Error(f"port {port} cannot be opened: {error.strerror}; name another") from None
    with server:
        hide_status()
        say(f"http://localhost:{server.server_address[1]}/ (end with Ctrl-C)")
        server.serve_forever()
