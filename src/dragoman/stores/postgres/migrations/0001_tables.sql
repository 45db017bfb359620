-- passages, vectors, dialogues and kept values, each scope's rows in one of sixteen partitions
CREATE SEQUENCE ticks;
CREATE SEQUENCE passage_keys;
CREATE SEQUENCE turn_keys;
CREATE TABLE identity (store text NOT NULL);
INSERT INTO identity VALUES (replace(gen_random_uuid()::text, '-', ''));
CREATE TABLE passages (
    seq bigint NOT NULL,
    tenant text COLLATE "C" NOT NULL, "user" text COLLATE "C" NOT NULL,
    source text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL,
    text text NOT NULL, title text NOT NULL, headings text NOT NULL, parent text COLLATE "C",
    position bigint NOT NULL, origin text COLLATE "C" NOT NULL, meta text NOT NULL,
    digest bytea NOT NULL, tokens text NOT NULL, length integer NOT NULL,
    superseded_by text, changed bigint NOT NULL,
    PRIMARY KEY (tenant, "user", seq)
) PARTITION BY HASH (tenant, "user");
CREATE UNIQUE INDEX passages_by_id ON passages (tenant, "user", id);
CREATE INDEX passages_by_source ON passages (tenant, "user", source, seq);
CREATE INDEX passages_by_change ON passages (tenant, "user", source, changed, seq);
CREATE TABLE vectors (
    tenant text COLLATE "C" NOT NULL, "user" text COLLATE "C" NOT NULL, source text COLLATE "C" NOT NULL,
    seq bigint NOT NULL, id text COLLATE "C" NOT NULL, parent text COLLATE "C",
    superseded smallint NOT NULL, vector vector NOT NULL,
    PRIMARY KEY (tenant, "user", source, seq)
) PARTITION BY HASH (tenant, "user");
-- rewritten: an index that is good up to an earlier tick only has to be made anew; adding rows is not enough
CREATE TABLE places (
    tenant text COLLATE "C" NOT NULL, "user" text COLLATE "C" NOT NULL, source text COLLATE "C" NOT NULL,
    counter bigint NOT NULL, live bigint NOT NULL, length bigint NOT NULL,
    rewritten bigint NOT NULL DEFAULT currval('ticks'),
    PRIMARY KEY (tenant, "user", source)
) PARTITION BY HASH (tenant, "user");
CREATE TABLE turns (
    seq bigint NOT NULL DEFAULT nextval('turn_keys'),
    tenant text COLLATE "C" NOT NULL, "user" text COLLATE "C" NOT NULL, dialogue text COLLATE "C" NOT NULL,
    speaker text NOT NULL, text text NOT NULL, trace text,
    PRIMARY KEY (tenant, "user", seq)
) PARTITION BY HASH (tenant, "user");
CREATE INDEX turns_by_dialogue ON turns (tenant, "user", dialogue, seq);
CREATE TABLE kept (
    tenant text COLLATE "C" NOT NULL, "user" text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL, value text NOT NULL,
    PRIMARY KEY (tenant, "user", key)
) PARTITION BY HASH (tenant, "user");
-- who has rows: the only table that can be read across scopes, and only by a transaction that says so
CREATE TABLE scopes (
    tenant text COLLATE "C" NOT NULL, "user" text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, "user")
) PARTITION BY HASH (tenant, "user");
DO $$
DECLARE
    parent text;
    part text;
    rule text := 'USING ((SELECT current_setting(''dragoman.scoped'', true)) = ''on'''
        ' AND tenant = (SELECT current_setting(''dragoman.tenant'', true))'
        ' AND "user" = (SELECT current_setting(''dragoman.user'', true)))';
BEGIN
    FOREACH parent IN ARRAY ARRAY['passages', 'vectors', 'places', 'turns', 'kept', 'scopes'] LOOP
        FOR i IN 0..15 LOOP
            part := format('%s_%s', parent, lpad(i::text, 2, '0'));
            EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES WITH (MODULUS 16, REMAINDER %s)', part, parent, i);
            EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', part);
            EXECUTE format('CREATE POLICY scoped ON %I %s', part, rule);
        END LOOP;
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', parent);
        EXECUTE format('CREATE POLICY scoped ON %I %s', parent, rule);
    END LOOP;
END $$;
CREATE POLICY directory ON scopes FOR SELECT USING ((SELECT current_setting('dragoman.directory', true)) = 'on');
