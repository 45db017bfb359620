-- when a turn was said
ALTER TABLE turns ADD COLUMN said_at text COLLATE "C";
