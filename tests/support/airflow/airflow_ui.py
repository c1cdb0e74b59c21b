"""Clicks and keys in Airflow's UI, in headless Chromium."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, Page, Response, expect, sync_playwright
from playwright.sync_api import TimeoutError as NotShown

from sandbox import Progress, wait_until
from sandbox.airflow import AirflowAt, Login
from tests.support.airflow.hands import Hand, Mouse
from tests.support.airflow.pictured import refuse_old, words_of
from tests.support.airflow.trigger_form import TriggerForm

_LOGGER = logging.getLogger(__name__)
# Without the last ones Chromium looks up hosts of its maker's at every start.
_ARGUMENTS = (
    "--no-sandbox",  # which root can't have
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
_STEP_MS = 60_000
_SHOWN_MS = 5_000
_RUN = 420.0  # seconds in which no task of a run gets any further
_ENDED = {"success", "failed"}
_LOG = 3_000  # characters at the end of a failed task's log


@contextmanager
def chromium_page(*, width: int = 1280, height: int = 1000) -> Iterator[Page]:
    """Start Debian's Chromium and give a new page."""
    path = shutil.which("chromium")
    assert path, "Chromium is missing: sudo apt-get install chromium"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(_ARGUMENTS))
        page = browser.new_page(viewport={"width": width, "height": height})
        page.set_default_timeout(_STEP_MS)
        expect.set_options(timeout=_STEP_MS)
        yield page
        browser.close()


@dataclass(frozen=True)
class AirflowUi:
    """The UI at ``url``; pictures go to ``pictures``.

    ``login``: who asks its API, if that needs a password. ``hand``: how its buttons and links are pressed.
    """

    page: Page
    url: str
    pictures: Path
    login: Login | None = None
    hand: Hand = field(default_factory=Mouse)

    @property
    def airflow(self) -> AirflowAt:
        """Its API."""
        return AirflowAt(self.url, self.login)

    def go_to(self, path: str = "") -> None:
        """Open a page of the UI, on the tab that is in front, as a person does.

        Another one may be: a report that was opened. Chromium draws no frames behind it, and without these a menu of
        the UI does not take the focus.
        """
        self.page.bring_to_front()
        self.page.goto(f"{self.url}{path}")

    def sign_in(self, login: Login) -> None:
        """Sign in as a user; whoever was signed in no longer is."""
        self.page.context.clear_cookies()
        self.go_to()
        self.page.get_by_label("Username").fill(login.username)
        self.page.get_by_label("Password").fill(login.password)
        self.page.get_by_role("button", name="Sign in").press("Enter")
        self.page.get_by_role("button", name="Browse").wait_for()

    def picture(self, name: str, *, shown: Locator | None = None) -> None:
        """Save a screenshot; fail if docs/ has one that does not show what ``shown`` has (None: docs/ has none)."""
        self.pictures.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=self.pictures / f"{name}.png")
        if shown is not None:
            refuse_old(name, words_of(shown), self.pictures)

    def trigger(
        self, dag_id: str, fields: Mapping[str, str | bool], *, picture: str | None = None, fits: str = ""
    ) -> DagRunUi:
        """Fill in the DAG's form and click Trigger; return the DAG run.

        fits: JavaScript that lists what of the form is wider than a phone's screen; empty: it is another screen.
        """
        form = self.open_form(dag_id)
        for name, value in fields.items():
            form.fill(name, value=value)
        if picture:
            form.open_first()
            self.picture(picture, shown=form.dialog if picture == "form" else None)
        if fits:
            form.open_first()
            self.picture("form-phone")
            assert form.dialog.evaluate_all(fits) == []
        expect(form.button).to_be_enabled()
        answer = _answer_to(form.button, self.hand, method="POST", path="/dagRuns")
        assert answer.ok, answer.text()
        expect(form.dialog).to_be_hidden()
        return DagRunUi(self, dag_id, answer.json()["dag_run_id"])

    def open_overview(self) -> Page:
        """Open the page of the workspace from Airflow's navigation, with keys."""
        self.go_to()
        self.page.get_by_role("button", name="Browse").press("Enter")
        entry = self.page.get_by_role("menuitem", name="Connect offsets")
        entry.wait_for()
        wait_until(lambda: self._moved_to(entry), _STEP_MS / 1000, "the menu's last entry is not reached", interval=0.1)
        with self.page.context.expect_page() as opened:
            self.page.keyboard.press("Enter")
        return opened.value

    def _moved_to(self, entry: Locator) -> bool:
        """Press the key that moves down in a menu; whether the entry is the one that the menu highlights."""
        self.page.keyboard.press("ArrowDown")
        return entry.get_attribute("data-highlighted") is not None

    def open_form(self, dag_id: str) -> TriggerForm:
        """Open the DAG and press Trigger."""
        self.go_to(f"/dags/{dag_id}")
        self.hand.press(self.page.get_by_role("button", name="Trigger").first)
        return TriggerForm(self.page.get_by_role("dialog"), dag_id, self.hand)

    def add_connection(
        self, conn_id: str, kind: str, fields: Mapping[str, str], *, extra: Mapping[str, str] | None = None
    ) -> None:
        """Fill in the connection's form and save it; ``extra``: the fields of this kind only."""
        self.go_to("/connections")
        self.page.get_by_role("button", name="Add Connection").click()
        dialog = self.page.get_by_role("dialog")
        dialog.locator("[name=connection_id]").press_sequentially(conn_id)
        dialog.get_by_role("combobox").first.click()
        self.page.keyboard.type(kind)
        self.page.get_by_role("option", name=kind, exact=True).click()
        for name, value in fields.items():
            dialog.locator(f"[name={name}]").press_sequentially(value)
        if extra:
            dialog.get_by_role("button", name="Extra Fields", exact=True).click()
            for name, value in extra.items():
                dialog.locator(f"[name=element_{name}]").press_sequentially(value)
            self.picture(f"connection-{conn_id}")
        dialog.get_by_role("button", name="Save").click()
        expect(dialog).to_be_hidden()

    def is_connection_fine(self, conn_id: str) -> bool:
        """Press the connection's Test button; whether it turns green."""
        row = self.page.locator("tbody tr").filter(has_text=conn_id)
        button = row.get_by_role("button", name="Test Connection")
        button.click()
        icon = button.locator("svg[color]")
        icon.wait_for()
        return icon.get_attribute("color") == "green"


