"""Change where orders-sink resumes, once Ada or Bob approves; a mail and a message in Slack say that a run waits.

It needs the providers of both, and two Airflow connections more than the change itself:

    pip install apache-airflow-providers-smtp apache-airflow-providers-slack
    airflow connections add smtp_default --conn-type smtp --conn-host smtp.example.com --conn-port 587 \
        --conn-login airflow --conn-password '…' --conn-extra '{"from_email": "airflow@example.com"}'
    airflow connections add slack_webhook --conn-type slackwebhook --conn-host https://hooks.slack.com/services \
        --conn-password 'T00000000/B00000000/…'

To ask for it:

    airflow dags trigger orders_offsets --conf '{"to": "shift", "value": "-100"}'
"""

from datetime import timedelta

from airflow.providers.slack.notifications.slack_webhook import SlackWebhookNotifier
from airflow.providers.smtp.notifications.smtp import SmtpNotifier

from airflow_provider_connect_offsets.dags import connector_offsets_change

# subject: the question in one line; answer_url: where its two buttons are; address: where the report of the plan is.
MAIL = """
<p>{{ task.subject | e }}</p>
<p><a href="{{ task.answer_url(ti) | e }}">Approve or reject it</a> until {{ task.open_until }}.
   What would change: {{ task.address | e }}</p>
"""
SLACK = "{{ task.subject }} {{ task.answer_url(ti) }} until {{ task.open_until }}"

dag = connector_offsets_change(
    dag_id="orders_offsets",
    params={"connector": "orders-sink"},
    pinned={"approval": True},
    approvers=["ada", "bob"],
    approval_timeout=timedelta(minutes=30),
    notifiers=[
        SmtpNotifier(to=["ada@example.com", "bob@example.com"], subject="{{ task.subject }}", html_content=MAIL),
        SlackWebhookNotifier(slack_webhook_conn_id="slack_webhook", text=SLACK),
    ],
)
