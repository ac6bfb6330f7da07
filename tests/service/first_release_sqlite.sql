-- Copyright (c) 2026, Postroom contributors
-- SPDX-License-Identifier: BSD-2-Clause
-- A database created by the first release, dumped with SQLite's .dump command.
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
INSERT INTO "dkim_key" VALUES(1,'-----BEGIN PRIVATE KEY-----
MIIEvAIBADANBgkqhkiG9w0BAQEFAASCBKYwggSiAgEAAoIBAQD5mwHjvz+zUUa0
SZtkyzYwyekoPJKkA02tRndBiUDQuY1edY8HLvNNlFs/dItqko6SAS7SUVi9gP6p
Vrx50F+Vjf5cpd92Wkp/tuA4F+7LvpGLzVCUlfe7VU7y1yR5WLrhSmuDbwfWuO+M
XxYmxIMnIJv3cDUyxg7P3bR5gOCuL0xTj80d+Z4W6ChWaZf5B91PrtWjcg2GWzof
/PlrpSmlm1BRCnaVjHeN12diSelhc1IH+EGdXqCA7R+HusdxmwL4SNRdh46sWEoq
DeMqtIMOTxm4gGhx2s9985XnQjcyM/PuLvv5A92wFd/8zpPd4yKetigwqGzd9Iok
BwgO7+UBAgMBAAECggEATw08p/imIBCZp/e381A4tXL9GPU2LCOvsjUjB+qEUJaz
ozrwNYI1JFjcHVi33uTTqoIdZhbFWB9GiDMkNiA8ZY03BfiysTUfaxtsH9fUlUqh
pfk8kBJ/ByGZg2eH8bacWUXMjy/W97ZSh86FoXmTYAz/2Hn9HzuC7Wp2AhVDE2bf
UZAH8XF34LcHSADPWPfKods7LKv3hwzncLM9gqQV3RknT8jZadTENg41Of6LmCtY
UGDkp+Wm1YDVwxVWx2NhwnLa4oHUTBkEChoEShJG9jtEHvzEZe9HG+wtP7q+yKme
IOIDyvXAlgnJfG1Sjiei+itr4bN1h5vpHI3QLVkekQKBgQD/GHQd6193LFWqh1Fd
8NpC/7wgxzpHZ9Yx7IJ49JvKWNZyTinWAQNF6dREoPf24NEtcV7nFZEoqmbS9zFP
bHTuXr63iveRVvDIwXCYFKnfy1co7Tg7f4xcW8E3bTMTYnbr8/JexuXhb595MR6V
tV5Dls1dkae330xbmRfvAnxywwKBgQD6fZIR8stfR4h5+QdDbtrsClAvEIYQ+QUG
puPBdyo5JjN4tvLd0kbQHqEqQGkEOsm0KCwQRXe9Q1AKHHZnCjQgd4o+gGkg1MV8
u5IdNA4UFbNilRnbgp2eqDMk2sGN1wj5DCTG3zcNns+0OXkLx/4S3B6XP9fqlY4s
XcGaEgKE6wKBgA57y/P67jOs/7wr7LHBwBK3xG20AhoVyjKRdCL7+HB3tM1OpM9y
xUXN7fBrl0icISRMYJAMSG6fpjDqOhGBXe4+0ONI759/6THs0cDAw5hiSjOXrG6s
YkLILuM/vvulxozFEAjTkC/Jj6to34yufIin4kciwvwMoKA+w/4dDQXTAoGANcQM
PWQC+SGOjrfAMl4yCWYxTdjbHfuFc6cQze75Fik39Ro3yRsgbf2VFE+c+vZvYwcY
ZimzCOHQ5Uq0s2tCQxHFj6Labdydwycztqb8upzp0ygz06UWlf5+c9OspfhZCbPs
lO9GjtretE19yOSViZDL1CU1ADo3uRgqvRpOhh8CgYANLwizcv4Oo9Tb4bFtFQD+
qySJ8A7OLsW0Z+YACzViryBnc9y/dM0y/Thur2DKZS1kbgXV9zB6soSMXOTX2Jd0
GbUfmphrdGDmKfG7u3QKI72G2ni1fWEd2o03CUakZ19UwHXwjrU0kY8Vjy5Ucwnt
eKeOZpSkVWuqgRuR6kkiBg==
-----END PRIVATE KEY-----
','MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA+ZsB478/s1FGtEmbZMs2MMnpKDySpANNrUZ3QYlA0LmNXnWPBy7zTZRbP3SLapKOkgEu0lFYvYD+qVa8edBflY3+XKXfdlpKf7bgOBfuy76Ri81QlJX3u1VO8tckeVi64Uprg28H1rjvjF8WJsSDJyCb93A1MsYOz920eYDgri9MU4/NHfmeFugoVmmX+QfdT67Vo3INhls6H/z5a6UppZtQUQp2lYx3jddnYknpYXNSB/hBnV6ggO0fh7rHcZsC+EjUXYeOrFhKKg3jKrSDDk8ZuIBocdrPffOV50I3MjPz7i77+QPdsBXf/M6T3eMinrYoMKhs3fSKJAcIDu/lAQIDAQAB');
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
INSERT INTO "principal" VALUES(1,1,NULL,'domain','example.com','70948344917b4edfbeacfe46f80abf22',1795415528);
INSERT INTO "principal" VALUES(2,1,1,'mailbox','ann@example.com','c65d979b8f1a4099a53d3c8cccd8839b',1795415528);
INSERT INTO "principal" VALUES(3,1,1,'mailbox','a%b@example.com','d971fa59416646b3b1921bec0a5bb37b',1795415528);
INSERT INTO "principal" VALUES(4,1,1,'forwarder','team@example.com','52263f60f58245a3b532aa4fa38f846f',1795415528);
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
INSERT INTO "secret" VALUES(2,0,'$argon2id$v=19$m=8,t=1,p=1$oWOTeHg527zcVbzInfMHOA$yX8Mgg0YopkBYECsxhYOG8tKWrxYCU8Z9F7FGYrQEos');
INSERT INTO "secret" VALUES(2,1,'$argon2id$v=19$m=8,t=1,p=1$z5bA5+uxXcQG3FuNJvBzhw$6qEek7SvHX3WNoKP81pUh71potVGjdgqpPlNuhgNL80');
INSERT INTO "secret" VALUES(3,0,'$argon2id$v=19$m=8,t=1,p=1$h0oCnEr8FEP7X4Evz1fUXw$HscN6EZiOjoLQKX1FutWFWw75pLFEk3viF7nRWVZ6c0');
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
INSERT INTO "token" VALUES(1,1,'075348dab6f8bda046713f2daa1ce37ad47d0301a305feb397f8008bbf6be2f6','bootstrap',1795415527,NULL,NULL);
INSERT INTO "token" VALUES(2,1,'253ba1f06fb22e700baaff1789701ff6e169b3d0fdb5a53f327d2e005901b4b5','revoked',1795415530,NULL,1795415532);
CREATE INDEX ix_token_tenant_id ON token (tenant_id);
CREATE INDEX principal_by_tenant ON principal (tenant_id, kind);
CREATE INDEX ix_principal_domain_id ON principal (domain_id);
CREATE INDEX ix_address_domain_id ON address (domain_id);
CREATE INDEX ix_address_principal_id ON address (principal_id);
COMMIT;
