"""The form of a DAG in Airflow's UI, filled in with a mouse and keys, or, but for its switches, with keys only."""

from __future__ import annotations

from dataclasses import dataclass

from airflow.sdk import Param
from playwright.sync_api import Locator, expect

from airflow_provider_connect_offsets import dags
from airflow_provider_connect_offsets.offsets.requests.fields import Section
from tests.support.airflow.hands import Hand

_TYPED_AT_MOST = 5


@dataclass(frozen=True)
class TriggerForm:
    """The form of a DAG; its fields are in sections, of which one is open at a time."""

    dialog: Locator
    dag_id: str
    hand: Hand

    @property
    def button(self) -> Locator:
        """The button that starts the run."""
        return self.dialog.get_by_role("button", name="Trigger", exact=True)

    def fill(self, name: str, *, value: str | bool) -> None:
        """Open the field's section, and type, select or switch."""
        param = self._param(name)
        self._open(param.schema.get("section", Section.WHAT))
        field = self.dialog.locator(f"[name=element_{name}]")
        if isinstance(value, bool):
            if field.is_checked() != value:
                self.dialog.locator(f"[id='switch:element_{name}']").click()
            expect(field).to_be_checked(checked=value)
        elif "enum" in param.schema:
            self.hand.reach(self.dialog.locator(f"#element_{name}").get_by_role("combobox"))
            self.dialog.page.keyboard.type(param.schema["values_display"][value])
            self.dialog.page.keyboard.press("Enter")
            expect(field).to_have_value(value)
        else:
            self._type(field, value)
            field.press("Tab")

    def _type(self, field: Locator, value: str) -> None:
        """Type ``value``, and retry if the form shows another: a form that is drawn again loses keys."""
        for _ in range(_TYPED_AT_MOST):
            self.hand.reach(field)
            field.press("ControlOrMeta+a")
            field.press_sequentially(value)
            if field.input_value() == value:
                break
        expect(field).to_have_value(value)

    def open_first(self) -> None:
        """Show what is open when the form is opened."""
        self._open(Section.WHAT)
        self.dialog.get_by_role("heading").first.scroll_into_view_if_needed()

    def _open(self, section: str) -> None:
        fold = self.dialog.get_by_role("button", name=section, exact=True)
        if fold.get_attribute("aria-expanded") != "true":
            self.hand.press(fold)
            expect(fold).to_have_attribute("aria-expanded", "true")

    def _param(self, name: str) -> Param:
        param: Param = getattr(dags, self.dag_id)().params.get_param(name)
        return param
