# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""On PostgreSQL, notify the daemon of a mail host when addresses or served domains change."""

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

CREATE FUNCTION mail.notify_domain() RETURNS trigger
LANGUAGE plpgsql SET search_path FROM CURRENT AS $body$
BEGIN
    PERFORM pg_notify('postroom_mail', json_build_object('domain', principal.name)::text)
    FROM principal WHERE principal.id = OLD.principal_id;
    RETURN NULL;
END
$body$;

-- For a deleted domain this finds no name; domain_deleted reports it.
CREATE TRIGGER domain_changed AFTER UPDATE OR DELETE ON dkim_key
FOR EACH ROW EXECUTE FUNCTION mail.notify_domain();

CREATE FUNCTION mail.notify_domain_deleted() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
    PERFORM pg_notify('postroom_mail', json_build_object('domain', OLD.name)::text);
    RETURN NULL;
END
$body$;

CREATE TRIGGER domain_deleted AFTER DELETE ON principal
FOR EACH ROW WHEN (OLD.kind = 'domain') EXECUTE FUNCTION mail.notify_domain_deleted();
"""


def upgrade() -> None:
    """Add the notifications."""
    connection = op.get_bind()
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(TRIGGERS)
