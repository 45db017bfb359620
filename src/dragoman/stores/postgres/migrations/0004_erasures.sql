-- the erasures of each scope, so that a turn that began before one stores nothing after it
CREATE TABLE erasures (scope bytea PRIMARY KEY, count bigint NOT NULL);
