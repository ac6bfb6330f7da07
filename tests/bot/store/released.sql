-- Copyright (c) 2026, Postroom contributors
-- SPDX-License-Identifier: BSD-2-Clause
-- A database with schema 0002, which contains requests in every state.
BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL,
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0002');
CREATE TABLE audit (
	seq INTEGER NOT NULL,
	at VARCHAR NOT NULL,
	actor VARCHAR NOT NULL,
	event VARCHAR NOT NULL,
	request VARCHAR,
	data VARCHAR NOT NULL,
	prev_hash VARCHAR NOT NULL,
	hash VARCHAR NOT NULL,
	PRIMARY KEY (seq)
);
INSERT INTO "audit" VALUES(1,'2026-11-21T12:00:00.000000+00:00','U00000002','request.new','R-NHG9','{"change":{"action":"alias.add","destinations":[],"expires_on":"2026-12-24","mailbox":null,"reason":"","target":"done@example.com"},"team":"T0000HOME"}','0000000000000000000000000000000000000000000000000000000000000000','ec323aed2346b9114d87128a57d5fcd5715f44e533dd70ae79f37a755fe008e3');
INSERT INTO "audit" VALUES(2,'2026-11-21T12:00:00.000000+00:00','bot','request.pending','R-NHG9','{"digest":"cd2215921bea3891f5428971b5f0e8a57c0f9c80a655780e46fbb2db2d84a494","policy":"f34c87054759ce78280ed3099c7bee7d01b4ffdf841e7bff14c94cf9f274846f","quorum":[["admins",1]],"rule":"aliases"}','ec323aed2346b9114d87128a57d5fcd5715f44e533dd70ae79f37a755fe008e3','2cdd925bc972bf02d96b6cebd93217c6e91c8750efc847b7d373f46857f6d0d4');
INSERT INTO "audit" VALUES(3,'2026-11-21T12:00:00.000000+00:00','bot','card.posted','R-NHG9','{"channel":"C00000012","digest":"cd2215921bea3891f5428971b5f0e8a57c0f9c80a655780e46fbb2db2d84a494","ts":"1795262400.000016"}','2cdd925bc972bf02d96b6cebd93217c6e91c8750efc847b7d373f46857f6d0d4','2be887f12cc4acbebe375325d2d195f68fd9fb4981b9110cd8e4a8fe009f25d8');
INSERT INTO "audit" VALUES(4,'2026-11-21T12:00:00.000000+00:00','U00000004','vote.cast','R-NHG9','{"approves":true,"card":["C00000012","1795262400.000016"],"reason":""}','2be887f12cc4acbebe375325d2d195f68fd9fb4981b9110cd8e4a8fe009f25d8','c9bf90079a50ef3e476c1f83416a7209dbd31b4ee38b1003b2428b3f0cc4b5ad');
INSERT INTO "audit" VALUES(5,'2026-11-21T12:00:01.000000+00:00','U00000004','vote.counted','R-NHG9','{"approves":true,"groups":["admins"],"mailbox":"bob@example.com","reason":""}','c9bf90079a50ef3e476c1f83416a7209dbd31b4ee38b1003b2428b3f0cc4b5ad','15553367d64dc3c2d682d87597c9d6698c03e30281209a6b95c282473a683a90');
INSERT INTO "audit" VALUES(6,'2026-11-21T12:00:01.000000+00:00','bot','request.approved','R-NHG9','{}','15553367d64dc3c2d682d87597c9d6698c03e30281209a6b95c282473a683a90','2def92b0b2f47d8dff6b523b2977fde3b32f5c2afcec163995707ef2eb13be9f');
INSERT INTO "audit" VALUES(7,'2026-11-21T12:00:01.000000+00:00','bot','request.executing','R-NHG9','{"attempt":1}','2def92b0b2f47d8dff6b523b2977fde3b32f5c2afcec163995707ef2eb13be9f','46915a10113794b41ad735cf35bd2122956d3a254d6553688acf1176c9a6b280');
INSERT INTO "audit" VALUES(8,'2026-11-21T12:00:01.000000+00:00','bot','request.done','R-NHG9','{"changed":true,"result":"`done@example.com` delivers to `alice@example.com`."}','46915a10113794b41ad735cf35bd2122956d3a254d6553688acf1176c9a6b280','98bbb32e0b918183549c013c671d8dc443a90e4961f2b43983d0f1b87c82da81');
INSERT INTO "audit" VALUES(9,'2026-11-21T12:00:01.000000+00:00','U00000002','request.new','R-3HDN','{"change":{"action":"alias.add","destinations":[],"expires_on":null,"mailbox":null,"reason":"","target":"gone@example.com"},"team":"T0000HOME"}','98bbb32e0b918183549c013c671d8dc443a90e4961f2b43983d0f1b87c82da81','770b01852262ed603fed15bff43ba0025380ccea35c49d368c0f46d6e3c8de14');
INSERT INTO "audit" VALUES(10,'2026-11-21T12:00:01.000000+00:00','bot','request.pending','R-3HDN','{"digest":"281624694413acb4fb49b02730724f181b09beccddb437c5f2d0a75b93939dfe","policy":"f34c87054759ce78280ed3099c7bee7d01b4ffdf841e7bff14c94cf9f274846f","quorum":[["admins",1]],"rule":"aliases"}','770b01852262ed603fed15bff43ba0025380ccea35c49d368c0f46d6e3c8de14','a82bb01fe9f2c753cf8f48c091c582d8ebe8a11ed4584ad529b5bfe3a0c407a6');
INSERT INTO "audit" VALUES(11,'2026-11-21T12:00:01.000000+00:00','bot','card.posted','R-3HDN','{"channel":"C00000012","digest":"281624694413acb4fb49b02730724f181b09beccddb437c5f2d0a75b93939dfe","ts":"1795262401.000020"}','a82bb01fe9f2c753cf8f48c091c582d8ebe8a11ed4584ad529b5bfe3a0c407a6','13c4849eb717df1367f0e47ba09151c0a3375c008b9ca5d4f5821134b27ec896');
INSERT INTO "audit" VALUES(12,'2026-11-21T12:00:01.000000+00:00','U00000004','vote.cast','R-3HDN','{"approves":true,"card":["C00000012","1795262401.000020"],"reason":""}','13c4849eb717df1367f0e47ba09151c0a3375c008b9ca5d4f5821134b27ec896','22902d575c32be60b1925357f6859d397f13a744cf4eb6da688e56fd5b74cb6a');
INSERT INTO "audit" VALUES(13,'2026-11-21T12:00:02.000000+00:00','U00000004','vote.counted','R-3HDN','{"approves":true,"groups":["admins"],"mailbox":"bob@example.com","reason":""}','22902d575c32be60b1925357f6859d397f13a744cf4eb6da688e56fd5b74cb6a','da6494cf9f8da7177264a275e216fcbb5ab9f7bee708bb81516b07c43d9e2b61');
INSERT INTO "audit" VALUES(14,'2026-11-21T12:00:02.000000+00:00','bot','request.approved','R-3HDN','{}','da6494cf9f8da7177264a275e216fcbb5ab9f7bee708bb81516b07c43d9e2b61','0f463309665d074c005949301814f18e0cb6faf0bb8b871b72bca95ee90930a0');
INSERT INTO "audit" VALUES(15,'2026-11-21T12:00:02.000000+00:00','bot','request.executing','R-3HDN','{"attempt":1}','0f463309665d074c005949301814f18e0cb6faf0bb8b871b72bca95ee90930a0','64dfe939b5daf24912d64498ed9a062cfb198554b0f5ee0e5f1b3e7e4dff9674');
INSERT INTO "audit" VALUES(16,'2026-11-21T12:00:02.000000+00:00','bot','request.done','R-3HDN','{"changed":true,"result":"`gone@example.com` delivers to `alice@example.com`."}','64dfe939b5daf24912d64498ed9a062cfb198554b0f5ee0e5f1b3e7e4dff9674','6d978c88ca03b830353da9c0a23a5324455223f9a7fb6de0a4568155bf54e56b');
INSERT INTO "audit" VALUES(17,'2026-11-21T12:00:02.000000+00:00','U00000002','request.new','R-B97S','{"change":{"action":"alias.remove","destinations":[],"expires_on":null,"mailbox":null,"reason":"","target":"gone@example.com"},"team":"T0000HOME"}','6d978c88ca03b830353da9c0a23a5324455223f9a7fb6de0a4568155bf54e56b','086450d69a2f0ef38a3e14f15f79a21391a6e101d0ea645323fe98a25f090857');
INSERT INTO "audit" VALUES(18,'2026-11-21T12:00:02.000000+00:00','bot','request.approved','R-B97S','{"digest":"f522981b95cace8bb024f732254d6222364e068056d043f212a8e66896676fed","policy":"f34c87054759ce78280ed3099c7bee7d01b4ffdf841e7bff14c94cf9f274846f","quorum":[],"rule":"own-removals"}','086450d69a2f0ef38a3e14f15f79a21391a6e101d0ea645323fe98a25f090857','5ddb151b55a26362bcc43c90792b6e3d740cfb452ac5a24b8570bb305c3c7345');
INSERT INTO "audit" VALUES(19,'2026-11-21T12:00:02.000000+00:00','bot','request.executing','R-B97S','{"attempt":1}','5ddb151b55a26362bcc43c90792b6e3d740cfb452ac5a24b8570bb305c3c7345','04ffc7a74bf1c5b995d3f3c343066819b905cf091da662e314879d8548ec5f74');
INSERT INTO "audit" VALUES(20,'2026-11-21T12:00:02.000000+00:00','bot','request.done','R-B97S','{"changed":true,"result":"`gone@example.com` no longer delivers to `alice@example.com`."}','04ffc7a74bf1c5b995d3f3c343066819b905cf091da662e314879d8548ec5f74','3b2ebc11548343c30e593aeec78093d16e8ed3ce2ebe7d2b98da4f73ae6c8ae1');
INSERT INTO "audit" VALUES(21,'2026-11-21T12:00:02.000000+00:00','U00000002','request.new','R-5J8V','{"change":{"action":"alias.add","destinations":[],"expires_on":null,"mailbox":null,"reason":"We need <this> & that.","target":"denied@example.com"},"team":"T0000HOME"}','3b2ebc11548343c30e593aeec78093d16e8ed3ce2ebe7d2b98da4f73ae6c8ae1','90f36b67483faef9a5ebad3b79136a923b52e22ca083970caf40892fe5fd99c6');
INSERT INTO "audit" VALUES(22,'2026-11-21T12:00:02.000000+00:00','bot','request.pending','R-5J8V','{"digest":"187f561dfa9b7148c3505a7c13b0c554a9cdfe048dee026082406ddd4e708f1d","policy":"f34c87054759ce78280ed3099c7bee7d01b4ffdf841e7bff14c94cf9f274846f","quorum":[["admins",1]],"rule":"aliases"}','90f36b67483faef9a5ebad3b79136a923b52e22ca083970caf40892fe5fd99c6','8fccb3cde69646e3741c6e48e925719ad28f34bbe03ee5a023e18f54d5265ce3');
INSERT INTO "audit" VALUES(23,'2026-11-21T12:00:02.000000+00:00','bot','card.posted','R-5J8V','{"channel":"C00000012","digest":"187f561dfa9b7148c3505a7c13b0c554a9cdfe048dee026082406ddd4e708f1d","ts":"1795262402.000026"}','8fccb3cde69646e3741c6e48e925719ad28f34bbe03ee5a023e18f54d5265ce3','db19c80b6880a8c1e13686478375dd28184f4f07600078f948dd75874741eade');
INSERT INTO "audit" VALUES(24,'2026-11-21T12:00:02.000000+00:00','U00000010','vote.cast','R-5J8V','{"approves":true,"card":["C00000012","1795262402.000026"],"reason":""}','db19c80b6880a8c1e13686478375dd28184f4f07600078f948dd75874741eade','b16c3849d8b8b573955bd916d3ca25d5173196e486b254cb43feefc047a010bf');
INSERT INTO "audit" VALUES(25,'2026-11-21T12:00:02.000000+00:00','U00000010','vote.refused','R-5J8V','{"approves":true,"why":"Only members of `admins` can answer this request."}','b16c3849d8b8b573955bd916d3ca25d5173196e486b254cb43feefc047a010bf','0385e6b66943af05dbe94bc4f4e78ea3f10a6287d8cf30e9beac7014f3d1f552');
INSERT INTO "audit" VALUES(26,'2026-11-21T12:00:02.000000+00:00','U00000004','vote.cast','R-5J8V','{"approves":false,"card":["C00000012","1795262402.000026"],"reason":"Not now."}','0385e6b66943af05dbe94bc4f4e78ea3f10a6287d8cf30e9beac7014f3d1f552','40f58fbaf840dc325e7ef214e16b2674aa84e02d5f864afeb581b8d95e65a587');
INSERT INTO "audit" VALUES(27,'2026-11-21T12:00:02.000000+00:00','U00000004','vote.counted','R-5J8V','{"approves":false,"groups":["admins"],"mailbox":"bob@example.com","reason":"Not now."}','40f58fbaf840dc325e7ef214e16b2674aa84e02d5f864afeb581b8d95e65a587','4676ae3be42bcec332b7fe68deb4ede906ea778843952ec7ea027205bae6f059');
INSERT INTO "audit" VALUES(28,'2026-11-21T12:00:02.000000+00:00','U00000004','request.denied','R-5J8V','{"reason":"Not now.","result":"Not now."}','4676ae3be42bcec332b7fe68deb4ede906ea778843952ec7ea027205bae6f059','4ae86509d87b704faf61144494360d1f9b614184b853c367e7e29cb6f9c50163');
INSERT INTO "audit" VALUES(29,'2026-11-21T12:00:02.000000+00:00','U00000002','request.new','R-MVRB','{"change":{"action":"alias.add","destinations":[],"expires_on":null,"mailbox":null,"reason":"","target":"cancelled@example.com"},"team":"T0000HOME"}','4ae86509d87b704faf61144494360d1f9b614184b853c367e7e29cb6f9c50163','d3a07c4f573c05dacf2a5a7d55a8825a756a661517e73c408fbd91ca6ad6049c');
INSERT INTO "audit" VALUES(30,'2026-11-21T12:00:02.000000+00:00','bot','request.pending','R-MVRB','{"digest":"3e2821ca4c5c01fc6c15f63fcfaf524564c641e5cc40fd7775f9eb4fe74fa2e5","policy":"f34c87054759ce78280ed3099c7bee7d01b4ffdf841e7bff14c94cf9f274846f","quorum":[["admins",1]],"rule":"aliases"}','d3a07c4f573c05dacf2a5a7d55a8825a756a661517e73c408fbd91ca6ad6049c','2a8803d17dbd274f45e5c52c9006fb0749d69ec29dfbab94f8cb812937eef90f');
INSERT INTO "audit" VALUES(31,'2026-11-21T12:00:02.000000+00:00','bot','card.posted','R-MVRB','{"channel":"C00000012","digest":"3e2821ca4c5c01fc6c15f63fcfaf524564c641e5cc40fd7775f9eb4fe74fa2e5","ts":"1795262402.000030"}','2a8803d17dbd274f45e5c52c9006fb0749d69ec29dfbab94f8cb812937eef90f','defff6afb5b9197f12a3c267c709f12a0b8d71f76b9bdce3988ee6df765be737');
INSERT INTO "audit" VALUES(32,'2026-11-21T12:00:02.000000+00:00','U00000002','request.cancelled','R-MVRB','{}','defff6afb5b9197f12a3c267c709f12a0b8d71f76b9bdce3988ee6df765be737','0402561b1be67bb84905371cac3276ada38f18736829041898edd5e07fed6041');
INSERT INTO "audit" VALUES(33,'2026-11-21T12:00:02.000000+00:00','U00000002','request.new','R-EB43','{"change":{"action":"alias.add","destinations":[],"expires_on":null,"mailbox":null,"reason":"","target":"bob@example.com"},"team":"T0000HOME"}','0402561b1be67bb84905371cac3276ada38f18736829041898edd5e07fed6041','c7e3c16d7bd62a80129a754ce4a5eb33c4dc6d1d16f2fd868c8ec14a43c8559a');
INSERT INTO "audit" VALUES(34,'2026-11-21T12:00:02.000000+00:00','bot','request.refused','R-EB43','{"result":"`bob@example.com` already delivers somewhere else. Ask an administrator.","rule":"aliases"}','c7e3c16d7bd62a80129a754ce4a5eb33c4dc6d1d16f2fd868c8ec14a43c8559a','e1d5776893916df45b4ecb10239fd9cbddbfb066e2853620e01ad6f2fd9cdff5');
INSERT INTO "audit" VALUES(35,'2026-11-21T12:00:02.000000+00:00','U00000002','request.new','R-X8MN','{"change":{"action":"alias.add","destinations":[],"expires_on":null,"mailbox":null,"reason":"","target":"failed@example.com"},"team":"T0000HOME"}','e1d5776893916df45b4ecb10239fd9cbddbfb066e2853620e01ad6f2fd9cdff5','1c9f48de3cd16d80246293cadca482984d29507abffbe52b0de9d70a77ab232a');
INSERT INTO "audit" VALUES(36,'2026-11-21T12:00:02.000000+00:00','bot','request.pending','R-X8MN','{"digest":"4dc3f0bb387b00d6c86f1eba0bd8bbf12c2eb6e7a2431e0b3220dd50a5700c22","policy":"f34c87054759ce78280ed3099c7bee7d01b4ffdf841e7bff14c94cf9f274846f","quorum":[["admins",1]],"rule":"aliases"}','1c9f48de3cd16d80246293cadca482984d29507abffbe52b0de9d70a77ab232a','f298d641fdb2725cdf00b57ef85abde4408000d0ea824bc4dfc49c1313ef03ce');
INSERT INTO "audit" VALUES(37,'2026-11-21T12:00:02.000000+00:00','bot','card.posted','R-X8MN','{"channel":"C00000012","digest":"4dc3f0bb387b00d6c86f1eba0bd8bbf12c2eb6e7a2431e0b3220dd50a5700c22","ts":"1795262402.000034"}','f298d641fdb2725cdf00b57ef85abde4408000d0ea824bc4dfc49c1313ef03ce','dbc00f4f4320fe5436eac557832df24f5bd1d27135cd88c361c982154b886abd');
INSERT INTO "audit" VALUES(38,'2026-11-21T12:00:02.000000+00:00','U00000004','vote.cast','R-X8MN','{"approves":true,"card":["C00000012","1795262402.000034"],"reason":""}','dbc00f4f4320fe5436eac557832df24f5bd1d27135cd88c361c982154b886abd','5ab0ffe28549a0620bf0196d5353096ed2b4f9df0f249868422404732c08739b');
INSERT INTO "audit" VALUES(39,'2026-11-21T12:00:03.000000+00:00','U00000004','vote.counted','R-X8MN','{"approves":true,"groups":["admins"],"mailbox":"bob@example.com","reason":""}','5ab0ffe28549a0620bf0196d5353096ed2b4f9df0f249868422404732c08739b','48b52d4df8e820d2d32c988be10aee599507d89ea39c22005c744d4c4400ae7e');
INSERT INTO "audit" VALUES(40,'2026-11-21T12:00:03.000000+00:00','bot','request.approved','R-X8MN','{}','48b52d4df8e820d2d32c988be10aee599507d89ea39c22005c744d4c4400ae7e','d86eb78b0cea6c60e4bc45174da480aa72bb246b5787719b737433231134c1b9');
INSERT INTO "audit" VALUES(41,'2026-11-21T12:00:03.000000+00:00','bot','request.executing','R-X8MN','{"attempt":1}','d86eb78b0cea6c60e4bc45174da480aa72bb246b5787719b737433231134c1b9','1cb8aed0ac2e3f9fb98bc7ad8ae27f1ebdb1fcc847e46933d419e8131adddd3f');
INSERT INTO "audit" VALUES(42,'2026-11-21T12:00:03.000000+00:00','bot','request.failed','R-X8MN','{"result":"`failed@example.com` already delivers somewhere else. Ask an administrator."}','1cb8aed0ac2e3f9fb98bc7ad8ae27f1ebdb1fcc847e46933d419e8131adddd3f','ff79546c217654e0d98f5ca618d13e6f83bd507a1a47d55f0abd14e8508c4766');
INSERT INTO "audit" VALUES(43,'2026-11-21T12:00:03.000000+00:00','U00000002','request.new','R-4MVG','{"change":{"action":"alias.add","destinations":[],"expires_on":null,"mailbox":null,"reason":"","target":"expired@example.com"},"team":"T0000HOME"}','ff79546c217654e0d98f5ca618d13e6f83bd507a1a47d55f0abd14e8508c4766','d7572c69e83ce4d7896b35e8be82cda4a72a151840c95e9ddf5eadf023023ba2');
INSERT INTO "audit" VALUES(44,'2026-11-21T12:00:03.000000+00:00','bot','request.pending','R-4MVG','{"digest":"9431d4c8e54d3c7858afdab5d48ccd0dd5a30f003dc530c0a265970f2ca4b8c4","policy":"f34c87054759ce78280ed3099c7bee7d01b4ffdf841e7bff14c94cf9f274846f","quorum":[["admins",1]],"rule":"aliases"}','d7572c69e83ce4d7896b35e8be82cda4a72a151840c95e9ddf5eadf023023ba2','7e55c24fb5e33cc9c8dd5f744725093d0f9f42bdd2612206dbe306cd3f164e3d');
INSERT INTO "audit" VALUES(45,'2026-11-21T12:00:03.000000+00:00','bot','card.posted','R-4MVG','{"channel":"C00000012","digest":"9431d4c8e54d3c7858afdab5d48ccd0dd5a30f003dc530c0a265970f2ca4b8c4","ts":"1795262403.000037"}','7e55c24fb5e33cc9c8dd5f744725093d0f9f42bdd2612206dbe306cd3f164e3d','dae8026399e3200e24088426a5a6461d50610d967ea614bf50479a80818c9f0a');
INSERT INTO "audit" VALUES(46,'2026-11-23T12:00:03.000000+00:00','bot','request.expired','R-4MVG','{}','dae8026399e3200e24088426a5a6461d50610d967ea614bf50479a80818c9f0a','8d5379ac6447a05597aa7715516f253934256bcc1f0c6e0ce4c6494fd314aa9b');
INSERT INTO "audit" VALUES(47,'2026-11-23T12:00:03.000000+00:00','U00000002','request.new','R-7JWR','{"change":{"action":"alias.add","destinations":[],"expires_on":null,"mailbox":null,"reason":"For orders.","target":"pending@example.com"},"team":"T0000HOME"}','8d5379ac6447a05597aa7715516f253934256bcc1f0c6e0ce4c6494fd314aa9b','43ddad6688ace02ae314ea7bbcc2be68aa1fa6385d00d1b9f54da10f0c4fd504');
INSERT INTO "audit" VALUES(48,'2026-11-23T12:00:03.000000+00:00','bot','request.pending','R-7JWR','{"digest":"a8a90d6da612867720c0c8d124ad38a75a7959271eb7b8cbb45825c29fb465f6","policy":"f34c87054759ce78280ed3099c7bee7d01b4ffdf841e7bff14c94cf9f274846f","quorum":[["admins",1]],"rule":"aliases"}','43ddad6688ace02ae314ea7bbcc2be68aa1fa6385d00d1b9f54da10f0c4fd504','6289588daabe25e81a21538413d854f33e4d620ba715739571eded481db417b3');
INSERT INTO "audit" VALUES(49,'2026-11-23T12:00:03.000000+00:00','bot','card.posted','R-7JWR','{"channel":"C00000012","digest":"a8a90d6da612867720c0c8d124ad38a75a7959271eb7b8cbb45825c29fb465f6","ts":"1795435203.000040"}','6289588daabe25e81a21538413d854f33e4d620ba715739571eded481db417b3','507a1c53af0ef5430260c388ba8636f20b4058c3516e535977d0bfe97cdd2cae');
INSERT INTO "audit" VALUES(50,'2026-11-23T12:00:03.000000+00:00','U00000002','request.new','R-NHES','{"change":{"action":"forward.add","destinations":["dora@example.com","far@elsewhere.example"],"expires_on":null,"mailbox":null,"reason":"","target":"team@example.com"},"team":"T0000HOME"}','507a1c53af0ef5430260c388ba8636f20b4058c3516e535977d0bfe97cdd2cae','f5fbbf17529f1d34bcd1832e10e8ba16337f852ea47b068d92474bd15ac40d5b');
INSERT INTO "audit" VALUES(51,'2026-11-23T12:00:03.000000+00:00','bot','request.pending','R-NHES','{"digest":"bcc0c5e111d904045215915a69597c8d0535622b47b53aa5df007682679693c0","policy":"f34c87054759ce78280ed3099c7bee7d01b4ffdf841e7bff14c94cf9f274846f","quorum":[["admins",1],["security",1]],"rule":"forwards"}','f5fbbf17529f1d34bcd1832e10e8ba16337f852ea47b068d92474bd15ac40d5b','d2a480bd1cf2059c6d1f01c2602efc88d9c0101377b3fd2660ed04a8afb89aa2');
INSERT INTO "audit" VALUES(52,'2026-11-23T12:00:03.000000+00:00','bot','card.posted','R-NHES','{"channel":"C00000012","digest":"bcc0c5e111d904045215915a69597c8d0535622b47b53aa5df007682679693c0","ts":"1795435203.000042"}','d2a480bd1cf2059c6d1f01c2602efc88d9c0101377b3fd2660ed04a8afb89aa2','e8510997560a16c452346e29f2f2590c6165db9499506c4fae3c7c4f30645062');
INSERT INTO "audit" VALUES(53,'2026-11-23T12:00:03.000000+00:00','U00000004','vote.cast','R-NHES','{"approves":true,"card":["C00000012","1795435203.000042"],"reason":""}','e8510997560a16c452346e29f2f2590c6165db9499506c4fae3c7c4f30645062','f623f62dcb2e6c6381089c36ac29ab9bcba57a4cd74a3c09fafed8364219b551');
INSERT INTO "audit" VALUES(54,'2026-11-23T12:00:04.000000+00:00','U00000004','vote.counted','R-NHES','{"approves":true,"groups":["admins"],"mailbox":"bob@example.com","reason":""}','f623f62dcb2e6c6381089c36ac29ab9bcba57a4cd74a3c09fafed8364219b551','3a957bd9856a88ded2ca53819450ec81c1af214e23a67ad84f6204dd0624cae2');
INSERT INTO "audit" VALUES(55,'2026-11-23T12:00:04.000000+00:00','U00000002','request.new','R-KVRP','{"change":{"action":"password","destinations":[],"expires_on":null,"mailbox":null,"reason":"","target":"erin@example.com"},"team":"T0000HOME"}','3a957bd9856a88ded2ca53819450ec81c1af214e23a67ad84f6204dd0624cae2','3b331c85d943cc8f87cb4b30d58bf8fcbc4de4471d40c596f7cdaed313292bda');
INSERT INTO "audit" VALUES(56,'2026-11-23T12:00:04.000000+00:00','bot','request.pending','R-KVRP','{"digest":"4fb3ba2b669f4b185208094ca23cd9a50054cca1f182930f670dffa3002a996f","policy":"f34c87054759ce78280ed3099c7bee7d01b4ffdf841e7bff14c94cf9f274846f","quorum":[["admins",2]],"rule":"passwords"}','3b331c85d943cc8f87cb4b30d58bf8fcbc4de4471d40c596f7cdaed313292bda','362cfa25cba387e44d698a0737bd6007ba049e4c046a2687abd1e755a248e934');
INSERT INTO "audit" VALUES(57,'2026-11-23T12:00:04.000000+00:00','bot','card.posted','R-KVRP','{"channel":"C00000012","digest":"4fb3ba2b669f4b185208094ca23cd9a50054cca1f182930f670dffa3002a996f","ts":"1795435204.000044"}','362cfa25cba387e44d698a0737bd6007ba049e4c046a2687abd1e755a248e934','f54e347bcb96b9099be9175959478e7e27eb0730da49ef656bf32a8eb77a2a34');
INSERT INTO "audit" VALUES(58,'2026-11-23T12:00:04.000000+00:00','U00000004','vote.cast','R-KVRP','{"approves":true,"card":["C00000012","1795435204.000044"],"reason":""}','f54e347bcb96b9099be9175959478e7e27eb0730da49ef656bf32a8eb77a2a34','243241598f8221f9ccf36e3ce2381b1ea35de035f1b7bd6c2b88b33b3f67c473');
INSERT INTO "audit" VALUES(59,'2026-11-23T12:00:05.000000+00:00','U00000004','vote.counted','R-KVRP','{"approves":true,"groups":["admins"],"mailbox":"bob@example.com","reason":""}','243241598f8221f9ccf36e3ce2381b1ea35de035f1b7bd6c2b88b33b3f67c473','627882dbaba137d2a1ac9272b904141444265829bb005f1c2edcc82b8c5c9c62');
INSERT INTO "audit" VALUES(60,'2026-11-23T12:00:05.000000+00:00','U00000006','vote.cast','R-KVRP','{"approves":true,"card":["C00000012","1795435204.000044"],"reason":""}','627882dbaba137d2a1ac9272b904141444265829bb005f1c2edcc82b8c5c9c62','766a1d9b27bf5988988b4dadc2987177760655f2ed9665ae52d852aa58d366b5');
INSERT INTO "audit" VALUES(61,'2026-11-23T12:00:06.000000+00:00','U00000006','vote.counted','R-KVRP','{"approves":true,"groups":["admins"],"mailbox":"carol@example.com","reason":""}','766a1d9b27bf5988988b4dadc2987177760655f2ed9665ae52d852aa58d366b5','4b225edf806cb4ff45589f70d776f02429e3608d1f12bb660be67249dbc2ed42');
INSERT INTO "audit" VALUES(62,'2026-11-23T12:00:06.000000+00:00','bot','request.approved','R-KVRP','{}','4b225edf806cb4ff45589f70d776f02429e3608d1f12bb660be67249dbc2ed42','6a5f5653a88a25a10a3d6b77eba73100db01d59f3429cff1b6d1f5b2d8d41b2c');
INSERT INTO "audit" VALUES(63,'2026-11-23T12:00:06.000000+00:00','U00000004','request.new','R-CP7B','{"change":{"action":"alias.add","destinations":[],"expires_on":null,"mailbox":null,"reason":"","target":"voted@example.com"},"team":"T0000HOME"}','6a5f5653a88a25a10a3d6b77eba73100db01d59f3429cff1b6d1f5b2d8d41b2c','ee35c357f2abb4ac69b29cfdff76a027b25196a56bd1da575ccab327383c7672');
INSERT INTO "audit" VALUES(64,'2026-11-23T12:00:06.000000+00:00','bot','request.pending','R-CP7B','{"digest":"0fc38c81415ada48512d6780c865df49607641202f8fcc020db4a5986c427b51","policy":"f34c87054759ce78280ed3099c7bee7d01b4ffdf841e7bff14c94cf9f274846f","quorum":[["admins",1]],"rule":"aliases"}','ee35c357f2abb4ac69b29cfdff76a027b25196a56bd1da575ccab327383c7672','6009361470d051dcfe30615298bdaa8114dffd63d57a22df8ac0f14edca11af3');
INSERT INTO "audit" VALUES(65,'2026-11-23T12:00:06.000000+00:00','bot','card.posted','R-CP7B','{"channel":"C00000012","digest":"0fc38c81415ada48512d6780c865df49607641202f8fcc020db4a5986c427b51","ts":"1795435206.000047"}','6009361470d051dcfe30615298bdaa8114dffd63d57a22df8ac0f14edca11af3','6e82a5ef470b5b5b7505527da2f236c6427ba8c1868ff69220df07493c72a028');
INSERT INTO "audit" VALUES(66,'2026-11-23T12:00:06.000000+00:00','U00000004','request.new','R-AFVH','{"change":{"action":"alias.add","destinations":[],"expires_on":null,"mailbox":null,"reason":"","target":"late@example.com"},"team":"T0000HOME"}','6e82a5ef470b5b5b7505527da2f236c6427ba8c1868ff69220df07493c72a028','20ea44a90a343d2ed122d9071263b6fb48ce48628d1bc93258525442518a357f');
INSERT INTO "audit" VALUES(67,'2026-11-23T12:00:06.000000+00:00','bot','request.pending','R-AFVH','{"digest":"f6680baca6d61d63ee87af7cadd8719d3c34c8517aaba46417fe69d0934b4e10","policy":"f34c87054759ce78280ed3099c7bee7d01b4ffdf841e7bff14c94cf9f274846f","quorum":[["admins",1]],"rule":"aliases"}','20ea44a90a343d2ed122d9071263b6fb48ce48628d1bc93258525442518a357f','7751e7dbac156c5041f7e060e3c0ffd44d33e6dddfd66e0080e608aac7d98375');
INSERT INTO "audit" VALUES(68,'2026-11-23T12:00:06.000000+00:00','bot','card.posted','R-AFVH','{"channel":"C00000012","digest":"f6680baca6d61d63ee87af7cadd8719d3c34c8517aaba46417fe69d0934b4e10","ts":"1795435206.000049"}','7751e7dbac156c5041f7e060e3c0ffd44d33e6dddfd66e0080e608aac7d98375','58c5a3ba4eacfa2ef68c34accf9ceada83574ae0e7c48da3db6fbab86de81d72');
INSERT INTO "audit" VALUES(69,'2026-11-23T12:00:06.000000+00:00','U00000004','request.new','R-34W2','{"change":{"action":"alias.add","destinations":[],"expires_on":null,"mailbox":null,"reason":"","target":"waiting@example.com"},"team":"T0000HOME"}','58c5a3ba4eacfa2ef68c34accf9ceada83574ae0e7c48da3db6fbab86de81d72','74300edad3dff8bb68463bb7ef87e99bb466709be73806418e3590e349b22084');
INSERT INTO "audit" VALUES(70,'2026-11-23T12:00:06.000000+00:00','bot','request.pending','R-34W2','{"digest":"800b2d1fab25403233fcef8ceb1e6f3c2fa85743e6209dc5d1d82204def3695b","policy":"f34c87054759ce78280ed3099c7bee7d01b4ffdf841e7bff14c94cf9f274846f","quorum":[["admins",1]],"rule":"aliases"}','74300edad3dff8bb68463bb7ef87e99bb466709be73806418e3590e349b22084','d67eaa7acb93e025af281add1848ac41cf8e4bad1f87bf65e84943a36267242d');
INSERT INTO "audit" VALUES(71,'2026-11-23T12:00:06.000000+00:00','bot','card.posted','R-34W2','{"channel":"C00000012","digest":"800b2d1fab25403233fcef8ceb1e6f3c2fa85743e6209dc5d1d82204def3695b","ts":"1795435206.000051"}','d67eaa7acb93e025af281add1848ac41cf8e4bad1f87bf65e84943a36267242d','a67a62d919e256e92f43cdfbb21d3854ce3d7cc1d8acc64d4e63e49b25a14590');
INSERT INTO "audit" VALUES(72,'2026-11-23T12:00:06.000000+00:00','U00000006','request.new','R-ZSPK','{"change":{"action":"alias.add","destinations":[],"expires_on":null,"mailbox":null,"reason":"","target":"executing@example.com"},"team":"T0000HOME"}','a67a62d919e256e92f43cdfbb21d3854ce3d7cc1d8acc64d4e63e49b25a14590','94a4da066e1a06daa6dfe5533a9202ecffa2864c6ec09a8c27d8469cc5dae058');
INSERT INTO "audit" VALUES(73,'2026-11-23T12:00:06.000000+00:00','bot','request.pending','R-ZSPK','{"digest":"676efb047fc53372546fdf7b9241732a7e881831728a008ca05a7b53933ba17a","policy":"f34c87054759ce78280ed3099c7bee7d01b4ffdf841e7bff14c94cf9f274846f","quorum":[["admins",1]],"rule":"aliases"}','94a4da066e1a06daa6dfe5533a9202ecffa2864c6ec09a8c27d8469cc5dae058','ef45ea73aad0506ce10a99fb92534b9498dc65d36ed489402f0f8bbf05308a2b');
INSERT INTO "audit" VALUES(74,'2026-11-23T12:00:06.000000+00:00','bot','card.posted','R-ZSPK','{"channel":"C00000012","digest":"676efb047fc53372546fdf7b9241732a7e881831728a008ca05a7b53933ba17a","ts":"1795435206.000053"}','ef45ea73aad0506ce10a99fb92534b9498dc65d36ed489402f0f8bbf05308a2b','9eecd25df1dcc83b784e475b7469008774cbcd20a5c9ff0582871c43d9286155');
INSERT INTO "audit" VALUES(75,'2026-11-23T12:00:06.000000+00:00','U00000006','vote.cast','R-CP7B','{"approves":true,"card":["C00000012","1795435206.000047"],"reason":""}','9eecd25df1dcc83b784e475b7469008774cbcd20a5c9ff0582871c43d9286155','cc9ca20177f64ab8e3bc1423a7a25de4146a29a9a4cab7ecc958ffdc875cb449');
INSERT INTO "audit" VALUES(76,'2026-11-23T12:00:06.000000+00:00','U00000006','vote.counted','R-CP7B','{"approves":true,"groups":["admins"],"mailbox":"carol@example.com","reason":""}','cc9ca20177f64ab8e3bc1423a7a25de4146a29a9a4cab7ecc958ffdc875cb449','7ca71e6b325ac3629dbfd886f2228e657d46c598e2b71aecb7111bf97814560e');
INSERT INTO "audit" VALUES(77,'2026-11-23T12:00:06.000000+00:00','bot','request.approved','R-CP7B','{}','7ca71e6b325ac3629dbfd886f2228e657d46c598e2b71aecb7111bf97814560e','11febd0967c834d3854618cac544c0151c3536f32cb8b48d6d6dfd0e9ce29ab9');
INSERT INTO "audit" VALUES(78,'2026-11-23T12:00:06.000000+00:00','bot','request.executing','R-CP7B','{"attempt":1}','11febd0967c834d3854618cac544c0151c3536f32cb8b48d6d6dfd0e9ce29ab9','35f2de46e94cfee1ea9fbfc323bcca46d54752d23c3db3a68ebf5f4799cb39d7');
INSERT INTO "audit" VALUES(79,'2026-11-23T12:00:06.000000+00:00','bot','request.approved','R-CP7B','{"again_in":3600,"attempt":1,"why":"The mail service is not responding properly right now."}','35f2de46e94cfee1ea9fbfc323bcca46d54752d23c3db3a68ebf5f4799cb39d7','c00bf781926e30732cb362bb94a05b806abef0095e6463a425a8741a0b31e45f');
INSERT INTO "audit" VALUES(80,'2026-11-23T12:00:06.000000+00:00','U00000006','request.new','R-WCTH','{"change":{"action":"password","destinations":[],"expires_on":null,"mailbox":null,"reason":"","target":"dora@example.com"},"team":"T0000HOME"}','c00bf781926e30732cb362bb94a05b806abef0095e6463a425a8741a0b31e45f','e3cb54b4bbcbbd7bbe9f08f88801ef2060827267ac09ca54a93089d969bbc36b');
INSERT INTO "audit" VALUES(81,'2026-11-23T12:00:06.000000+00:00','bot','request.pending','R-WCTH','{"digest":"1c55b58519863256d2b26d28a576480f448275e19834be8c8899c8add91c344a","policy":"f34c87054759ce78280ed3099c7bee7d01b4ffdf841e7bff14c94cf9f274846f","quorum":[["admins",2]],"rule":"passwords"}','e3cb54b4bbcbbd7bbe9f08f88801ef2060827267ac09ca54a93089d969bbc36b','ae10a92886eaa5f35f2c96f1bb1da1f89698a62b4b0d20b874aef10e54a8fe51');
INSERT INTO "audit" VALUES(82,'2026-11-23T12:00:06.000000+00:00','bot','card.posted','R-WCTH','{"channel":"C00000012","digest":"1c55b58519863256d2b26d28a576480f448275e19834be8c8899c8add91c344a","ts":"1795435206.000056"}','ae10a92886eaa5f35f2c96f1bb1da1f89698a62b4b0d20b874aef10e54a8fe51','c025b5d230aeda20bd1e110600840d63fb7764dd0fa91fdbe6d18d6a672d7fdd');
INSERT INTO "audit" VALUES(83,'2026-11-23T12:00:06.000000+00:00','U00000004','vote.cast','R-WCTH','{"approves":true,"card":["C00000012","1795435206.000056"],"reason":""}','c025b5d230aeda20bd1e110600840d63fb7764dd0fa91fdbe6d18d6a672d7fdd','ecbd32ba493e25f550f2d7a60a2fae89c5c313f758a106e8a72f0d0ecf0515b2');
INSERT INTO "audit" VALUES(84,'2026-11-23T12:00:07.000000+00:00','U00000004','vote.counted','R-WCTH','{"approves":true,"groups":["admins"],"mailbox":"bob@example.com","reason":""}','ecbd32ba493e25f550f2d7a60a2fae89c5c313f758a106e8a72f0d0ecf0515b2','059afdd87d76e6800761f490790b2f5e6812416a30e6fb601cd6cf8ee836f0a6');
INSERT INTO "audit" VALUES(85,'2026-11-23T12:00:07.000000+00:00','U00000008','vote.cast','R-WCTH','{"approves":true,"card":["C00000012","1795435206.000056"],"reason":""}','059afdd87d76e6800761f490790b2f5e6812416a30e6fb601cd6cf8ee836f0a6','41e89f789169c9a5cfee190b595fab80ab14c5c57b76b7444be9a9ae24c3787a');
INSERT INTO "audit" VALUES(86,'2026-11-23T12:00:08.000000+00:00','U00000008','vote.counted','R-WCTH','{"approves":true,"groups":["admins"],"mailbox":"dora@example.com","reason":""}','41e89f789169c9a5cfee190b595fab80ab14c5c57b76b7444be9a9ae24c3787a','00c529e9da21686a379d996a2a36f60f8c42d70e89e53ba3f539083f42a96113');
INSERT INTO "audit" VALUES(87,'2026-11-23T12:00:08.000000+00:00','bot','request.approved','R-WCTH','{}','00c529e9da21686a379d996a2a36f60f8c42d70e89e53ba3f539083f42a96113','3e6416541dc11e10b07942403d6d189a5a1130e660824b07c655af0a07d4ca5e');
INSERT INTO "audit" VALUES(88,'2026-11-23T12:00:08.000000+00:00','bot','request.executing','R-WCTH','{}','3e6416541dc11e10b07942403d6d189a5a1130e660824b07c655af0a07d4ca5e','f802e8743282b56257a6810c287510faabfcd480ba47d4fa3c11983e7b7c32a7');
INSERT INTO "audit" VALUES(89,'2026-11-23T12:00:08.000000+00:00','U00000008','request.new','R-F6N2','{"change":{"action":"alias.add","destinations":[],"expires_on":null,"mailbox":null,"reason":"","target":"blocked@example.com"},"team":"T0000HOME"}','f802e8743282b56257a6810c287510faabfcd480ba47d4fa3c11983e7b7c32a7','b0a10f5462a5734bec6d51f608096dfd9af2bb758d6cf4c987f32748d247a5eb');
INSERT INTO "audit" VALUES(90,'2026-11-23T12:00:12.000000+00:00','U00000004','vote.cast','R-ZSPK','{"approves":true,"card":["C00000012","1795435206.000053"],"reason":""}','b0a10f5462a5734bec6d51f608096dfd9af2bb758d6cf4c987f32748d247a5eb','87777771cf3898d2a28368246ad2665ba501627224ff8b3e30ad72ce1e20a902');
INSERT INTO "audit" VALUES(91,'2026-11-23T12:00:12.000000+00:00','U00000004','vote.counted','R-ZSPK','{"approves":true,"groups":["admins"],"mailbox":"bob@example.com","reason":""}','87777771cf3898d2a28368246ad2665ba501627224ff8b3e30ad72ce1e20a902','3d07e243ed8253373afd15956bafd61b6037901167451f5ef66bc0e615619be2');
INSERT INTO "audit" VALUES(92,'2026-11-23T12:00:12.000000+00:00','bot','request.approved','R-ZSPK','{}','3d07e243ed8253373afd15956bafd61b6037901167451f5ef66bc0e615619be2','ce9e881f4ee4b9d6f1055b4bb8705e40508f362d8391ba4bdfdcfe2929fb07be');
INSERT INTO "audit" VALUES(93,'2026-11-23T12:00:12.000000+00:00','bot','request.executing','R-ZSPK','{"attempt":1}','ce9e881f4ee4b9d6f1055b4bb8705e40508f362d8391ba4bdfdcfe2929fb07be','cb97f351d41bc555868e50cc7cb809624df3378f68ba212434970ee56e363ace');
INSERT INTO "audit" VALUES(94,'2026-11-23T12:00:12.000000+00:00','U00000008','vote.cast','R-AFVH','{"approves":true,"card":["C00000012","1795435206.000049"],"reason":""}','cb97f351d41bc555868e50cc7cb809624df3378f68ba212434970ee56e363ace','3adfdbc8e1df250595ff1d6076332f075d1c85c0a90902524d8fe25ddc41a60c');
INSERT INTO "audit" VALUES(95,'2026-11-23T12:00:12.000000+00:00','U00000008','request.new','R-J8DJ','{"change":{"action":"alias.add","destinations":[],"expires_on":null,"mailbox":null,"reason":"","target":"new@example.com"},"team":"T0000HOME"}','3adfdbc8e1df250595ff1d6076332f075d1c85c0a90902524d8fe25ddc41a60c','fa1e8c0103fddb87526249831ed59d51a2921c35f7bc1ac9728d6f4906fd028c');
CREATE TABLE audit_cursor (
	id INTEGER NOT NULL CHECK (id = 1),
	seq INTEGER NOT NULL,
	PRIMARY KEY (id)
);
INSERT INTO "audit_cursor" VALUES(1,0);
CREATE TABLE audit_head (
	id INTEGER NOT NULL CHECK (id = 1),
	seq INTEGER NOT NULL,
	hash VARCHAR NOT NULL,
	PRIMARY KEY (id)
);
INSERT INTO "audit_head" VALUES(1,95,'fa1e8c0103fddb87526249831ed59d51a2921c35f7bc1ac9728d6f4906fd028c');
CREATE TABLE identity (
	user VARCHAR NOT NULL,
	email VARCHAR NOT NULL,
	since DATETIME NOT NULL,
	changed_at DATETIME,
	PRIMARY KEY (user)
);
INSERT INTO "identity" VALUES('U00000002','alice@example.com','2026-11-21 12:00:00.000000',NULL);
INSERT INTO "identity" VALUES('U00000004','bob@example.com','2026-11-21 12:00:01.000000',NULL);
INSERT INTO "identity" VALUES('U00000010','erin@example.com','2026-11-21 12:00:02.000000',NULL);
INSERT INTO "identity" VALUES('U00000006','carol@example.com','2026-11-23 12:00:06.000000',NULL);
INSERT INTO "identity" VALUES('U00000008','dora@example.com','2026-11-23 12:00:06.000000',NULL);
CREATE TABLE inbox (
	"key" VARCHAR(200) NOT NULL,
	at DATETIME NOT NULL,
	PRIMARY KEY ("key")
);
INSERT INTO "inbox" VALUES('test:0','2026-11-21 12:00:00.000000');
INSERT INTO "inbox" VALUES('test:1','2026-11-21 12:00:00.000000');
INSERT INTO "inbox" VALUES('test:2','2026-11-21 12:00:01.000000');
INSERT INTO "inbox" VALUES('test:3','2026-11-21 12:00:01.000000');
INSERT INTO "inbox" VALUES('test:4','2026-11-21 12:00:02.000000');
INSERT INTO "inbox" VALUES('test:5','2026-11-21 12:00:02.000000');
INSERT INTO "inbox" VALUES('test:6','2026-11-21 12:00:02.000000');
INSERT INTO "inbox" VALUES('test:7','2026-11-21 12:00:02.000000');
INSERT INTO "inbox" VALUES('test:8','2026-11-21 12:00:02.000000');
INSERT INTO "inbox" VALUES('test:9','2026-11-21 12:00:02.000000');
INSERT INTO "inbox" VALUES('test:10','2026-11-21 12:00:02.000000');
INSERT INTO "inbox" VALUES('test:11','2026-11-21 12:00:02.000000');
INSERT INTO "inbox" VALUES('test:12','2026-11-21 12:00:02.000000');
INSERT INTO "inbox" VALUES('test:13','2026-11-21 12:00:03.000000');
INSERT INTO "inbox" VALUES('test:14','2026-11-23 12:00:03.000000');
INSERT INTO "inbox" VALUES('test:15','2026-11-23 12:00:03.000000');
INSERT INTO "inbox" VALUES('test:16','2026-11-23 12:00:03.000000');
INSERT INTO "inbox" VALUES('test:17','2026-11-23 12:00:04.000000');
INSERT INTO "inbox" VALUES('test:18','2026-11-23 12:00:04.000000');
INSERT INTO "inbox" VALUES('test:19','2026-11-23 12:00:05.000000');
INSERT INTO "inbox" VALUES('test:20','2026-11-23 12:00:06.000000');
INSERT INTO "inbox" VALUES('test:21','2026-11-23 12:00:06.000000');
INSERT INTO "inbox" VALUES('test:22','2026-11-23 12:00:06.000000');
INSERT INTO "inbox" VALUES('test:23','2026-11-23 12:00:06.000000');
INSERT INTO "inbox" VALUES('test:24','2026-11-23 12:00:06.000000');
INSERT INTO "inbox" VALUES('test:25','2026-11-23 12:00:06.000000');
INSERT INTO "inbox" VALUES('test:26','2026-11-23 12:00:06.000000');
INSERT INTO "inbox" VALUES('test:27','2026-11-23 12:00:07.000000');
INSERT INTO "inbox" VALUES('test:28','2026-11-23 12:00:08.000000');
INSERT INTO "inbox" VALUES('test:29','2026-11-23 12:00:12.000000');
INSERT INTO "inbox" VALUES('test:30','2026-11-23 12:00:12.000000');
INSERT INTO "inbox" VALUES('test:31','2026-11-23 12:00:12.000000');
CREATE TABLE ledger (
	seq INTEGER NOT NULL,
	request VARCHAR(16) NOT NULL,
	at DATETIME NOT NULL,
	action VARCHAR(16) NOT NULL,
	target VARCHAR NOT NULL,
	mailbox VARCHAR,
	destinations JSON NOT NULL,
	expires_on DATE,
	reason VARCHAR NOT NULL,
	PRIMARY KEY (seq),
	UNIQUE (request),
	FOREIGN KEY(request) REFERENCES request (id)
);
INSERT INTO "ledger" VALUES(1,'R-NHG9','2026-11-21 12:00:01.000000','alias.add','done@example.com','alice@example.com','[]','2026-12-24','');
INSERT INTO "ledger" VALUES(2,'R-3HDN','2026-11-21 12:00:02.000000','alias.add','gone@example.com','alice@example.com','[]',NULL,'');
INSERT INTO "ledger" VALUES(3,'R-B97S','2026-11-21 12:00:02.000000','alias.remove','gone@example.com','alice@example.com','[]',NULL,'');
CREATE TABLE mailbox_lock (
	mailbox VARCHAR NOT NULL,
	owner VARCHAR NOT NULL,
	until DATETIME NOT NULL,
	PRIMARY KEY (mailbox)
);
CREATE TABLE request (
	id VARCHAR(16) NOT NULL,
	action VARCHAR(16) NOT NULL,
	target VARCHAR NOT NULL,
	mailbox VARCHAR,
	destinations JSON NOT NULL,
	expires_on DATE,
	reason VARCHAR NOT NULL,
	requester VARCHAR NOT NULL,
	team VARCHAR NOT NULL,
	state VARCHAR(16) NOT NULL,
	created_at DATETIME NOT NULL,
	origin VARCHAR NOT NULL,
	requester_mailbox VARCHAR,
	rule VARCHAR NOT NULL,
	quorum JSON NOT NULL,
	warnings JSON NOT NULL,
	digest VARCHAR NOT NULL,
	policy_digest VARCHAR NOT NULL,
	expires_at DATETIME,
	remind_at DATETIME,
	card_channel VARCHAR,
	card_ts VARCHAR,
	shown VARCHAR NOT NULL,
	told VARCHAR NOT NULL,
	attempts INTEGER NOT NULL,
	progress JSON NOT NULL,
	trouble VARCHAR NOT NULL,
	result VARCHAR NOT NULL,
	ended_at DATETIME,
	due_at DATETIME,
	lease_owner VARCHAR,
	lease_until DATETIME,
	leases INTEGER NOT NULL,
	version INTEGER NOT NULL, ends_at DATETIME,
	PRIMARY KEY (id)
);
INSERT INTO "request" VALUES('R-NHG9','alias.add','done@example.com','alice@example.com','[]','2026-12-24','','U00000002','T0000HOME','done','2026-11-21 12:00:00.000000','slack','alice@example.com','aliases','[["admins", 1]]','[]','cd2215921bea3891f5428971b5f0e8a57c0f9c80a655780e46fbb2db2d84a494','f34c87054759ce78280ed3099c7bee7d01b4ffdf841e7bff14c94cf9f274846f','2026-11-22 12:00:01.000000',NULL,'C00000012','1795262400.000016','done:1','pending done done-owner done-audit',1,'{"freeing": []}','','`done@example.com` delivers to `alice@example.com`.','2026-11-21 12:00:01.000000','2026-12-22 00:00:00.000000',NULL,NULL,2,1,'2026-12-25 00:00:00.000000');
INSERT INTO "request" VALUES('R-3HDN','alias.add','gone@example.com','alice@example.com','[]',NULL,'','U00000002','T0000HOME','done','2026-11-21 12:00:01.000000','slack','alice@example.com','aliases','[["admins", 1]]','[]','281624694413acb4fb49b02730724f181b09beccddb437c5f2d0a75b93939dfe','f34c87054759ce78280ed3099c7bee7d01b4ffdf841e7bff14c94cf9f274846f','2026-11-22 12:00:02.000000',NULL,'C00000012','1795262401.000020','done:1','pending done done-owner done-audit',1,'{"freeing": []}','','`gone@example.com` delivers to `alice@example.com`.','2026-11-21 12:00:02.000000',NULL,NULL,NULL,2,1,NULL);
INSERT INTO "request" VALUES('R-B97S','alias.remove','gone@example.com','alice@example.com','[]',NULL,'','U00000002','T0000HOME','done','2026-11-21 12:00:02.000000','slack','alice@example.com','own-removals','[]','[]','f522981b95cace8bb024f732254d6222364e068056d043f212a8e66896676fed','f34c87054759ce78280ed3099c7bee7d01b4ffdf841e7bff14c94cf9f274846f','2026-11-22 12:00:02.000000',NULL,NULL,NULL,'','done done-owner done-audit',1,'{"freeing": ["gone@example.com"]}','','`gone@example.com` no longer delivers to `alice@example.com`.','2026-11-21 12:00:02.000000',NULL,NULL,NULL,1,0,NULL);
INSERT INTO "request" VALUES('R-5J8V','alias.add','denied@example.com','alice@example.com','[]',NULL,'We need <this> & that.','U00000002','T0000HOME','denied','2026-11-21 12:00:02.000000','slack','alice@example.com','aliases','[["admins", 1]]','[]','187f561dfa9b7148c3505a7c13b0c554a9cdfe048dee026082406ddd4e708f1d','f34c87054759ce78280ed3099c7bee7d01b4ffdf841e7bff14c94cf9f274846f','2026-11-22 12:00:02.000000','2026-11-21 16:00:02.000000','C00000012','1795262402.000026','denied:1','pending denied',0,'{}','','Not now.','2026-11-21 12:00:02.000000',NULL,NULL,NULL,3,2,NULL);
INSERT INTO "request" VALUES('R-MVRB','alias.add','cancelled@example.com','alice@example.com','[]',NULL,'','U00000002','T0000HOME','cancelled','2026-11-21 12:00:02.000000','slack','alice@example.com','aliases','[["admins", 1]]','[]','3e2821ca4c5c01fc6c15f63fcfaf524564c641e5cc40fd7775f9eb4fe74fa2e5','f34c87054759ce78280ed3099c7bee7d01b4ffdf841e7bff14c94cf9f274846f','2026-11-22 12:00:02.000000','2026-11-21 16:00:02.000000','C00000012','1795262402.000030','cancelled:0','pending cancelled',0,'{}','','','2026-11-21 12:00:02.000000',NULL,NULL,NULL,2,1,NULL);
INSERT INTO "request" VALUES('R-EB43','alias.add','bob@example.com','alice@example.com','[]',NULL,'','U00000002','T0000HOME','refused','2026-11-21 12:00:02.000000','slack','alice@example.com','aliases','[["admins", 1]]','[]','e3cb485e290ed89b7a15d1aef1e1d575d0253010e95e4288958a2ae6591b4fb8','f34c87054759ce78280ed3099c7bee7d01b4ffdf841e7bff14c94cf9f274846f',NULL,NULL,NULL,NULL,'','refused',0,'{}','','`bob@example.com` already delivers somewhere else. Ask an administrator.','2026-11-21 12:00:02.000000',NULL,NULL,NULL,1,0,NULL);
INSERT INTO "request" VALUES('R-X8MN','alias.add','failed@example.com','alice@example.com','[]',NULL,'','U00000002','T0000HOME','failed','2026-11-21 12:00:02.000000','slack','alice@example.com','aliases','[["admins", 1]]','[]','4dc3f0bb387b00d6c86f1eba0bd8bbf12c2eb6e7a2431e0b3220dd50a5700c22','f34c87054759ce78280ed3099c7bee7d01b4ffdf841e7bff14c94cf9f274846f','2026-11-22 12:00:03.000000',NULL,'C00000012','1795262402.000034','failed:1','pending failed',1,'{}','','`failed@example.com` already delivers somewhere else. Ask an administrator.','2026-11-21 12:00:03.000000',NULL,NULL,NULL,2,1,NULL);
INSERT INTO "request" VALUES('R-4MVG','alias.add','expired@example.com','alice@example.com','[]',NULL,'','U00000002','T0000HOME','expired','2026-11-21 12:00:03.000000','slack','alice@example.com','aliases','[["admins", 1]]','[]','9431d4c8e54d3c7858afdab5d48ccd0dd5a30f003dc530c0a265970f2ca4b8c4','f34c87054759ce78280ed3099c7bee7d01b4ffdf841e7bff14c94cf9f274846f','2026-11-22 12:00:03.000000','2026-11-21 16:00:03.000000','C00000012','1795262403.000037','expired:0','pending expired',0,'{}','','','2026-11-23 12:00:03.000000',NULL,NULL,NULL,2,0,NULL);
INSERT INTO "request" VALUES('R-7JWR','alias.add','pending@example.com','alice@example.com','[]',NULL,'For orders.','U00000002','T0000HOME','pending','2026-11-23 12:00:03.000000','slack','alice@example.com','aliases','[["admins", 1]]','[]','a8a90d6da612867720c0c8d124ad38a75a7959271eb7b8cbb45825c29fb465f6','f34c87054759ce78280ed3099c7bee7d01b4ffdf841e7bff14c94cf9f274846f','2026-11-24 12:00:03.000000','2026-11-23 16:00:03.000000','C00000012','1795435203.000040','pending:0','pending',0,'{}','','',NULL,'2026-11-23 16:00:03.000000',NULL,NULL,1,0,NULL);
INSERT INTO "request" VALUES('R-NHES','forward.add','team@example.com',NULL,'["dora@example.com", "far@elsewhere.example"]',NULL,'','U00000002','T0000HOME','pending','2026-11-23 12:00:03.000000','slack','alice@example.com','forwards','[["admins", 1], ["security", 1]]','["Mail to `team@example.com` would leave our domains, to `far@elsewhere.example`."]','bcc0c5e111d904045215915a69597c8d0535622b47b53aa5df007682679693c0','f34c87054759ce78280ed3099c7bee7d01b4ffdf841e7bff14c94cf9f274846f','2026-11-24 12:00:03.000000','2026-11-23 16:00:03.000000','C00000012','1795435203.000042','pending:1','pending',0,'{}','','',NULL,'2026-11-23 16:00:03.000000',NULL,NULL,2,1,NULL);
INSERT INTO "request" VALUES('R-KVRP','password','erin@example.com',NULL,'[]',NULL,'','U00000002','T0000HOME','approved','2026-11-23 12:00:04.000000','slack','alice@example.com','passwords','[["admins", 2]]','["It is the password of somebody else''s mailbox."]','4fb3ba2b669f4b185208094ca23cd9a50054cca1f182930f670dffa3002a996f','f34c87054759ce78280ed3099c7bee7d01b4ffdf841e7bff14c94cf9f274846f','2026-11-24 12:00:06.000000',NULL,'C00000012','1795435204.000044','approved:2','pending approved-owner',0,'{}','','',NULL,'2026-11-24 12:00:06.000000',NULL,NULL,3,2,NULL);
INSERT INTO "request" VALUES('R-CP7B','alias.add','voted@example.com','bob@example.com','[]',NULL,'','U00000004','T0000HOME','approved','2026-11-23 12:00:06.000000','slack','bob@example.com','aliases','[["admins", 1]]','[]','0fc38c81415ada48512d6780c865df49607641202f8fcc020db4a5986c427b51','f34c87054759ce78280ed3099c7bee7d01b4ffdf841e7bff14c94cf9f274846f','2026-11-24 12:00:06.000000',NULL,'C00000012','1795435206.000047','approved:1','pending approved',1,'{}','The mail service is not responding properly right now.','',NULL,'2026-11-23 13:00:06.000000',NULL,NULL,2,1,NULL);
INSERT INTO "request" VALUES('R-AFVH','alias.add','late@example.com','bob@example.com','[]',NULL,'','U00000004','T0000HOME','pending','2026-11-23 12:00:06.000000','slack','bob@example.com','aliases','[["admins", 1]]','[]','f6680baca6d61d63ee87af7cadd8719d3c34c8517aaba46417fe69d0934b4e10','f34c87054759ce78280ed3099c7bee7d01b4ffdf841e7bff14c94cf9f274846f','2026-11-24 12:00:06.000000','2026-11-23 16:00:06.000000','C00000012','1795435206.000049','pending:0','pending',0,'{}','','',NULL,'2026-11-23 12:00:12.000000',NULL,NULL,1,1,NULL);
INSERT INTO "request" VALUES('R-34W2','alias.add','waiting@example.com','bob@example.com','[]',NULL,'','U00000004','T0000HOME','pending','2026-11-23 12:00:06.000000','slack','bob@example.com','aliases','[["admins", 1]]','[]','800b2d1fab25403233fcef8ceb1e6f3c2fa85743e6209dc5d1d82204def3695b','f34c87054759ce78280ed3099c7bee7d01b4ffdf841e7bff14c94cf9f274846f','2026-11-24 12:00:06.000000','2026-11-23 16:00:06.000000','C00000012','1795435206.000051','pending:0','pending',0,'{}','','',NULL,'2026-11-23 16:00:06.000000',NULL,NULL,1,0,NULL);
INSERT INTO "request" VALUES('R-ZSPK','alias.add','executing@example.com','carol@example.com','[]',NULL,'','U00000006','T0000HOME','executing','2026-11-23 12:00:06.000000','slack','carol@example.com','aliases','[["admins", 1]]','[]','676efb047fc53372546fdf7b9241732a7e881831728a008ca05a7b53933ba17a','f34c87054759ce78280ed3099c7bee7d01b4ffdf841e7bff14c94cf9f274846f','2026-11-24 12:00:12.000000',NULL,'C00000012','1795435206.000053','executing:1','pending',1,'{"freeing": []}','','',NULL,'2026-11-23 12:00:13.719197',NULL,NULL,2,2,NULL);
INSERT INTO "request" VALUES('R-WCTH','password','dora@example.com',NULL,'[]',NULL,'','U00000006','T0000HOME','executing','2026-11-23 12:00:06.000000','slack','carol@example.com','passwords','[["admins", 2]]','["It is the password of somebody else''s mailbox."]','1c55b58519863256d2b26d28a576480f448275e19834be8c8899c8add91c344a','f34c87054759ce78280ed3099c7bee7d01b4ffdf841e7bff14c94cf9f274846f','2026-11-24 12:00:08.000000',NULL,'C00000012','1795435206.000056','approved:2','pending approved-owner',1,'{}','','',NULL,'2026-11-24 12:00:08.000000','test/599845cd2313','2026-11-23 12:02:08.000000',4,2,NULL);
INSERT INTO "request" VALUES('R-F6N2','alias.add','blocked@example.com',NULL,'[]',NULL,'','U00000008','T0000HOME','new','2026-11-23 12:00:08.000000','slack',NULL,'','[]','[]','','','2026-11-24 12:00:08.000000',NULL,NULL,NULL,'','trouble',0,'{}','The mail service is not responding properly right now.','',NULL,'2026-11-23 12:00:14.509564',NULL,NULL,2,0,NULL);
INSERT INTO "request" VALUES('R-J8DJ','alias.add','new@example.com',NULL,'[]',NULL,'','U00000008','T0000HOME','new','2026-11-23 12:00:12.000000','slack',NULL,'','[]','[]','','',NULL,NULL,NULL,NULL,'','',0,'{}','','',NULL,'2026-11-23 12:00:12.000000',NULL,NULL,0,0,NULL);
CREATE TABLE tombstone (
	address VARCHAR NOT NULL,
	owner VARCHAR NOT NULL,
	at DATETIME NOT NULL,
	until DATETIME NOT NULL,
	PRIMARY KEY (address)
);
INSERT INTO "tombstone" VALUES('gone@example.com','alice@example.com','2026-11-21 12:00:02.000000','2027-02-19 12:00:02.000000');
CREATE TABLE vote (
	request VARCHAR(16) NOT NULL,
	voter VARCHAR NOT NULL,
	team VARCHAR NOT NULL,
	approves BOOLEAN NOT NULL,
	state VARCHAR(16) NOT NULL,
	at DATETIME NOT NULL,
	card_channel VARCHAR NOT NULL,
	card_ts VARCHAR NOT NULL,
	reason VARCHAR NOT NULL,
	mailbox VARCHAR,
	groups JSON NOT NULL,
	PRIMARY KEY (request, voter),
	FOREIGN KEY(request) REFERENCES request (id)
);
INSERT INTO "vote" VALUES('R-NHG9','U00000004','T0000HOME',1,'counted','2026-11-21 12:00:00.000000','C00000012','1795262400.000016','','bob@example.com','["admins"]');
INSERT INTO "vote" VALUES('R-3HDN','U00000004','T0000HOME',1,'counted','2026-11-21 12:00:01.000000','C00000012','1795262401.000020','','bob@example.com','["admins"]');
INSERT INTO "vote" VALUES('R-5J8V','U00000010','T0000HOME',1,'refused','2026-11-21 12:00:02.000000','C00000012','1795262402.000026','Only members of `admins` can answer this request.',NULL,'[]');
INSERT INTO "vote" VALUES('R-5J8V','U00000004','T0000HOME',0,'counted','2026-11-21 12:00:02.000000','C00000012','1795262402.000026','Not now.','bob@example.com','["admins"]');
INSERT INTO "vote" VALUES('R-X8MN','U00000004','T0000HOME',1,'counted','2026-11-21 12:00:02.000000','C00000012','1795262402.000034','','bob@example.com','["admins"]');
INSERT INTO "vote" VALUES('R-NHES','U00000004','T0000HOME',1,'counted','2026-11-23 12:00:03.000000','C00000012','1795435203.000042','','bob@example.com','["admins"]');
INSERT INTO "vote" VALUES('R-KVRP','U00000004','T0000HOME',1,'counted','2026-11-23 12:00:04.000000','C00000012','1795435204.000044','','bob@example.com','["admins"]');
INSERT INTO "vote" VALUES('R-KVRP','U00000006','T0000HOME',1,'counted','2026-11-23 12:00:05.000000','C00000012','1795435204.000044','','carol@example.com','["admins"]');
INSERT INTO "vote" VALUES('R-CP7B','U00000006','T0000HOME',1,'counted','2026-11-23 12:00:06.000000','C00000012','1795435206.000047','','carol@example.com','["admins"]');
INSERT INTO "vote" VALUES('R-WCTH','U00000004','T0000HOME',1,'counted','2026-11-23 12:00:06.000000','C00000012','1795435206.000056','','bob@example.com','["admins"]');
INSERT INTO "vote" VALUES('R-WCTH','U00000008','T0000HOME',1,'counted','2026-11-23 12:00:07.000000','C00000012','1795435206.000056','','dora@example.com','["admins"]');
INSERT INTO "vote" VALUES('R-ZSPK','U00000004','T0000HOME',1,'counted','2026-11-23 12:00:12.000000','C00000012','1795435206.000053','','bob@example.com','["admins"]');
INSERT INTO "vote" VALUES('R-AFVH','U00000008','T0000HOME',1,'cast','2026-11-23 12:00:12.000000','C00000012','1795435206.000049','',NULL,'[]');
CREATE INDEX request_due ON request (due_at);
CREATE INDEX request_requester ON request (requester, created_at);
CREATE INDEX request_state ON request (state);
CREATE UNIQUE INDEX vote_one_per_mailbox ON vote (request, mailbox) WHERE state = 'counted' AND approves;
CREATE INDEX ix_inbox_at ON inbox (at);
CREATE INDEX ix_audit_request ON audit (request);
CREATE TRIGGER audit_no_update BEFORE UPDATE ON audit  BEGIN SELECT RAISE(ABORT, 'the audit is only ever added to'); END;
CREATE TRIGGER audit_no_delete BEFORE DELETE ON audit  BEGIN SELECT RAISE(ABORT, 'the audit is only ever added to'); END;
CREATE TRIGGER audit_head_no_delete BEFORE DELETE ON audit_head  BEGIN SELECT RAISE(ABORT, 'the audit is only ever added to'); END;
CREATE TRIGGER audit_head_no_update BEFORE UPDATE ON audit_head WHEN NEW.seq <> OLD.seq + 1 BEGIN SELECT RAISE(ABORT, 'the audit is only ever added to'); END;
CREATE TRIGGER audit_no_replace BEFORE INSERT ON audit WHEN EXISTS (SELECT 1 FROM audit WHERE seq = NEW.seq) BEGIN SELECT RAISE(ABORT, 'the audit is only ever added to'); END;
CREATE TRIGGER audit_head_no_replace BEFORE INSERT ON audit_head WHEN EXISTS (SELECT 1 FROM audit_head WHERE id = NEW.id) BEGIN SELECT RAISE(ABORT, 'the audit is only ever added to'); END;
COMMIT;
