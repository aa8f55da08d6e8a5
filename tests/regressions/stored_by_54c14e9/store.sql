BEGIN TRANSACTION;
CREATE TABLE consumers (
	partition TEXT NOT NULL, 
	name TEXT NOT NULL, 
	claim TEXT, 
	deadline_ms BIGINT, 
	ends TEXT, 
	ended_ms BIGINT, 
	settled BIGINT, 
	host TEXT, 
	place TEXT, 
	PRIMARY KEY (partition, name)
);
INSERT INTO "consumers" VALUES('default','c-confirmed','{"allocations":{"h1":{"MEMORY_MB":512,"VCPU":2}},"alternates":"","attempt":1,"consumer":"c-confirmed","created_ms":1795351237474,"generation":2,"host":"h1","project":"p","request_id":"req-1","schema":1,"state":"confirmed","type":"INSTANCE","user":"u"}',NULL,NULL,NULL,NULL,'h1','h1|c-confirmed');
INSERT INTO "consumers" VALUES('default','c-prepared','{"allocations":{"h2":{"MEMORY_MB":256,"VCPU":1}},"alternates":"","attempt":1,"consumer":"c-prepared","created_ms":1795351237483,"deadline_ms":1795354837483,"generation":1,"group":{"id":"g1","max_per_host":1,"policy":"anti-affinity"},"host":"h2","project":"p","request_id":"req-1","schema":1,"state":"prepared","type":"INSTANCE","user":"u"}',1795354837483,NULL,NULL,NULL,'h2','h2|c-prepared');
INSERT INTO "consumers" VALUES('default','c-released',NULL,NULL,'{"1":"released"}',1795351237490,1795351237455,NULL,NULL);
CREATE TABLE decisions (
	partition TEXT NOT NULL, 
	number BIGINT NOT NULL, 
	request TEXT NOT NULL, 
	document TEXT NOT NULL, 
	PRIMARY KEY (partition, number)
);
CREATE TABLE gantt_schema (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT gantt_schema_pkc PRIMARY KEY (version_num)
);
INSERT INTO "gantt_schema" VALUES('0001');
CREATE TABLE log (
	partition TEXT NOT NULL, 
	position BIGINT NOT NULL, 
	schema INTEGER NOT NULL, 
	kind TEXT NOT NULL, 
	payload TEXT NOT NULL, 
	PRIMARY KEY (partition, position)
);
INSERT INTO "log" VALUES('default',1,1,'epoch','1795351237455');
INSERT INTO "log" VALUES('default',2,1,'service','{"h1":{"binary":"gantt-compute","disabled_reason":null,"enabled":true,"schema":1,"version":1}}');
INSERT INTO "log" VALUES('default',3,1,'alive','{"h1":true}');
INSERT INTO "log" VALUES('default',4,1,'provider','{"h1":{"availability_zone":null,"host":"h1","id":"h1","inventories":{"MEMORY_MB":{"allocation_ratio":1.0,"capacity":4096,"max_unit":2147483647,"min_unit":1,"reserved":0,"step_size":1,"total":4096},"VCPU":{"allocation_ratio":1.0,"capacity":8,"max_unit":2147483647,"min_unit":1,"reserved":0,"step_size":1,"total":8}},"kind":"compute","metrics":{},"parent":null,"root":"h1","schema":1,"traits":[],"version":1}}');
INSERT INTO "log" VALUES('default',5,1,'opened','{"h1":1795351237455}');
INSERT INTO "log" VALUES('default',6,1,'service','{"h2":{"binary":"gantt-compute","disabled_reason":null,"enabled":true,"schema":1,"version":1}}');
INSERT INTO "log" VALUES('default',7,1,'alive','{"h2":true}');
INSERT INTO "log" VALUES('default',8,1,'provider','{"h2":{"availability_zone":null,"host":"h2","id":"h2","inventories":{"MEMORY_MB":{"allocation_ratio":1.0,"capacity":4096,"max_unit":2147483647,"min_unit":1,"reserved":0,"step_size":1,"total":4096},"VCPU":{"allocation_ratio":1.0,"capacity":8,"max_unit":2147483647,"min_unit":1,"reserved":0,"step_size":1,"total":8}},"kind":"compute","metrics":{},"parent":null,"root":"h2","schema":1,"traits":[],"version":1}}');
INSERT INTO "log" VALUES('default',9,1,'opened','{"h2":1795351237455}');
INSERT INTO "log" VALUES('default',10,1,'used','{"h1":{"MEMORY_MB":512,"VCPU":2}}');
INSERT INTO "log" VALUES('default',11,1,'used','{"h2":{"MEMORY_MB":256,"VCPU":1}}');
INSERT INTO "log" VALUES('default',12,1,'used','{"h1":{"MEMORY_MB":576,"VCPU":3}}');
INSERT INTO "log" VALUES('default',13,1,'used','{"h1":{"MEMORY_MB":512,"VCPU":2}}');
CREATE TABLE partitions (
	name TEXT NOT NULL, 
	identity TEXT NOT NULL, 
	epoch BIGINT NOT NULL, 
	position BIGINT NOT NULL, 
	decision BIGINT NOT NULL, 
	PRIMARY KEY (name)
);
INSERT INTO "partitions" VALUES('default','sqlite 65024:2360083 boot a6dd0016-e7c7-4f39-813f-b5c1aea47337',1795351237455,13,0);
CREATE TABLE pins (
	partition TEXT NOT NULL, 
	name TEXT NOT NULL, 
	pinned TEXT, 
	until_ms BIGINT, 
	PRIMARY KEY (partition, name)
);
CREATE TABLE providers (
	partition TEXT NOT NULL, 
	name TEXT NOT NULL, 
	document TEXT, 
	capacity TEXT, 
	used TEXT, 
	changed BIGINT, 
	eligible BIGINT, 
	excess TEXT, 
	PRIMARY KEY (partition, name)
);
INSERT INTO "providers" VALUES('default','h1','{"availability_zone":null,"host":"h1","id":"h1","inventories":{"MEMORY_MB":{"allocation_ratio":1.0,"capacity":4096,"max_unit":2147483647,"min_unit":1,"reserved":0,"step_size":1,"total":4096},"VCPU":{"allocation_ratio":1.0,"capacity":8,"max_unit":2147483647,"min_unit":1,"reserved":0,"step_size":1,"total":8}},"kind":"compute","metrics":{},"parent":null,"root":"h1","schema":1,"traits":[],"version":1}','{"MEMORY_MB":4096,"VCPU":8}','{"MEMORY_MB":512,"VCPU":2}',13,4,NULL);
INSERT INTO "providers" VALUES('default','h2','{"availability_zone":null,"host":"h2","id":"h2","inventories":{"MEMORY_MB":{"allocation_ratio":1.0,"capacity":4096,"max_unit":2147483647,"min_unit":1,"reserved":0,"step_size":1,"total":4096},"VCPU":{"allocation_ratio":1.0,"capacity":8,"max_unit":2147483647,"min_unit":1,"reserved":0,"step_size":1,"total":8}},"kind":"compute","metrics":{},"parent":null,"root":"h2","schema":1,"traits":[],"version":1}','{"MEMORY_MB":4096,"VCPU":8}','{"MEMORY_MB":256,"VCPU":1}',11,8,NULL);
CREATE TABLE server_groups (
	partition TEXT NOT NULL, 
	name TEXT NOT NULL, 
	hosts TEXT, 
	PRIMARY KEY (partition, name)
);
INSERT INTO "server_groups" VALUES('default','g1','{"h2":1}');
CREATE TABLE services (
	partition TEXT NOT NULL, 
	name TEXT NOT NULL, 
	document TEXT, 
	report TEXT, 
	beat_ms BIGINT, 
	alive BOOLEAN, 
	opened BIGINT, 
	awaited BOOLEAN, 
	PRIMARY KEY (partition, name)
);
INSERT INTO "services" VALUES('default','h1','{"binary":"gantt-compute","disabled_reason":null,"enabled":true,"schema":1,"version":1}','{"incarnation":1,"nodes":["h1"],"schema":1,"sequence":1}',1795351237459,1,1795351237455,NULL);
INSERT INTO "services" VALUES('default','h2','{"binary":"gantt-compute","disabled_reason":null,"enabled":true,"schema":1,"version":1}','{"incarnation":1,"nodes":["h2"],"schema":1,"sequence":2}',1795351237468,1,1795351237455,NULL);
CREATE TABLE states (
	partition TEXT NOT NULL, 
	namespace TEXT NOT NULL, 
	name TEXT NOT NULL, 
	version BIGINT NOT NULL, 
	document TEXT NOT NULL, 
	PRIMARY KEY (partition, namespace, name)
);
CREATE INDEX decisions_by_request ON decisions (partition, request, number);
CREATE INDEX consumers_by_deadline ON consumers (partition, deadline_ms) WHERE deadline_ms IS NOT NULL;
CREATE INDEX consumers_by_end ON consumers (partition, ended_ms) WHERE ended_ms IS NOT NULL;
CREATE INDEX consumers_by_host ON consumers (partition, host) WHERE host IS NOT NULL;
CREATE INDEX consumers_by_place ON consumers (partition, place) WHERE place IS NOT NULL;
CREATE INDEX services_by_beat ON services (partition, beat_ms) WHERE beat_ms IS NOT NULL;
CREATE INDEX services_awaited ON services (partition, awaited) WHERE awaited IS NOT NULL;
CREATE INDEX pins_by_end ON pins (partition, until_ms) WHERE until_ms IS NOT NULL;
COMMIT;