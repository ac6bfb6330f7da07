# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""On PostgreSQL, add the `mail` schema, which a mail host's programs read.

`postroom_service.store.grants` gives these programs' database roles access to the schema.
"""

from __future__ import annotations

from alembic import op

revision = "0003"
down_revision = "0002"

# The programs only see views, which read the tables with the privileges of their owner.
VIEWS = """
CREATE SCHEMA mail;

CREATE VIEW mail.domains AS
SELECT principal.name::text AS name
FROM principal JOIN dkim_key ON dkim_key.principal_id = principal.id
WHERE dkim_key.verified_at IS NOT NULL;

CREATE VIEW mail.keys AS
SELECT principal.name::text AS domain, dkim_key.private_pem
FROM principal JOIN dkim_key ON dkim_key.principal_id = principal.id
WHERE dkim_key.verified_at IS NOT NULL;

-- Each address of a mailbox. Postfix maps it to the name, so it must serve the domains of both.
CREATE VIEW mail.mailboxes AS
SELECT address.address::text AS address, principal.name::text AS name
FROM address
JOIN principal ON principal.id = address.principal_id
JOIN dkim_key AS key ON key.principal_id = address.domain_id
JOIN dkim_key AS name_key ON name_key.principal_id = principal.domain_id
WHERE principal.kind = 'mailbox'
AND key.verified_at IS NOT NULL AND name_key.verified_at IS NOT NULL;

CREATE VIEW mail.senders AS
SELECT address.address::text AS address, principal.name::text AS name
FROM address JOIN principal ON principal.id = address.principal_id
WHERE principal.kind = 'mailbox';

CREATE VIEW mail.uids AS
SELECT principal.uid::text AS uid FROM principal WHERE principal.kind = 'mailbox';

CREATE VIEW mail.logins AS
SELECT principal.name::text AS name, principal.uid::text AS uid, secret.hash
FROM principal JOIN secret ON secret.principal_id = principal.id
WHERE principal.kind = 'mailbox';

CREATE VIEW mail.members AS
SELECT address.address::text AS forwarder, member.address::text AS member
FROM address
JOIN principal ON principal.id = address.principal_id
JOIN member ON member.principal_id = principal.id
JOIN dkim_key ON dkim_key.principal_id = address.domain_id
WHERE principal.kind = 'forwarder' AND dkim_key.verified_at IS NOT NULL;
"""

# Postfix calls these functions. It doesn't prepare its queries, and planning one takes longer than
# running it. PL/pgSQL caches plans for each connection.
_FUNCTION = """
CREATE FUNCTION mail.{name}(text) RETURNS {returned}
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $body$
BEGIN
{body}
END
$body$;

REVOKE ALL ON FUNCTION mail.{name}(text) FROM PUBLIC;
"""

_LOOKUP = "    RETURN (SELECT name FROM mail.{view} WHERE {column} = $1);"

# Most addresses aren't forwarders. UNION ends forwarding loops and removes duplicates. Otherwise,
# Postfix would defer mail in a loop for days.
_DESTINATIONS = """\
    IF NOT EXISTS (SELECT FROM mail.members WHERE forwarder = $1) THEN
        RETURN;
    END IF;
    RETURN QUERY
    WITH RECURSIVE reached(address) AS (
        SELECT member FROM mail.members WHERE forwarder = $1
        UNION
        SELECT members.member
        FROM reached JOIN mail.members ON members.forwarder = reached.address
    )
    SELECT DISTINCT coalesce(mailboxes.name, reached.address)
    FROM reached LEFT JOIN mail.mailboxes ON mailboxes.address = reached.address
    WHERE mailboxes.name IS NOT NULL OR NOT EXISTS (
        SELECT FROM mail.domains WHERE domains.name = split_part(reached.address, '@', 2)
    );"""

FUNCTIONS = {
    "domain": ("text", _LOOKUP.format(view="domains", column="name")),
    "mailbox": ("text", _LOOKUP.format(view="mailboxes", column="address")),
    "destinations": ("SETOF text", _DESTINATIONS),
}

TRIGGERS = """
CREATE FUNCTION mail.notify_deleted() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
    PERFORM pg_notify(
        'postroom_mail', json_build_object('deleted', OLD.uid, 'name', OLD.name)::text
    );
    RETURN NULL;
END
$body$;

CREATE TRIGGER mailbox_deleted AFTER DELETE ON principal
FOR EACH ROW WHEN (OLD.kind = 'mailbox') EXECUTE FUNCTION mail.notify_deleted();

CREATE FUNCTION mail.notify_changed() RETURNS trigger
LANGUAGE plpgsql SET search_path FROM CURRENT AS $body$
BEGIN
    PERFORM pg_notify('postroom_mail', json_build_object('changed', principal.name)::text)
    FROM principal WHERE principal.id = OLD.principal_id;
    RETURN NULL;
END
$body$;

-- For a deleted mailbox this finds no name; mailbox_deleted reports it.
CREATE TRIGGER secret_changed AFTER DELETE ON secret
FOR EACH ROW EXECUTE FUNCTION mail.notify_changed();
"""


def upgrade() -> None:
    """Add the views, the functions for Postfix, and the notifications."""
    connection = op.get_bind()
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(VIEWS)
        for name, (returned, body) in FUNCTIONS.items():
            statement = _FUNCTION.format(name=name, returned=returned, body=body)
            connection.exec_driver_sql(statement)
        connection.exec_driver_sql(TRIGGERS)
