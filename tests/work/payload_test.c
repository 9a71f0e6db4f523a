/* payload_test.c - the payload arrives on standard input, byte for byte, and nobody else sees it. */
#include "command.h"

#include <stdlib.h>

static void check_arrives(struct stage *stage, const char *payload)
{
    const char *out;

    stage_put(stage, payload);
    CHECK_INT(WORK("t", "--once", "--quiet", "--exec", "cat"), 0);
    out = command_out();
    CHECK_INT(command_out_length(), strlen(payload));
    CHECK(strcmp(out, payload) == 0);
}

TEST(payloads_arrive_byte_for_byte)
{
    static const char *const texts[] = {
        "",
        "hello",
        "two\nlines\r\n\n",
        "{\"a\":\"\\u0000 \\\" ' \"}",
        "\xe2\x82\xac \xf0\x9f\x93\xaf \x01\x1b[31m\x7f",
        "; rm -rf / #",
        "$(touch hacked) `touch hacked` ${HOME} $0 %s%n%d \\",
        "-e --help -- <script>alert(1)</script>",
    };
    struct stage stage;

    stage_open(&stage);
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        check_arrives(&stage, texts[i]);
    CHECK(!file_exists("hacked"));
}

TEST(a_payload_of_a_mebibyte_arrives)
{
    struct stage stage;
    char *payload = malloc(1048577);

    CHECK(payload != NULL);
    for (int i = 0; i < 1048576; i++)
        payload[i] = (char)(' ' + i % 95);
    payload[1048576] = '\0';
    stage_open(&stage);
    check_arrives(&stage, payload);
    free(payload);
}

TEST(a_command_that_does_not_read_is_done_all_the_same)
{
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;
    struct stage stage;
    ph_work_id id;

    stage_open(&stage);
    settings.max_payload_bytes = PH_PAYLOAD_MAX;
    set_queue(stage.store, &settings);
    id = stage_put(&stage, repeated("x", 8 << 20));
    CHECK_INT(WORK("t", "--once", "--exec", "true"), 0);
    CHECK_INT(see(stage.store, id).status, PH_DONE);
    stage_put(&stage, repeated("x", 8 << 20));
    CHECK_INT(WORK("t", "--once", "--exec", "sh", "-c", "exec 0<&-; read nothing; exit 0"), 0);
}

TEST(a_payload_never_reaches_our_own_words)
{
    struct stage stage;

    stage_open(&stage);
    stage_put(&stage, "secret-payload");
    CHECK_INT(WORK("t", "--once", "-v", "-v", "--exec", "false"), 1);
    CHECK(strstr(command_err(), "secret-payload") == NULL);
    CHECK(strstr(command_err(), "attempt 1, retry, exit status 1") != NULL);
}
