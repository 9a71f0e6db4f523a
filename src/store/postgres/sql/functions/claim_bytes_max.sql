-- claim_bytes_max() → how many bytes of payloads and headers a claim hands out, and a list:
-- PH_CLAIM_BYTES_MAX. One message always comes, however large.
CREATE OR REPLACE FUNCTION {p}claim_bytes_max() RETURNS int
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 67108864;
