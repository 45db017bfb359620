-- what several servers share: requests that were answered, the line of each dialogue, keys and what they used
ALTER TABLE turns ADD COLUMN request text COLLATE "C";
CREATE UNIQUE INDEX turns_by_request ON turns (tenant, "user", request) WHERE request IS NOT NULL;
-- Numbers and digests only: no name of anybody. Unlogged: after a crash of the database nobody stands in line any more.
CREATE SEQUENCE replicas AS integer CYCLE;
CREATE SEQUENCE tickets;
CREATE UNLOGGED TABLE line (
    line bigint NOT NULL, ticket bigint NOT NULL DEFAULT nextval('tickets'),
    replica integer NOT NULL, whose bigint NOT NULL,
    PRIMARY KEY (line, ticket)
);
CREATE INDEX line_by_user ON line (whose);
-- The lock makes tickets come in the order of their numbers; it ends with the call.
CREATE FUNCTION take_place(given bigint, owner bigint, by integer, OUT got bigint, OUT ahead bigint)
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(given);
    INSERT INTO line (line, replica, whose) VALUES (given, by, owner) RETURNING ticket INTO got;
    SELECT count(*) INTO ahead FROM line AS before WHERE before.line = given AND before.ticket < got;
END $$;
CREATE TABLE keys (
    seq bigint GENERATED ALWAYS AS IDENTITY, id text COLLATE "C" PRIMARY KEY, digest bytea NOT NULL, name text NOT NULL,
    tenant text NOT NULL, "user" text NOT NULL, admin boolean NOT NULL,
    turns_per_minute bigint, tokens_per_day bigint, created double precision NOT NULL, revoked double precision
);
CREATE UNLOGGED TABLE buckets (
    key text COLLATE "C" PRIMARY KEY, level double precision NOT NULL, at double precision NOT NULL
);
CREATE TABLE spent (
    key text COLLATE "C" NOT NULL, day bigint NOT NULL, turns bigint NOT NULL, tokens bigint NOT NULL,
    PRIMARY KEY (key, day)
);
-- How much of uploaded files lies in which folder (place), by digests of whose it is.
CREATE TABLE stock (
    place text COLLATE "C" NOT NULL, tenant text COLLATE "C" NOT NULL, owner text COLLATE "C" NOT NULL,
    bytes bigint NOT NULL, files bigint NOT NULL, PRIMARY KEY (tenant, owner, place)
);
-- Room for more of it, or the name of what is in the way: the first limit (null is none), or that it lies elsewhere.
CREATE FUNCTION claim_room(
    at text, whole text, part text, more_bytes bigint, more_files bigint,
    tenant_bytes bigint, tenant_files bigint, user_bytes bigint, user_files bigint
) RETURNS text LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    held record;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended(whole, 11));
    SELECT coalesce(sum(bytes), 0) + more_bytes AS all_bytes, coalesce(sum(files), 0) + more_files AS all_files,
        coalesce(sum(bytes) FILTER (WHERE owner = part), 0) + more_bytes AS own_bytes,
        coalesce(sum(files) FILTER (WHERE owner = part), 0) + more_files AS own_files
        INTO held FROM stock WHERE tenant = whole;
    IF EXISTS (SELECT FROM stock WHERE tenant = whole AND owner = part AND place <> at AND files > 0) THEN
        RETURN 'elsewhere';
    END IF;
    IF more_bytes > 0 AND held.all_bytes > tenant_bytes THEN RETURN 'tenant_bytes'; END IF;
    IF more_files > 0 AND held.all_files > tenant_files THEN RETURN 'tenant_files'; END IF;
    IF more_bytes > 0 AND held.own_bytes > user_bytes THEN RETURN 'user_bytes'; END IF;
    IF more_files > 0 AND held.own_files > user_files THEN RETURN 'user_files'; END IF;
    INSERT INTO stock AS s VALUES (at, whole, part, more_bytes, more_files)
        ON CONFLICT (tenant, owner, place) DO UPDATE
        SET bytes = s.bytes + excluded.bytes, files = s.files + excluded.files;
    RETURN NULL;
END $$;
-- How dialogues end whose clients repeat them: digests of messages.
CREATE UNLOGGED TABLE ends (
    digest bytea PRIMARY KEY, dialogue text NOT NULL, whose bytea NOT NULL, at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX ends_by_user ON ends (whose);
CREATE INDEX ends_by_dialogue ON ends (dialogue);
CREATE INDEX ends_by_age ON ends (at);
