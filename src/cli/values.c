/* values.c - numbers, durations, times and ids as users write them. */
#include "frame.h"

#include "util/time_text.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define US_PER_S 1000000LL

static bool is_digits(const char *text)
{
    return *text && strspn(text, "0123456789") == strlen(text);
}

/* A whole number without blanks or a plus sign. */
static bool parse_number(const char *text, int64_t *ret_number)
{
    char *end = NULL;
    long long number;

    if (!is_digits(text + (*text == '-')))
        return false;
    errno = 0;
    number = strtoll(text, &end, 10);
    if (errno || *end)
        return false;
    *ret_number = number;
    return true;
}

/* "90", "1.5s", "500ms", "30s", "5m", "2h", "7d", "1w": in milliseconds, rounded. */
static bool parse_duration(const char *text, int64_t *ret_ms)
{
    static const struct {
        const char *unit;
        int64_t ms;
    } units[] = { { "", 1000 },     { "ms", 1 },      { "s", 1000 },     { "m", 60000 },
                  { "min", 60000 }, { "h", 3600000 }, { "d", 86400000 }, { "w", 604800000 } };
    size_t digits = strspn(text, "0123456789");
    int64_t whole = 0, thousandths = 0, scale = 100;
    const char *unit = text + digits;

    if (digits == 0 || digits > 15)
        return false;
    for (size_t i = 0; i < digits; i++)
        whole = whole * 10 + (text[i] - '0');
    if (*unit == '.') {
        unit++;
        if (!strspn(unit, "0123456789"))
            return false;
        for (; *unit >= '0' && *unit <= '9'; unit++, scale /= 10)
            thousandths += (*unit - '0') * scale;
    }
    for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
        if (strcmp(unit, units[i].unit) == 0)
            return !__builtin_mul_overflow(whole, units[i].ms, ret_ms) &&
                   !__builtin_add_overflow(*ret_ms, thousandths * units[i].ms / 1000, ret_ms);
    }
    return false;
}

static bool parse_time(const char *text, struct cli_setting *to)
{
    int64_t number;
    bool zoned = false;

    if (strcmp(text, "now") == 0) {
        to->relative = true;
        return true;
    }
    if (text[0] == '+' && parse_duration(text + 1, &number)) {
        to->relative = true;
        return !__builtin_mul_overflow(number, 1000, &to->number);
    }
    if (text[0] == '@' && parse_number(text + 1, &number))
        return !__builtin_mul_overflow(number, US_PER_S, &to->number);
    return ph__time_parse(text, &to->number, &zoned) && zoned; /* without a zone it is ambiguous */
}

static bool is_word_of(const char *choices, const char *word, int64_t *ret_index)
{
    int64_t index = 0;

    for (const char *at = choices; *at; index++) {
        size_t length = strcspn(at, " ");

        if (strlen(word) == length && strncmp(at, word, length) == 0) {
            *ret_index = index;
            return true;
        }
        at += length + (at[length] == ' ');
    }
    return false;
}

static const char *expected(struct cli *cli, const struct cli_option *option)
{
    switch (option->type) {
    case CLI_NUMBER:
        return "give a whole number";
    case CLI_MS:
        return "give a duration such as 500ms, 30s, 5m, 2h or 7d";
    case CLI_SECONDS:
        return "give whole seconds, such as 30s, 5m, 2h or 7d";
    case CLI_LIFETIME:
        return "give a duration with its unit, such as 12h or 7d, or forever";
    case CLI_TIME:
        return "give now, +10m, @1893456000 or 2030-01-01T09:00:00Z (with its zone)";
    case CLI_ID:
        return "give a UUID such as 5e1f1e55-0000-4000-8000-000000000001";
    case CLI_WORD:
        return cli_printf(cli, "give one of: %s", option->choices);
    default:
        return "give some text";
    }
}

static bool parse_typed(const struct cli_option *option, const char *text, struct cli_setting *to)
{
    switch (option->type) {
    case CLI_NUMBER:
        return parse_number(text, &to->number);
    case CLI_LIFETIME:
        if (strcmp(text, "forever") == 0) {
            to->number = PH_FOREVER;
            return true;
        }
        if (strspn(text, "0123456789.") == strlen(text))
            return false; /* seconds instead of days would delete what there is */
        __attribute__((fallthrough));
    case CLI_SECONDS:
        if (!parse_duration(text, &to->number) || to->number % 1000)
            return false;
        to->number /= 1000;
        return true;
    case CLI_MS:
        return parse_duration(text, &to->number);
    case CLI_TIME:
        return parse_time(text, to);
    case CLI_ID:
        return ph_id_parse(text, to->id) == 0 && !ph_id_is_zero(to->id);
    case CLI_WORD:
        return is_word_of(option->choices, text, &to->number);
    default:
        return true;
    }
}

static const char *limits(struct cli *cli, const struct cli_option *option)
{
    char from[CLI_DURATION_SIZE], to[CLI_DURATION_SIZE];
    int64_t unit = option->type == CLI_MS ? 1 : 1000;

    if (option->type == CLI_NUMBER)
        return cli_printf(cli, "%lld to %lld", (long long)option->min, (long long)option->max);
    return cli_printf(cli, "%s to %s", cli_duration_text(option->min * unit, from),
                      cli_duration_text(option->max * unit, to));
}

