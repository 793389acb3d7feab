-- Origins have digits too: WhereHows' tiers are EI1, QA2 and the like.
CREATE OR REPLACE FUNCTION is_dataset_urn(urn text) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN
    octet_length(urn) <= 800 AND urn ~ '^urn:li:dataset:\(urn:li:dataPlatform:[^,()]{1,100},.+,[A-Z0-9_]{1,20}\)$';

CREATE OR REPLACE FUNCTION urn_parts(urn text) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN
    regexp_match(urn, '^urn:li:dataset:\(urn:li:dataPlatform:([^,()]+),(.+),([A-Z0-9_]+)\)$');
