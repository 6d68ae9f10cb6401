"""A form on this computer plans dropped networks, and refuses what another site asks."""

import http.client
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

import qemu_nn
from qemu_nn.cli import serve
from qemu_nn.cli.main import main
from qemu_nn.errors import Error

DEMO = Path(qemu_nn.__file__).parent / "demo"


@contextmanager
def serving():
    """Serve in a thread; yield the port."""
    with serve.Server(0) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


def ask(port, method="GET", path="/", body=None, **headers):
    """Return the status and the text of an answer."""
    connection = http.client.HTTPConnection(serve.HOST, port, timeout=60)
    connection.request(method, path, body, headers)
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


def test_the_form_names_the_cores():
    with serving() as port:
        status, text = ask(port)
        assert status == 200
        assert '<option value="cortex-m55">' in text
        assert ask(port, path="/etc/passwd")[0] == 404


def test_other_sites_are_refused():
    with serving() as port:
        assert ask(port, Host="evil.example")[0] == 403
        body, path = b"x", "/page?name=x.qnz"
        assert ask(port, "POST", path, body, Origin="http://evil.example")[0] == 403


def test_a_file_is_planned_for_the_device_that_is_named(monkeypatch):
    seen = []
    monkeypatch.setattr(serve, "make_page", lambda *given: seen.append(given) or "<p>made</p>")
    with serving() as port:
        own = f"http://localhost:{port}"
        status, text = ask(
            port, "POST", "/page?name=a.qnz&target=m55", b"bytes", Host=own[7:], Origin=own
        )
    assert (status, text) == (200, "<p>made</p>")
    assert seen == [(b"bytes", "a.qnz", "m55")]


def test_a_file_of_no_size_or_too_many_bytes_is_refused():
    with serving() as port:
        assert ask(port, "POST", "/page", b"")[0] == 413
        assert ask(port, "POST", "/page", None, **{"Content-Length": str(2**40)})[0] == 413


def test_sentences_have_the_name_of_the_dropped_file():
    with pytest.raises(Error, match=r"^cannot read net\.qnz: "):
        serve.make_page(b"nothing", "net.qnz", "m4")


def test_a_name_is_no_path(monkeypatch, tmp_path):
    commands = []

    def run(command, **_):
        commands.append(command)
        raise serve.subprocess.TimeoutExpired(command, 1)

    monkeypatch.setattr(serve.subprocess, "run", run)
    with pytest.raises(Error, match="takes more than 120 seconds"):
        serve.make_page(b"x", "../../x.a/../b", "m4")
    model = Path(commands[0][4])
    assert (model.name, model.exists()) == ("network", False)


def test_a_port_that_is_taken_is_a_sentence():
    with serving() as port:
        result = CliRunner().invoke(main, ["serve", "--port", str(port)])
    assert result.exit_code == 2
    assert f"port {port} cannot be opened" in result.output
