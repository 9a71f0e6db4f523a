-- macros.sql - expressions that the views need often; {x} is the argument.
--
-- time: microseconds as text, also before 1970: the fraction always counts upwards.
-- uuid: 16 bytes in the usual form; hex(NULL) would be ''.

-- name: time
strftime('%Y-%m-%dT%H:%M:%S', ({x} - ({x} % 1000000 + 1000000) % 1000000) / 1000000, 'unixepoch')
           || printf('.%06dZ', ({x} % 1000000 + 1000000) % 1000000)

-- name: uuid
CASE WHEN {x} IS NOT NULL THEN
           lower(substr(hex({x}), 1, 8) || '-' || substr(hex({x}), 9, 4) || '-'
                 || substr(hex({x}), 13, 4) || '-' || substr(hex({x}), 17, 4) || '-'
                 || substr(hex({x}), 21)) END
