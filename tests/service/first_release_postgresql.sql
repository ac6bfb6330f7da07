-- Copyright (c) 2026, Postroom contributors
-- SPDX-License-Identifier: BSD-2-Clause
-- A database created by the first release, dumped with pg_dump --inserts, without comments and owners.
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
CREATE TABLE public.address (
    address character varying(254) NOT NULL,
    principal_id bigint NOT NULL,
    domain_id bigint NOT NULL,
    "position" integer NOT NULL
);
CREATE TABLE public.dkim_key (
    principal_id bigint NOT NULL,
    private_pem text NOT NULL,
    public_base64 text NOT NULL
);
CREATE TABLE public.member (
    principal_id bigint NOT NULL,
    address character varying(254) NOT NULL,
    "position" integer NOT NULL
);
CREATE TABLE public.principal (
    id bigint NOT NULL,
    tenant_id bigint NOT NULL,
    domain_id bigint,
    kind character varying(9) NOT NULL,
    name character varying(254) NOT NULL,
    uid character varying(32) NOT NULL,
    created_at bigint NOT NULL,
    CONSTRAINT domain_has_no_domain CHECK ((((kind)::text = 'domain'::text) = (domain_id IS NULL))),
    CONSTRAINT principal_kind_check CHECK (((kind)::text = ANY ((ARRAY['domain'::character varying, 'mailbox'::character varying, 'forwarder'::character varying])::text[])))
);
CREATE SEQUENCE public.principal_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.principal_id_seq OWNED BY public.principal.id;
CREATE TABLE public.schema_version (
    version integer NOT NULL
);
CREATE TABLE public.secret (
    principal_id bigint NOT NULL,
    "position" integer NOT NULL,
    hash text NOT NULL
);
CREATE TABLE public.tenant (
    id bigint NOT NULL,
    name text NOT NULL
);
CREATE SEQUENCE public.tenant_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.tenant_id_seq OWNED BY public.tenant.id;
CREATE TABLE public.token (
    id bigint NOT NULL,
    tenant_id bigint NOT NULL,
    hash character varying(64) NOT NULL,
    label text NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint,
    revoked_at bigint
);
CREATE SEQUENCE public.token_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.token_id_seq OWNED BY public.token.id;
ALTER TABLE ONLY public.principal ALTER COLUMN id SET DEFAULT nextval('public.principal_id_seq'::regclass);
ALTER TABLE ONLY public.tenant ALTER COLUMN id SET DEFAULT nextval('public.tenant_id_seq'::regclass);
ALTER TABLE ONLY public.token ALTER COLUMN id SET DEFAULT nextval('public.token_id_seq'::regclass);
INSERT INTO public.address VALUES ('ann@example.com', 2, 1, 0);
INSERT INTO public.address VALUES ('sales@example.com', 2, 1, 1);
INSERT INTO public.address VALUES ('a%b@example.com', 3, 1, 0);
INSERT INTO public.address VALUES ('team@example.com', 4, 1, 0);
INSERT INTO public.dkim_key VALUES (1, '-----BEGIN PRIVATE KEY-----
MIIEvgIBADANBgkqhkiG9w0BAQEFAASCBKgwggSkAgEAAoIBAQCnmriCCxOWM2uf
5OZofL/zy5XgCiAdkSTOaVag8oBTa3gQD+SjfE/SoNHyolxgAAwVX34VcTBMUaLA
nW/6MdNNcTCAo5E2jbf/uvyhr8MZqq0Itl1S1A/qKD2eDWDU5SA0b0G2ivuIEluv
rZIqjEoCgoEH6u9DGqQPFM6kSbWNx8f27r5+SIvlol7DOj/Q4tng/SRuj86VVaD/
t4eNQX65Jo2+1MEXv7kz9MXwgiixcxszcHS4xZSGTWcmiTbW8Yx8+SoUcrrwMFm4
lnsch2a7VgsV8W9CTJsjPbD7WH+g8J76G0ZHvO1IuB2khe9fHK2gApCyjDFpe2tz
yW6vPN47AgMBAAECggEAHwsCsp9vlMnYXMiuPlsgyHyEOXdWpHNOMGcFUxEnYIwO
tFblP7yWIkqEKF8XIfbQRiMmPL12tyQFs4xVga851mWpGKJzEnokQtr00NO3nKjm
nK7+UQmTGwkyBHSw4y2/Dccvkipi1TylO8A3yuaqDJX0ZS2H/FNSYLK3ZWl7lZNG
0KwUUCHSzyO2s95D7b6BuEbq/3frOKBx0IZ2mV+55avarN6OacH62WSjQ571wcQA
TY/6P1144g9cjrEl5uRg+ULUzkya9ZEZNnTFeXproc3jF8oPAEOKtB03XoznAlPL
vfp2MgajpseJEsYagXfRePANPKqDHtkZutFzVzDUwQKBgQDetiUGMiwMKn8lqGYb
PR8I+WI9mjpTGkSWb39iGp4ljFdw3iaaigsfMMpdTbmEKkBNhA1JRZeuZVwvRILA
+v9mW8/9I18L+xofMlp6RSoM3Bji6m5bJPXQGSTZKLaeyCs+fChjYi84ewEC6DcV
lwUPRWX5JcHUibuE3lVhPZol+wKBgQDAp/OYIXbxvnAL4uNqkFw5HVQpCHhO8BdO
Y6EeZYuAHqcDeFqmT0VhtHgJlAFrWTzyPj6dRomwBZVehL18voJNJ0qk0xl05KgU
opnFQclfDi9FeH9ht/2Sqaz1OiAZqH1f3TJ1TZ1cnidOUKPmhLazewwna7oN4nnh
ayHyNAn0wQKBgFuiTAeJmzACSEBhUmnAs0VI/s/j5j2NIE1ZYOsnkoxWex/Yd7+8
LqlNtOXA9iTYEY8TVzgfpzI9SDm2kan/XBhsjF5WMGRIk83kNO/8Bzo1URQEaxWb
Vnyh69Rh+QnJyGk0QpXprw4pJhhhHVEHyzAmWLezflYJuZsIs86HvyYDAoGBAJel
3I48kUca81G35/Ei7yUaG/wsqZ7hSEcxD0tA/Tz9Y9PMcfaFYYTWLMLFWRSp6tp3
+ouMUadXzcrXy9wcja6zpgL2FAy6TD/p+gaWkS8cmEMj5YkC7jv7CaUCevAXe5Dx
Kd3CGYMlDqWLvmgewT2oNtn050A0rGGvFcp0Af5BAoGBAItkBuPSkBSLBppvNF3t
UYQzbhmnKESHziK4LUbiXnrtRejgcoQZNHvfOmWj8BgcT4AdWNXcyd0NDhgJVgc1
IUCzskAkIIDbtLOZKhh6NsDvbPZ2WceLBL64bZnZbAhSSlDFaf1U4MM3vc7EvqYt
iIZks8gIDZ+eFi7pplV5GDQc
-----END PRIVATE KEY-----
', 'MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAp5q4ggsTljNrn+TmaHy/88uV4AogHZEkzmlWoPKAU2t4EA/ko3xP0qDR8qJcYAAMFV9+FXEwTFGiwJ1v+jHTTXEwgKORNo23/7r8oa/DGaqtCLZdUtQP6ig9ng1g1OUgNG9Btor7iBJbr62SKoxKAoKBB+rvQxqkDxTOpEm1jcfH9u6+fkiL5aJewzo/0OLZ4P0kbo/OlVWg/7eHjUF+uSaNvtTBF7+5M/TF8IIosXMbM3B0uMWUhk1nJok21vGMfPkqFHK68DBZuJZ7HIdmu1YLFfFvQkybIz2w+1h/oPCe+htGR7ztSLgdpIXvXxytoAKQsowxaXtrc8lurzzeOwIDAQAB');
INSERT INTO public.member VALUES (4, 'ann@example.com', 0);
INSERT INTO public.member VALUES (4, 'desk@partner.example', 1);
INSERT INTO public.principal VALUES (1, 1, NULL, 'domain', 'example.com', '9da2092f62ab468aa795823f335643b1', 1795415538);
INSERT INTO public.principal VALUES (2, 1, 1, 'mailbox', 'ann@example.com', 'f9befcccac284e6095dab8dc01b6d1f9', 1795415538);
INSERT INTO public.principal VALUES (3, 1, 1, 'mailbox', 'a%b@example.com', '6c9cfc4206ba473eb95b93abd0faf513', 1795415538);
INSERT INTO public.principal VALUES (4, 1, 1, 'forwarder', 'team@example.com', '688259b33c5a4fd3bb77e6ddeb5e74cd', 1795415538);
INSERT INTO public.schema_version VALUES (1);
INSERT INTO public.secret VALUES (2, 0, '$argon2id$v=19$m=8,t=1,p=1$rSI0O7LyCZH9HNgCu8b25A$yyGUoVSRWjlVL+ZNuNcFrZ2IdDM3xlg+NIjUbFP7I7s');
INSERT INTO public.secret VALUES (2, 1, '$argon2id$v=19$m=8,t=1,p=1$xQqRIFkcQocEZQpb4/+dVw$obeze5BE6YPAGAjufSp5nIHGnrpDRoOAJliyQMDxKhE');
INSERT INTO public.secret VALUES (3, 0, '$argon2id$v=19$m=8,t=1,p=1$3EJKBNhBdmB5VRdjJ1zK8A$YV3HOoPyszDpSxm48DLitvGq5bHncLIzmF/2QOt18F4');
INSERT INTO public.tenant VALUES (1, 'acme');
INSERT INTO public.token VALUES (1, 1, '244b859abc632fadc2a8827967c59a3c020f73ebd0c3ae87e14b810ada7afb50', 'bootstrap', 1795415537, NULL, NULL);
INSERT INTO public.token VALUES (2, 1, '1a8688f7bab9e990794f9a84e5b59b26e1377d4d1aa0953b03f6b63308436b5b', 'revoked', 1795415539, NULL, 1795415540);
SELECT pg_catalog.setval('public.principal_id_seq', 4, true);
SELECT pg_catalog.setval('public.tenant_id_seq', 1, true);
SELECT pg_catalog.setval('public.token_id_seq', 2, true);
ALTER TABLE ONLY public.address
    ADD CONSTRAINT address_pkey PRIMARY KEY (address);
ALTER TABLE ONLY public.dkim_key
    ADD CONSTRAINT dkim_key_pkey PRIMARY KEY (principal_id);
ALTER TABLE ONLY public.member
    ADD CONSTRAINT member_pkey PRIMARY KEY (principal_id, address);
ALTER TABLE ONLY public.principal
    ADD CONSTRAINT principal_name_key UNIQUE (name);
ALTER TABLE ONLY public.principal
    ADD CONSTRAINT principal_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.principal
    ADD CONSTRAINT principal_uid_key UNIQUE (uid);
ALTER TABLE ONLY public.schema_version
    ADD CONSTRAINT schema_version_pkey PRIMARY KEY (version);
ALTER TABLE ONLY public.secret
    ADD CONSTRAINT secret_pkey PRIMARY KEY (principal_id, "position");
ALTER TABLE ONLY public.tenant
    ADD CONSTRAINT tenant_name_key UNIQUE (name);
ALTER TABLE ONLY public.tenant
    ADD CONSTRAINT tenant_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.token
    ADD CONSTRAINT token_hash_key UNIQUE (hash);
ALTER TABLE ONLY public.token
    ADD CONSTRAINT token_pkey PRIMARY KEY (id);
CREATE INDEX ix_address_domain_id ON public.address USING btree (domain_id);
CREATE INDEX ix_address_principal_id ON public.address USING btree (principal_id);
CREATE INDEX ix_principal_domain_id ON public.principal USING btree (domain_id);
CREATE INDEX ix_token_tenant_id ON public.token USING btree (tenant_id);
CREATE INDEX principal_by_tenant ON public.principal USING btree (tenant_id, kind);
ALTER TABLE ONLY public.address
    ADD CONSTRAINT address_domain_id_fkey FOREIGN KEY (domain_id) REFERENCES public.principal(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.address
    ADD CONSTRAINT address_principal_id_fkey FOREIGN KEY (principal_id) REFERENCES public.principal(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.dkim_key
    ADD CONSTRAINT dkim_key_principal_id_fkey FOREIGN KEY (principal_id) REFERENCES public.principal(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.member
    ADD CONSTRAINT member_principal_id_fkey FOREIGN KEY (principal_id) REFERENCES public.principal(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.principal
    ADD CONSTRAINT principal_domain_id_fkey FOREIGN KEY (domain_id) REFERENCES public.principal(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.principal
    ADD CONSTRAINT principal_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES public.tenant(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.secret
    ADD CONSTRAINT secret_principal_id_fkey FOREIGN KEY (principal_id) REFERENCES public.principal(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.token
    ADD CONSTRAINT token_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES public.tenant(id) ON DELETE CASCADE;
