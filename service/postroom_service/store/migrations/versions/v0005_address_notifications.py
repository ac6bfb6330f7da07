# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Notify the daemon of a mail host when addresses or served domains change, on PostgreSQL."""

from __future__ import annotations

from alembic import op

revision = "0005"
down_revision = "0004"

TRIGGERS = """
CREATE FUNCTION mail.notify_address() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
    PERFORM pg_notify(
        'postroom_mail', json_build_object('address', coalesce(NEW.address, OLD.address))::text
    );
    RETURN NULL;
END
$body$;

CREATE TRIGGER address_changed AFTER INSERT OR UPDATE OR DELETE ON address
FOR EACH ROW EXECUTE FUNCTION mail.notify_address();

CREATE FUNCTION mail.notify_domains() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
    PERFORM pg_notify('postroom_mail', json_build_object('domain', true)::text);
    RETURN NULL;
END
$body$;

CREATE TRIGGER domains_changed AFTER UPDATE OR DELETE ON dkim_key
FOR EACH ROW EXECUTE FUNCTION mail.notify_domains();
"""


def upgrade() -> None:
    """Add the notifications."""
    connection = op.get_bind()
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(TRIGGERS)
