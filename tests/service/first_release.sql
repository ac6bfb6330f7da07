-- Copyright (c) 2026, Postroom contributors
-- SPDX-License-Identifier: BSD-2-Clause
-- A database of the first release, as SQLite dumps it; the keys are shortened.
BEGIN TRANSACTION;
CREATE TABLE address (
	address VARCHAR(254) NOT NULL,
	principal_id INTEGER NOT NULL,
	domain_id INTEGER NOT NULL,
	position INTEGER NOT NULL,
	PRIMARY KEY (address),
	FOREIGN KEY(principal_id) REFERENCES principal (id) ON DELETE CASCADE,
	FOREIGN KEY(domain_id) REFERENCES principal (id) ON DELETE CASCADE
);
INSERT INTO "address" VALUES('ann@example.com',2,1,0);
INSERT INTO "address" VALUES('sales@example.com',2,1,1);
INSERT INTO "address" VALUES('a%b@example.com',3,1,0);
INSERT INTO "address" VALUES('team@example.com',4,1,0);
CREATE TABLE dkim_key (
	principal_id INTEGER NOT NULL,
	private_pem TEXT NOT NULL,
	public_base64 TEXT NOT NULL,
	PRIMARY KEY (principal_id),
	FOREIGN KEY(principal_id) REFERENCES principal (id) ON DELETE CASCADE
);
INSERT INTO "dkim_key" VALUES(1,'private key','public key');
CREATE TABLE member (
	principal_id INTEGER NOT NULL,
	address VARCHAR(254) NOT NULL,
	position INTEGER NOT NULL,
	PRIMARY KEY (principal_id, address),
	FOREIGN KEY(principal_id) REFERENCES principal (id) ON DELETE CASCADE
);
INSERT INTO "member" VALUES(4,'ann@example.com',0);
INSERT INTO "member" VALUES(4,'desk@partner.example',1);
CREATE TABLE principal (
	id INTEGER NOT NULL,
	tenant_id INTEGER NOT NULL,
	domain_id INTEGER,
	kind VARCHAR(9) NOT NULL CHECK (kind IN ('domain', 'mailbox', 'forwarder')),
	name VARCHAR(254) NOT NULL,
	uid VARCHAR(32) NOT NULL,
	created_at BIGINT NOT NULL,
	PRIMARY KEY (id),
	CONSTRAINT domain_has_no_domain CHECK ((kind = 'domain') = (domain_id IS NULL)),
	FOREIGN KEY(tenant_id) REFERENCES tenant (id) ON DELETE CASCADE,
	FOREIGN KEY(domain_id) REFERENCES principal (id) ON DELETE CASCADE,
	UNIQUE (name),
	UNIQUE (uid)
);
INSERT INTO "principal" VALUES(1,1,NULL,'domain','example.com','80caf85805224141aa8d9285be4c55d4',1795403094);
INSERT INTO "principal" VALUES(2,1,1,'mailbox','ann@example.com','bbc043f464d64b1d93683cf7fe9eca72',1795403094);
INSERT INTO "principal" VALUES(3,1,1,'mailbox','a%b@example.com','6ac08d20f6684b2f845293f31ba9869a',1795403095);
INSERT INTO "principal" VALUES(4,1,1,'forwarder','team@example.com','2f34eaa24ab045839539263642320b38',1795403095);
CREATE TABLE schema_version (
	version INTEGER NOT NULL,
	PRIMARY KEY (version)
);
INSERT INTO "schema_version" VALUES(1);
CREATE TABLE secret (
	principal_id INTEGER NOT NULL,
	position INTEGER NOT NULL,
	hash TEXT NOT NULL,
	PRIMARY KEY (principal_id, position),
	FOREIGN KEY(principal_id) REFERENCES principal (id) ON DELETE CASCADE
);
INSERT INTO "secret" VALUES(2,0,'$argon2id$v=19$m=8,t=1,p=1$kZx/jw7YNA1nG4qTELjo1g$S4JPZhvST3KITc4vnYZJkHpuBSSZFpk92uEQOceWUbE');
INSERT INTO "secret" VALUES(2,1,'$argon2id$v=19$m=8,t=1,p=1$afznlBLkElhWfh/ahb0Hgg$ZfAnnNPyxtoWjUzGutGPYzY4zPNOYN6XtgIUfB/jdTc');
INSERT INTO "secret" VALUES(3,0,'$argon2id$v=19$m=8,t=1,p=1$XKY3u0WL9U8gtQ6zTn1DdA$uSX1HbL9KvzJqbdtOE9aZlJEw0411WFCxF0WAsruSvY');
CREATE TABLE tenant (
	id INTEGER NOT NULL,
	name TEXT NOT NULL,
	PRIMARY KEY (id),
	UNIQUE (name)
);
INSERT INTO "tenant" VALUES(1,'acme');
CREATE TABLE token (
	id INTEGER NOT NULL,
	tenant_id INTEGER NOT NULL,
	hash VARCHAR(64) NOT NULL,
	label TEXT NOT NULL,
	created_at BIGINT NOT NULL,
	expires_at BIGINT,
	revoked_at BIGINT,
	PRIMARY KEY (id),
	FOREIGN KEY(tenant_id) REFERENCES tenant (id) ON DELETE CASCADE,
	UNIQUE (hash)
);
INSERT INTO "token" VALUES(1,1,'2e20a95bdbeae51f7ec6f224b24b79e900706eae84e5f46df884410c9e664f7b','bootstrap',1795403094,NULL,NULL);
CREATE INDEX ix_token_tenant_id ON token (tenant_id);
CREATE INDEX ix_principal_domain_id ON principal (domain_id);
CREATE INDEX principal_by_tenant ON principal (tenant_id, kind);
CREATE INDEX ix_address_principal_id ON address (principal_id);
CREATE INDEX ix_address_domain_id ON address (domain_id);
COMMIT;
