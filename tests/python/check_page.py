#!/usr/bin/env python3
"""Looks at a report in headless Chromium, as a reader would: check_page.py INDEX.HTML FIGURES TRIALS [--models] [SCREENSHOT].

FIGURES: how many must be there; TRIALS: how many finished ones the explorer must show; --models: of a file of heads.  Chromium is driven through its
own pipe (--remote-debugging-pipe), so nothing but Python is needed.  Exit code 77: there is no Chromium.
"""
import base64
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.parse


class Browser:
    def __init__(self, program, profile):
        here, theirs = os.pipe(), os.pipe()  # they read here[0] as 3, write theirs[1] as 4

        def place():
            os.dup2(here[0], 1003)
            os.dup2(theirs[1], 1004)
            os.dup2(1003, 3)
            os.dup2(1004, 4)

        self.process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--disable-sync",
             "--user-data-dir=" + profile, "--remote-debugging-pipe", "--window-size=1280,900", "about:blank"],
            preexec_fn=place, close_fds=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        os.close(here[0])
        os.close(theirs[1])
        self.to, self.back = here[1], theirs[0]
        self.rest, self.number, self.events, self.session = b"", 0, [], None

    def receive(self):
        while b"\0" not in self.rest:
            more = os.read(self.back, 1 << 16)
            if not more:
                raise SystemExit("Chromium ended early")
            self.rest += more
        text, self.rest = self.rest.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise SystemExit("%s: %s" % (method, answer["error"]))
                return answer["result"]
            self.events.append(answer)

    def open(self, url):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(domain + ".enable")
        self.call("Page.navigate", url=url)
        until = time.time() + 60
        while self.ask("document.readyState") != "complete" or self.ask("location.href") == "about:blank":
            if time.time() > until:
                raise SystemExit("the page doesn't load")
            time.sleep(0.05)

    def ask(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise SystemExit("%s: %s" % (expression, answer["exceptionDetails"]))
        return answer["result"].get("value")

    def press(self, key, code=None, number=0, text=""):
        for kind in ("keyDown", "keyUp"):
            more = {"text": text} if text and kind == "keyDown" else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=code or key, windowsVirtualKeyCode=number, **more)

    def picture(self, path):
        with open(path, "wb") as out:
            out.write(base64.b64decode(self.call("Page.captureScreenshot")["data"]))

    def close(self):
        try:
            self.session = None
            self.call("Browser.close")
        except (SystemExit, OSError):
            pass
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


failures = []


def check(holds, what):
    if not holds:
        failures.append(what)
        print("FAILED: " + what)


def luminance(colour):
    parts = [float(p) / 255 for p in colour[colour.index("(") + 1:-1].split(",")[:3]]
    parts = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(page, selector):
    a = luminance(page.ask("getComputedStyle(document.querySelector('%s')).color" % selector))
    b = luminance(page.ask("getComputedStyle(document.body).backgroundColor"))
    return (max(a, b) + 0.05) / (min(a, b) + 0.05)


COLUMN = """(function () { var t = document.querySelectorAll('#tables ~ details table.sortable')[0];
  var c = Array.from(t.tHead.rows[0].cells).findIndex(function (h) { return h.textContent === 'mean'; });
  return Array.from(t.tBodies[0].rows).map(function (r) { return r.cells[c].textContent; })
    .filter(function (x) { return x !== ''; }).map(Number); })()"""
HEAD = """Array.from(document.querySelectorAll('#tables ~ details table.sortable')[0].tHead.rows[0].cells)
  .find(function (h) { return h.textContent === 'mean'; })"""


def look_at_figures(page, figures):
    widths = page.ask("Array.from(document.querySelectorAll('figure img')).map(function (i) { return i.naturalWidth; })")
    check(len(widths) == figures, "%d figures, not %d" % (len(widths), figures))
    check(all(w > 100 for w in widths), "a figure can't be shown: widths %s" % widths)
    check(page.ask("Array.from(document.querySelectorAll('figure img')).every(function (i) { return i.alt; })"),
          "a figure has no text beside it")


def sort_and_filter(page, words):
    page.ask(HEAD + ".click()")
    up = page.ask(COLUMN)
    check(len(up) > 2 and up == sorted(up), "a click doesn't sort upwards: %s" % up)
    page.ask(HEAD + ".focus()")
    page.press("Enter", number=13, text="\r")
    down = page.ask(COLUMN)
    check(down == sorted(down, reverse=True) and down != up, "Enter doesn't sort downwards: %s" % down)
    rows = "Array.from(document.querySelectorAll('#tables ~ details table.sortable')[0].tBodies[0].rows)"
    page.ask("document.querySelector('#tables ~ details label.filter input').focus()")
    page.call("Input.insertText", text=words.upper())
    left = page.ask(rows + ".filter(function (r) { return !r.hidden; }).map(function (r) { return r.textContent; })")
    check(0 < len(left) < page.ask(rows + ".length"), "the filter keeps %d rows" % len(left))
    check(all(w in r for r in left for w in words.split()), "the filter keeps other rows: %s" % left)


