"""Pages in a headless Chromium."""

import json
import shutil
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
_HEADLESS = ["--headless", "--no-sandbox", "--disable-gpu", "--window-size=1400,2000"]

#: Runs a script in a page that has begun, and sends what it returns or why it fails.
_ASK = """<script>
addEventListener("error", event => send({ failed: event.message }));
addEventListener("unhandledrejection", event => send({ failed: String(event.reason) }));
const send = told => fetch("/told", { method: "POST", body: JSON.stringify(told) });
const until = async seen => { while (!seen()) await new Promise(done => setTimeout(done, 20)); };
(async () => {
  await until(() => document.querySelector("#scores .score"));
  send({ told: await (async () => { @SCRIPT@ })() });
})().catch(error => send({ failed: String(error) }));
</script></body>"""


def browse(path, *options):
    """Return what Chromium prints for a page."""
    command = [CHROMIUM, *_HEADLESS, "--virtual-time-budget=60000", *options, path.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=True).stdout


def let_time_pass(page):
    """Return a copy of a page in which timers slow virtual time, so that the core is unpacked."""
    waiting = page.with_name(f"waiting_{page.name}")
    text = page.read_text("utf-8")
    timer = "<script>setInterval(() => {}, 1)</script></head>"
    waiting.write_text(text.replace("</head>", timer, 1), encoding="utf-8")
    return waiting


def take_picture(page, picture, *options):
    """Write a screenshot of a page."""
    shown = (f"--screenshot={picture}", "--hide-scrollbars", "--virtual-time-budget=5000")
    browse(let_time_pass(page), *shown, *options)


def ask(page, script, *options, width=1400):
    """Return what a script returns that runs in a page, in real time.

    page: HTML of qemu_nn.page(). script: the body of an async function. width: of the page, in a
    frame, because windows of Chromium have 500 pixels at least.
    """
    content = page.replace("</body>", _ASK.replace("@SCRIPT@", script)).encode()
    frame = f'<iframe src="/page" style="width:{width}px;height:3000px;border:0"></iframe>'.encode()
    told, done = [], threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self._answer({"/": frame, "/page": content}.get(self.path, b""))

        def do_POST(self):
            told.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self._answer(b"")
            done.set()

        def _answer(self, body):
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://localhost:{server.server_address[1]}/"
        command = [CHROMIUM, *_HEADLESS, "--remote-debugging-port=0", *options, address]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            assert done.wait(120), "the page said nothing"
        finally:
            process.terminate()
            process.wait()
            server.shutdown()
    assert "told" in told[0], told[0]
    return told[0]["told"]
