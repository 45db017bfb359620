-- find the rows of a file, or under a parent, without reading the whole source
CREATE INDEX passages_by_origin ON passages (tenant, "user", source, origin);
CREATE INDEX passages_by_parent ON passages (tenant, "user", source, parent) WHERE parent IS NOT NULL;
