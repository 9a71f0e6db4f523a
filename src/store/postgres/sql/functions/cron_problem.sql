-- cron_problem(cron) → what is wrong with a cron expression, or null: the rules of
-- src/schedule/cron.c, which a test compares.
CREATE OR REPLACE FUNCTION {p}cron_problem(_cron text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _names CONSTANT text[] := '{second,minute,hour,day of month,month,day of week}';
    _least CONSTANT int[] := '{0,0,0,1,1,0}';
    _most CONSTANT int[] := '{59,59,23,31,12,7}';
    _months CONSTANT text[] := '{jan,feb,mar,apr,may,jun,jul,aug,sep,oct,nov,dec}';
    _days CONSTANT text[] := '{sun,mon,tue,wed,thu,fri,sat}';
    _fields text[] := string_to_array(btrim(regexp_replace(_cron, E'[ \t]+', ' ', 'g'), ' '), ' ');
    _n int := cardinality(_fields);
    _part text;
    _m text[];
    _field int;
    _from int;
    _to int;
    _first_day int := 99;
    _month_days int := 0; -- of the longest month that is meant
BEGIN
    IF lower(_cron) IN ('@yearly', '@annually', '@monthly', '@weekly', '@daily', '@midnight', '@hourly') THEN
        RETURN NULL;
    ELSIF _cron LIKE '@%' THEN
        RETURN format('cron: "%s" is not known; there are @yearly, @annually, @monthly, @weekly, @daily, @midnight and @hourly',
                      left(_cron, 40));
    ELSIF _n NOT IN (5, 6) THEN
        RETURN format('cron: %s field(s); give five (minute hour day month weekday), or six with the second before them, '
                      'or @daily and the like', _n);
    END IF;
    FOR _i IN 1 .. _n LOOP
        _field := _i + 6 - _n;
        FOREACH _part IN ARRAY string_to_array(_fields[_i], ',') LOOP
            _m := regexp_match(lower(_part), '^(?:(\*)|([0-9]{1,4}|[a-z]{3})(?:-([0-9]{1,4}|[a-z]{3}))?)(?:/([0-9]{1,4}))?$');
            _from := CASE WHEN _m[1] = '*' THEN _least[_field]
                          ELSE {p}cron_value(_m[2], CASE _field WHEN 5 THEN _months WHEN 6 THEN _days END, _least[_field]) END;
            _to := CASE WHEN _m[3] IS NOT NULL
                            THEN {p}cron_value(_m[3], CASE _field WHEN 5 THEN _months WHEN 6 THEN _days END, _least[_field])
                        WHEN _m[1] = '*' OR _m[4] IS NOT NULL THEN least(_most[_field], CASE WHEN _field = 6 THEN 6 ELSE 59 END)
                        ELSE _from END;
            IF _from IS NULL OR _to IS NULL OR _m[4]::int = 0 THEN
                RETURN format('cron: %s "%s": a number, a range or * is expected, and a step from 1 after /', _names[_field],
                              left(_part, 60));
            ELSIF _from < _least[_field] OR greatest(_from, _to) > _most[_field] THEN
                RETURN format('cron: %s "%s": it is out of range; give %s to %s', _names[_field], left(_part, 60),
                              _least[_field], _most[_field]);
            ELSIF _from > _to THEN
                RETURN format('cron: %s "%s": the range ends before it begins; write it as two', _names[_field], left(_part, 60));
            END IF;
            IF _field = 4 THEN
                _first_day := least(_first_day, _from);
            ELSIF _field = 5 THEN
                _month_days := greatest(_month_days, (SELECT max(('{31,29,31,30,31,30,31,31,30,31,30,31}'::int[])[g])
                                                      FROM generate_series(_from, _to, coalesce(_m[4]::int, 1)) g));
            END IF;
        END LOOP;
    END LOOP;
    IF _fields[_n] LIKE '*%' AND _first_day > _month_days THEN
        RETURN format('cron: "%s" never fires; no date matches it', left(_cron, 80));
    END IF;
    RETURN NULL;
END
$$;