def explore(page, trials):
    curves = "document.querySelectorAll('#explorer > svg g[fill=none] path').length"
    check(page.ask("document.querySelectorAll('#explorer > svg path[stroke-width]').length") == trials,
          "%s curves, not %d" % (page.ask(curves), trials))
    page.ask("document.querySelector('#explorer > svg path[stroke-width]')"
             ".dispatchEvent(new MouseEvent('click', {bubbles: true}))")
    check(page.ask("document.querySelectorAll('.pager .panel svg').length") == 4, "not four views of the trial")
    check(page.ask("document.querySelectorAll('.pager circle').length") > 1, "no eigenvalues are drawn")
    check(page.ask("document.querySelectorAll('.pager .panel:nth-child(2) rect').length") > 15, "no attention map")
    said = "document.querySelector('.pager p.note').textContent.split(':')[0]"
    check(page.ask(said) == "trial 0, layer 0, head 0", "the pager starts at " + page.ask(said))
    page.ask("document.querySelector('.pager').focus()")
    page.press("ArrowRight", number=39)
    check(page.ask(said) == "trial 0, layer 0, head 1", "the right arrow leads to " + page.ask(said))
    page.press("ArrowDown", number=40)
    check(page.ask(said) == "trial 1, layer 0, head 1", "the down arrow leads to " + page.ask(said))
    page.press("ArrowLeft", number=37)
    page.press("ArrowLeft", number=37)
    check(page.ask(said).startswith("trial 1, layer 1,"), "heads don't go round: " + page.ask(said))
    for view in ("trials", "heads"):
        page.ask("Array.from(document.querySelectorAll('#explorer .controls button'))"
                 ".find(function (b) { return b.textContent === '%s'; }).click()" % view)
        points = page.ask("document.querySelectorAll('#explorer > svg circle').length")
        check(points >= trials, "%d points in the view of %s" % (points, view))
    check(page.ask("document.querySelectorAll('#explorer [cx=NaN], #explorer [cy=NaN], #explorer [d*=NaN]').length") == 0,
          "the explorer draws at places that are no numbers")


def explore_models(page, models):
    """Heads alone: no curves, no numbers of a whole model, no attention maps."""
    check(page.ask("document.querySelectorAll('#explorer > svg circle').length") >= 2 * models, "too few heads")
    page.ask("document.querySelector('#explorer > svg circle').dispatchEvent(new MouseEvent('click', {bubbles: true}))")
    check(page.ask("document.querySelectorAll('.pager .panel svg').length") == 2, "not two views of the model")
    said = "document.querySelector('.pager p.note').textContent.split(':')[0]"
    page.ask("document.querySelector('.pager').focus()")
    seen = set()
    for _ in range(models):
        page.press("ArrowDown", number=40)
        for _ in range(9):
            page.press("ArrowRight", number=39)
            check(page.ask("document.querySelectorAll('.pager .panel:first-child circle').length") > 0,
                  page.ask(said) + " has no eigenvalues")
        seen.add(page.ask(said).split(",")[0])
    check(seen == {"model %d" % m for m in range(models)}, "the arrows lead to " + str(seen))
    check(page.ask("document.querySelectorAll('#explorer [cx=NaN], #explorer [cy=NaN]').length") == 0,
          "the explorer draws at places that are no numbers")


def walk_by_keyboard(page):
    page.ask("document.activeElement.blur(); scrollTo(0, 0)")
    seen = set()
    for _ in range(400):
        page.press("Tab", number=9)
        seen.add(page.ask("document.activeElement.tagName"))
    for tag in ("A", "TH", "SUMMARY", "INPUT", "SELECT", "BUTTON"):
        check(tag in seen, "the tab key reaches no %s" % tag)


def main():
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not program:
        print("skipped: there is no Chromium (Debian: chromium)")
        return 77
    path, figures, trials = os.path.abspath(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    models = "--models" in sys.argv
    picture = sys.argv[4 + models] if len(sys.argv) > 4 + models else None
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        page = Browser(program, profile)
        try:
            page.open(pathlib.Path(path).as_uri())
            look_at_figures(page, figures)
            sort_and_filter(page, "rope rotational_fraction" if models else "rope test_accuracy")
            (explore_models if models else explore)(page, trials)
            walk_by_keyboard(page)
            for scheme in ("light", "dark"):
                page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
                background = luminance(page.ask("getComputedStyle(document.body).backgroundColor"))
                check((background > 0.5) == (scheme == "light"), "the page isn't %s" % scheme)
                for selector in ("body", ".note", "nav a", "#explorer label", "td.n" if models else "td.verdict"):
                    check(contrast(page, selector) >= 4.5, "%s: contrast of %s" % (scheme, selector))
                if picture:
                    for place in ("claims", "figures", "tables", "explore", "run"):
                        page.ask("document.getElementById('%s').scrollIntoView()" % place)
                        page.picture("%s-%s-%s.png" % (picture, scheme, place))
            page.call("Emulation.setDeviceMetricsOverride", width=390, height=800, deviceScaleFactor=1, mobile=True)
            check(page.ask("document.documentElement.scrollWidth") <= 400, "a narrow screen has to scroll sideways")
            for event in page.events:
                method, facts = event.get("method"), event.get("params", {})
                if method == "Network.requestWillBeSent":
                    url = facts["request"]["url"]
                    check(urllib.parse.unquote(url) == "file://" + path or url.startswith("data:"), "a request for " + url[:200])
                check(method != "Runtime.exceptionThrown", "an exception: %s" % facts)
                check(method != "Runtime.consoleAPICalled", "console: %s" % facts.get("args"))
                check(method != "Log.entryAdded", "log: %s" % facts.get("entry"))
        finally:
            page.close()
    print("%d figures, %d trials or models: %s" % (figures, trials, "FAILED" if failures else "as it should be"))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
