-- which encoder the vectors of a source are from, and how far a change of it has come
ALTER TABLE places ADD COLUMN encoder text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE places ADD COLUMN encoding text COLLATE "C" NOT NULL DEFAULT '';
