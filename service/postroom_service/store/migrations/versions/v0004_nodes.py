# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""On PostgreSQL, add the nodes of a mail service and the placement of mailboxes on them."""

from __future__ import annotations

from alembic import op

revision = "0004"
down_revision = "0003"

# A mailbox whose placement has a target is being moved there. While it is held, sessions and mail
# are refused. A hold expires, so that an interrupted move does no harm.
TABLES = """
CREATE TABLE mail.nodes (
    name text PRIMARY KEY,
    closed boolean NOT NULL DEFAULT false
);

CREATE TABLE mail.placements (
    principal_id bigint PRIMARY KEY REFERENCES principal ON DELETE CASCADE,
    node text NOT NULL REFERENCES mail.nodes,
    target text REFERENCES mail.nodes,
    held_until timestamptz
);
"""

# A replaced view keeps its grants. The new view must begin with the columns of the old one.
VIEWS = """
CREATE OR REPLACE VIEW mail.logins AS
SELECT principal.name::text AS name, principal.uid::text AS uid, secret.hash,
    placements.node, coalesce(placements.held_until > now(), false) AS held
FROM principal JOIN secret ON secret.principal_id = principal.id
LEFT JOIN mail.placements ON placements.principal_id = principal.id
WHERE principal.kind = 'mailbox';

-- A mailbox that is being moved has a second row, for its target.
CREATE OR REPLACE VIEW mail.uids AS
SELECT principal.uid::text AS uid, placements.node
FROM principal LEFT JOIN mail.placements ON placements.principal_id = principal.id
WHERE principal.kind = 'mailbox'
UNION ALL
SELECT principal.uid::text, placements.target
FROM principal JOIN mail.placements ON placements.principal_id = principal.id
WHERE placements.target IS NOT NULL;
"""

TRIGGERS = """
CREATE FUNCTION mail.place() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
    -- The lock waits for a removal of the node; then another node is taken.
    INSERT INTO mail.placements (principal_id, node)
    SELECT NEW.id, name FROM mail.nodes ORDER BY closed, random() LIMIT 1 FOR KEY SHARE;
    RETURN NULL;
END
$body$;

CREATE TRIGGER mailbox_created AFTER INSERT ON principal
FOR EACH ROW WHEN (NEW.kind = 'mailbox') EXECUTE FUNCTION mail.place();
"""


def upgrade() -> None:
    """Add the tables, the columns of the views, and the placement of new mailboxes."""
    connection = op.get_bind()
    if connection.dialect.name == "postgresql":
        for statements in (TABLES, VIEWS, TRIGGERS):
            connection.exec_driver_sql(statements)
