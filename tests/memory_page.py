"""memory_page.py FOLDER [SCREENSHOTS]: the pages of test_memory_timeline in a
headless Chromium, by WebDriver: nothing but Python and chromedriver. Exits 77
where there is no browser."""
import base64
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request

HOOK = """
const c = document.getElementById('plot'), d = c.dataset;
const data = JSON.parse(document.getElementById('data').textContent);
const r = data.runs[+document.getElementById('run').value || 0];
const order = [0, 7, 1, 5, 4, 2, 3, 6];
const byCall = document.getElementById('axis').value === 'call';
const view = ['from', 'to', 'top', 'left', 'upper', 'wide', 'high']
  .reduce((o, n) => (o[n] = +d[n], o), {});
"""

# What lies under each of a few points of the picture, by a reading of the
# events that is not the page's own: pixel x, y and the tensor's name.
POINTS = HOOK + """
const out = [], seen = new Set();
const at = !byCall ? r.at : r.at.map((t, i) => r.step[i] < 0 ? 0
  : (r.step[i] - r.first) * r.perStep + r.call[i] + (r.action[i] === 4));
for (let i = 0; i < at.length; i++) {
  if (i + 1 < at.length && at[i + 1] - at[i] < (byCall ? 1 : 1000)) continue;
  const live = new Set();
  for (let k = 0; k <= i; k++)
    if (r.action[k] === 4) live.delete(r.tensor[k]);
    else live.add(r.tensor[k]);
  let base = 0;
  for (const kind of order)
    for (const t of live) {
      if (r.tensors[t][3] !== kind) continue;
      const mid = base + r.tensors[t][4] / 2;
      base += r.tensors[t][4];
      if (r.tensors[t][4] < view.top / 100 || seen.has(t)) continue;
      seen.add(t);
      const next = i + 1 < at.length ? at[i + 1] : view.to;
      out.push([view.left + ((at[i] + next) / 2 - view.from) /
                (view.to - view.from) * view.wide,
                view.upper + view.high * (1 - mid / view.top),
                r.tensors[t][0]]);
    }
}
return out;
"""