/* Only options have dashes: keys of input lines have none, nor operands, which are in capitals. */
static const char *dashes(const struct cli *cli, const struct cli_option *option)
{
    return cli->where || isupper((unsigned char)option->name[0]) ? "" : "--";
}

int cli_parse_value(struct cli *cli, const struct cli_option *option, const char *text,
                    struct cli_setting *ret_setting)
{
    struct cli_setting setting = { .option = option, .text = text };
    bool limited = option->min != 0 || option->max != 0;

    if (!parse_typed(option, text, &setting))
        return cli_usage(cli, "%s%s does not take \"%.80s\"; %s", dashes(cli, option), option->name,
                         text, expected(cli, option));
    if (limited && !(option->type == CLI_LIFETIME && setting.number == PH_FOREVER) &&
        (setting.number < option->min || setting.number > option->max))
        return cli_usage(cli, "%s%s %.80s is out of range; give %s", dashes(cli, option),
                         option->name, text, limits(cli, option));
    *ret_setting = setting;
    return CLI_OK;
}

int cli_parse_id(struct cli *cli, const char *text, uint8_t ret_id[16])
{
    if (ph_id_parse(text, ret_id) < 0)
        return cli_usage(
            cli, "\"%.80s\" is not an id; ids look like 5e1f1e55-0000-4000-8000-000000000001",
            text);
    return CLI_OK;
}

static int64_t machine_now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * US_PER_S + now.tv_nsec / 1000;
}

int cli_time_of(struct cli *cli, const struct cli_setting *setting, int64_t *ret_time)
{
    int64_t now = 0;

    *ret_time = setting->number;
    if (!setting->relative)
        return CLI_OK;
    if (!cli->store)
        now = machine_now_us();
    else if (ph_clock(cli->store, PH_OWN_TX, cli->timeout_ms, &now, &cli->err) < 0)
        return cli_fail_store(cli);
    if (__builtin_add_overflow(now, setting->number, ret_time) || *ret_time > PH_TIME_MAX)
        return cli_usage(cli, "%s%s %.80s lies beyond the year 9999; give an earlier time",
                         dashes(cli, setting->option), setting->option->name, setting->text);
    return CLI_OK;
}

int64_t cli_now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * US_PER_S + now.tv_nsec / 1000;
}

const char *cli_duration_text(int64_t ms, char ret_text[CLI_DURATION_SIZE])
{
    static const struct {
        int64_t ms;
        const char *unit, *part;
        int64_t part_ms;
    } units[] = { { 86400000, "d", "h", 3600000 },
                  { 3600000, "h", "min", 60000 },
                  { 60000, "min", "s", 1000 } };

    for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
        int64_t rest = ms % units[i].ms / units[i].part_ms;

        if (ms < units[i].ms)
            continue;
        if (rest)
            snprintf(ret_text, CLI_DURATION_SIZE, "%lld %s %lld %s", (long long)(ms / units[i].ms),
                     units[i].unit, (long long)rest, units[i].part);
        else
            snprintf(ret_text, CLI_DURATION_SIZE, "%lld %s", (long long)(ms / units[i].ms),
                     units[i].unit);
        return ret_text;
    }
    if (ms >= 1000 && ms % 1000 == 0)
        snprintf(ret_text, CLI_DURATION_SIZE, "%lld s", (long long)(ms / 1000));
    else if (ms >= 1000)
        snprintf(ret_text, CLI_DURATION_SIZE, "%.1f s", (double)ms / 1000);
    else
        snprintf(ret_text, CLI_DURATION_SIZE, "%lld ms", (long long)ms);
    return ret_text;
}

const char *cli_from_now_text(int64_t ms, char ret_text[CLI_FROM_NOW_SIZE])
{
    char distance[CLI_DURATION_SIZE];

    cli_duration_text(ms < 0 ? -ms : ms, distance);
    snprintf(ret_text, CLI_FROM_NOW_SIZE, ms > 0 ? "in %s" : "%s ago", distance);
    return ret_text;
}

const char *cli_json_error(struct cli *cli, const json_error_t *error)
{
    const char *what = "the syntax is invalid";

    switch (json_error_code(error)) {
    case json_error_premature_end_of_input:
        what = "it ends too early";
        break;
    case json_error_end_of_input_expected:
        what = "something follows its end";
        break;
    case json_error_invalid_utf8:
        what = "it is not UTF-8";
        break;
    case json_error_duplicate_key:
        what = "a key occurs twice";
        break;
    case json_error_numeric_overflow:
        what = "a number is too large";
        break;
    case json_error_stack_overflow:
        what = "it is nested too deeply";
        break;
    case json_error_null_character:
    case json_error_null_byte_in_key:
        what = "it contains a NUL";
        break;
    case json_error_out_of_memory:
        what = "there is no memory for it";
        break;
    default:
        break;
    }
    return cli_printf(cli, "%s, at byte %d", what, error->position);
}