@dataclass(frozen=True)
class DagRunUi:
    """A DAG run as the UI shows it."""

    ui: AirflowUi
    dag_id: str
    run_id: str

    @property
    def page(self) -> Page:
        return self.ui.page

    def open(self, *more: str) -> None:
        """Open its page, or one of its tasks'."""
        self.ui.go_to("/".join(("/dags", self.dag_id, "runs", self.run_id, *more)))

    def end(self) -> str:
        """Wait until the run has ended, and return the state that the UI shows then."""
        self._wait(lambda: self._call()["state"] in _ENDED, "has not ended")
        self.ui.go_to(f"/dags/{self.dag_id}/runs")
        row = self.page.locator("tbody tr").filter(has_text=self.run_id)
        state = _state_in(row)
        if state == "failed":
            self._log_errors()  # pytest shows it, if the run should have succeeded
        return state

    def _wait(self, condition: Callable[[], object], late: str) -> None:
        """Wait on an empty page while the run works: the UI's own refreshing takes half a core from it."""
        self.page.goto("about:blank")
        work: Progress = {"tasks": lambda: [task["state"] for task in self._instances()]}
        wait_until(condition, _RUN, f"{self.run_id} {late}", progress=work, interval=1)

    def _call(self, *more: str) -> dict[str, Any]:
        """What the API says of the run."""
        return dict(self.ui.airflow.call("GET", "/".join((f"/dags/{self.dag_id}/dagRuns/{self.run_id}", *more))))

    def _instances(self) -> list[dict[str, Any]]:
        return list(self._call("taskInstances")["task_instances"])

    def _log_errors(self) -> None:
        """Log what each task that failed has logged at its end."""
        for task in self._instances():
            if task["state"] == "failed":
                log = self.ui.airflow.log(dag_id=self.dag_id, run_id=self.run_id, task=task["task_id"])
                _LOGGER.warning("%s: %s", task["task_id"], log[-_LOG:])

    def tasks(self) -> dict[str, str]:
        """States of its tasks, without the name of their group."""
        self.open()
        state = self.page.locator("[data-testid=table-cell-state]")
        rows = self.page.locator("tbody tr").filter(has=state).filter(has=self.page.locator("a"))
        rows.first.wait_for()
        found = {}
        for row in rows.all():
            name = row.locator("a").first.inner_text().strip()
            found[name.rpartition(".")[2]] = _state_in(row)
        return found

    def clear(self, task: str) -> None:
        """Clear the task and what follows it, with the key and the dialog that its page has."""
        self.open("tasks", task)
        self.page.get_by_role("link", name="Details", exact=True).wait_for()
        dialog = self.page.get_by_role("dialog")

        def is_open() -> bool:  # the page is shown before it listens to keys
            self.page.keyboard.press("Shift+C")
            with suppress(NotShown):
                dialog.wait_for(timeout=_SHOWN_MS)
            return dialog.is_visible()

        wait_until(is_open, _STEP_MS / 1000, "the dialog that clears tasks does not open")
        dialog.get_by_role("button", name="Confirm").click()
        expect(dialog).to_be_hidden()

    def open_question(self) -> None:
        """Wait for the approval question, and open it from the list of required actions."""
        self.ui.hand.press(self._await_question().get_by_role("link").first)
        self.page.get_by_role("button", name="Approve").wait_for()

    def open_question_in_drawer(self) -> Locator:
        """The same, over the list itself, as a phone needs it: a task's page is wider than its screen."""
        self.ui.hand.press(self._await_question().get_by_role("button", name="Open Review Drawer"))
        drawer = self.page.get_by_role("dialog")
        drawer.get_by_role("button", name="Approve").wait_for()
        return drawer

    def _await_question(self) -> Locator:
        self._wait(lambda: self._call("hitlDetails?response_received=false")["total_entries"], "has no question")
        self.ui.go_to("/required_actions")
        row = self.page.locator("tbody tr").filter(has_text=self.run_id)
        row.wait_for()
        return row

    def answer(self, button: str) -> None:
        """Press Approve or Reject below the question, once the scheduler knows that the task waits.

        A person reads it for longer than that; before, the answer can fail the task (docs/seen.md).
        """
        self.await_heartbeats()
        assert answer_with(self.page.get_by_role("button", name=button), self.ui.hand).ok

    def await_heartbeats(self) -> None:
        """Wait until the scheduler knows what has just happened."""
        for _ in range(2):
            self._await_heartbeat()

    def _await_heartbeat(self) -> None:
        def heard() -> str:
            scheduler = self.ui.airflow.call("GET", "/monitor/health")["scheduler"]
            return str(scheduler["latest_scheduler_heartbeat"])

        last = heard()
        wait_until(lambda: heard() != last, 60, "the scheduler is not heard of", interval=0.5)

    def open_report(self, task: str) -> Page:
        """Press the task's button Report, on its tab Details."""
        self.open("tasks", task)
        self.ui.hand.press(self.page.get_by_role("link", name="Details", exact=True))
        return follow(self.page.get_by_role("link", name="Report", exact=True), self.ui.hand)


def answer_with(button: Locator, hand: Hand) -> Response:
    """Answer a question, and wait for what the API says: leaving the page before that may cut the answer off."""
    return _answer_to(button, hand, method="PATCH")


def _answer_to(button: Locator, hand: Hand, *, method: str, path: str = "") -> Response:
    """Press a button, and return the API's answer to the request that the UI makes then; ``path``: how its URL ends."""

    def is_asked(response: Response) -> bool:
        return response.request.method == method and response.url.endswith(path)

    with button.page.expect_response(is_asked) as answered:
        hand.press(button)
    return answered.value


def _state_in(row: Locator) -> str:
    """The state that a row of a table shows, once the UI knows its words: before, it shows "states.success"."""
    cell = row.locator("[data-testid=table-cell-state]")
    expect(cell).not_to_contain_text("states.")
    return cell.inner_text().strip().lower()


def follow(link: Locator, hand: Hand) -> Page:
    """Press a link, and return the page that it opens, which may be a new one."""
    if link.get_attribute("target") != "_blank":
        hand.press(link)
        link.page.wait_for_url("**/report.html")
        return link.page
    with link.page.context.expect_page() as opened:
        hand.press(link)
    return opened.value