class Browser:
    def __init__(self, dark, profile):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        self.base = f"http://127.0.0.1:{port}"
        self.driver = subprocess.Popen(
            ["chromedriver", f"--port={port}"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.session = ""
        for _ in range(100):
            try:
                if self.call("GET", "/status")["ready"]:
                    break
            except OSError:
                time.sleep(0.05)
        args = ["--headless=new", "--no-sandbox", "--disable-gpu",
                "--disable-dev-shm-usage", "--window-size=1240,900",
                f"--user-data-dir={profile}"]
        if dark:
            args.append("--blink-settings=preferredColorScheme=0")
        made = self.call("POST", "/session", {"capabilities": {"alwaysMatch": {
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
            "goog:chromeOptions": {"args": args}}}})
        self.session = "/session/" + made["sessionId"]

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        request = urllib.request.Request(
            self.base + path, data, {"Content-Type": "application/json"},
            method=method)
        with opener.open(request, timeout=30) as answer:
            return json.load(answer)["value"]

    def post(self, path, body):
        return self.call("POST", self.session + path, body)

    def run(self, script):
        return self.post("/execute/sync", {"script": script, "args": []})

    def log(self, kind):
        return self.post("/se/log", {"type": kind})

    def open(self, path):
        self.post("/url", {"url": "about:blank"})
        time.sleep(0.2)
        self.log("performance")  # what the browser did for itself
        begin = time.monotonic()
        self.post("/url", {"url": "file://" + os.path.abspath(path)})
        # Opened is: the first picture is drawn.
        while not self.run("return document.getElementById('plot')"
                           ".dataset.wide || ''"):
            time.sleep(0.01)
        return time.monotonic() - begin

    def point(self, x, y, more=()):
        corner = self.run("const b = document.getElementById('plot')"
                          ".getBoundingClientRect(); return [b.left, b.top]")
        at = {"x": round(corner[0] + x), "y": round(corner[1] + y)}
        self.post("/actions", {"actions": [{
            "type": "pointer", "id": "mouse",
            "parameters": {"pointerType": "mouse"},
            "actions": [dict(type="pointerMove", duration=0, **at), *more]}]})
        return at

    def wheel(self, at, dy):
        self.post("/actions", {"actions": [{
            "type": "wheel", "id": "wheel", "actions": [
                dict(type="scroll", deltaX=0, deltaY=dy, duration=0,
                     origin="viewport", **at)]}]})

    def settle(self):
        """Waits until what was done is drawn."""
        self.run("return new Promise(done => requestAnimationFrame("
                 "() => requestAnimationFrame(() => done())))")

    def key(self, text):
        self.run("document.getElementById('plot').focus()")
        self.post("/actions", {"actions": [{
            "type": "key", "id": "keys", "actions": [
                {"type": "keyDown", "value": c} for c in text] + [
                {"type": "keyUp", "value": c} for c in reversed(text)]}]})
        self.settle()

    def shot(self, folder, name):
        if folder:
            time.sleep(0.1)
            with open(os.path.join(folder, name), "wb") as f:
                f.write(base64.b64decode(
                    self.call("GET", self.session + "/screenshot")))

    def close(self):
        try:
            if self.session:
                self.call("DELETE", self.session)
        finally:
            self.driver.terminate()
            self.driver.wait()


def view(b):
    b.settle()
    return b.run(HOOK + "return [view.from, view.to]")


def check(what, ok):
    if not ok:
        sys.exit(f"memory_page: {what}")


def check_quiet(b, page):
    errors = [e["message"] for e in b.log("browser")]
    check(f"console: {errors}", not errors)
    sent = [m["params"]["request"]["url"] for m in (
        json.loads(e["message"])["message"] for e in b.log("performance"))
        if m["method"] == "Network.requestWillBeSent"]
    other = [u for u in sent if not u.endswith(page) and
             not u.startswith(("data:", "chrome://"))]
    check(f"requests: {other}", not other)


def check_hover(b):
    points = b.run(POINTS)
    check(f"only {len(points)} points to look at", len(points) >= 3)
    for x, y, name in points:
        b.point(x, y)
        b.settle()
        tip = b.run("return document.getElementById('tip').textContent")
        check(f"at {x}, {y} is {name!r}, not {tip!r}",
              tip.split("\n")[0] == name)


def check_moves(b):
    whole = view(b)
    at = b.point(600, 200)
    b.wheel(at, -600)
    near = view(b)
    check(f"wheel: {whole} to {near}",
          near[1] - near[0] < 0.7 * (whole[1] - whole[0]))
    press = [{"type": "pointerDown", "button": 0},
             {"type": "pointerMove", "duration": 20, "origin": "pointer",
              "x": 150, "y": 0}, {"type": "pointerUp", "button": 0}]
    b.point(600, 200, press)
    moved = view(b)
    check(f"drag: {near} to {moved}", moved[0] < near[0])
    b.key("0")
    check("0 shows all", view(b) == whole)
    b.key("+")
    check("+ zooms", view(b) != whole)
    b.key("0")
    b.key("p")
    said = b.run("return document.getElementById('said').textContent")
    check(f"p tells the peak, not {said!r}", "live" in said)
    b.key("\ue013")  # up
    up = b.run("return document.getElementById('said').textContent")
    check("up tells a tensor", up != said and "float32" in up)


def check_table(b):
    b.run("document.getElementById('words').open = true")
    time.sleep(0.1)
    rows = b.run("return document.querySelectorAll('#table tr').length")
    check(f"{rows} rows of the table", rows >= 1 + 3 * 4)
    b.run("document.getElementById('words').open = false")


# Sets a list of choices as a person does.
CHOOSE = """
const s = document.getElementById(%r);
s.value = %r;
s.dispatchEvent(new Event('change'));
"""


def check_compared(b, pages, shots, name):
    """Several runs with times: over each other step by step, and by time."""
    b.open(os.path.join(pages, "compared.html"))
    check("several runs lie over each other by calls", b.run(
        HOOK + "return byCall && view.to === r.steps * r.perStep"))
    check_hover(b)
    b.shot(shots, name + "-compared.png")
    b.run(CHOOSE % ("run", "2"))
    b.settle()
    check("the peak is that of the run chosen", "adam" in b.run(
        "return document.getElementById('peak').textContent"))
    check_hover(b)
    b.run(CHOOSE % ("axis", "time"))
    b.settle()
    check_hover(b)
    b.shot(shots, name + "-time.png")
    check_moves(b)
    check_quiet(b, "compared.html")


def look(pages, shots, dark):
    b = Browser(dark, os.path.join(pages, "profile-dark" if dark
                                   else "profile-light"))
    try:
        b.open(os.path.join(pages, "small.html"))
        check("the colour scheme", b.run(
            "return matchMedia('(prefers-color-scheme: dark)').matches")
            == dark)
        name = "dark" if dark else "light"
        check_hover(b)
        b.shot(shots, name + "-small.png")
        check_moves(b)
        b.shot(shots, name + "-keys.png")
        check_table(b)
        check_quiet(b, "small.html")
        check_compared(b, pages, shots, name)
        if not dark:
            took = b.open(os.path.join(pages, "large.html"))
            print(f"# 3 runs of 100,000 events open in {took:.2f} s")
            check(f"100,000 events opened in {took:.2f} s", took < 2)
            whole = view(b)
            b.wheel(b.point(600, 200), -3000)
            check("wheel on many events", view(b) != whole)
            b.shot(shots, "large.png")
            check_quiet(b, "large.html")
    finally:
        b.close()


def main():
    if not shutil.which("chromedriver") or not shutil.which("chromium"):
        sys.exit(77)
    shots = sys.argv[2] if len(sys.argv) > 2 else None
    look(sys.argv[1], shots, False)
    look(sys.argv[1], shots, True)


main()
