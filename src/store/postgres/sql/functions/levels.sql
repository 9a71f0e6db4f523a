-- levels(upwards) → the order in which a claim reads the priorities: every 16th begins with the lowest,
-- so that a flood of urgent messages does not starve the others.
CREATE OR REPLACE FUNCTION {p}levels(upwards boolean) RETURNS smallint[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN upwards THEN '{3,2,1,0}' ELSE '{0,1,2,3}' END::smallint[];
