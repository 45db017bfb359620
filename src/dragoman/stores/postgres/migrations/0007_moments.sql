-- search by time: when a fact was said, or the day of a document
-- by pattern, since jsonb refuses texts with an escaped NUL character
ALTER TABLE passages ADD COLUMN moment text COLLATE "C" GENERATED ALWAYS AS (
    coalesce(nullif(substring(meta FROM '"said_at": "([^"\\]*)"'), ''), substring(meta FROM '"date": "([^"\\]*)"'), '')
) STORED;
CREATE INDEX passages_by_moment ON passages (tenant, "user", source, moment) WHERE moment <> '';
