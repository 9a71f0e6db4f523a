-- macros.sql - expressions that the views need often; {x} is the argument.
--
-- time: microseconds as text, also before 1970: the fraction always counts upwards.
-- uuid: 16 bytes in the usual form; hex(NULL) would be ''.
-- work_id: of a row with id and salt, as text; the same expression as in the index message_uuid.

-- name: time
strftime('%Y-%m-%dT%H:%M:%S', ({x} - ({x} % 1000000 + 1000000) % 1000000) / 1000000, 'unixepoch')
           || printf('.%06dZ', ({x} % 1000000 + 1000000) % 1000000)

-- name: uuid
CASE WHEN {x} IS NOT NULL THEN
           lower(substr(hex({x}), 1, 8) || '-' || substr(hex({x}), 9, 4) || '-'
                 || substr(hex({x}), 13, 4) || '-' || substr(hex({x}), 17, 4) || '-'
                 || substr(hex({x}), 21)) END

-- name: work_id
printf('%08x-%04x-8000-%04x-%012x', {x}.id >> 16, {x}.id & 65535,
              ({x}.salt >> 48) & 65535, {x}.salt & 281474976710655)
