/* parsers_test.c - every parser reads its corpus, and many spoilt copies of it. */
#include "harness.h"
#include "parsers.h"

#include <dirent.h>
#include <stdlib.h>

#define SPOILT 150 /* copies of each file */
#define SIZE_LARGEST 20000

static void change(uint8_t *data, size_t *size)
{
    static const char *const words[] = { "\xff", "-", "9999999999", ",", "\"", "\\",
                                         "{",    "[", "\n",         "*", "/" };
    const char *word = words[t_dice(sizeof(words) / sizeof(*words))];
    size_t at = *size ? t_dice((unsigned)*size) : 0, length = strlen(word);

    switch (t_dice(5)) {
    case 0: /* a bit */
        if (*size)
            data[at] ^= (uint8_t)(1u << t_dice(8));
        break;
    case 1: /* shorter */
        *size = at;
        break;
    case 2: /* a byte */
        if (*size)
            data[at] = (uint8_t)t_dice(256);
        break;
    case 3: /* a piece once more */
        if (*size - at + *size < SIZE_LARGEST) {
            memmove(data + *size, data + at, *size - at);
            *size += *size - at;
        }
        break;
    default: /* something that means something */
        if (*size + length < SIZE_LARGEST) {
            memmove(data + at + length, data + at, *size - at);
            memcpy(data + at, word, length);
            *size += length;
        }
    }
}

static void read_and_spoil(const struct fuzz_parser *parser, const char *path)
{
    static uint8_t whole[SIZE_LARGEST], spoilt[2 * SIZE_LARGEST];
    FILE *file = fopen(path, "r");
    size_t size;

    CHECK(file != NULL);
    size = fread(whole, 1, sizeof(whole), file);
    fclose(file);
    parser->parse(whole, size);
    for (int i = 0; i < SPOILT; i++) {
        size_t now = size;

        memcpy(spoilt, whole, size);
        for (unsigned k = t_dice(6); k < 6; k++)
            change(spoilt, &now);
        parser->parse(spoilt, now);
    }
}

static void replay(const char *name)
{
    const struct fuzz_parser *parser = fuzz_parsers;
    struct dirent *entry;
    char folder[400], path[700];
    int files = 0;
    DIR *dir;

    while (strcmp(parser->name, name) != 0)
        parser++;
    t_dice_seed(1);
    snprintf(folder, sizeof(folder), "%s/corpus/%s", FUZZ_FOLDER, name);
    dir = opendir(folder);
    CHECK(dir != NULL);
    while ((entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        read_and_spoil(parser, path);
        files++;
    }
    closedir(dir);
    CHECK(files > 0);
}

TEST(cron_expressions)
{
    replay("cron");
}

TEST(zone_files)
{
    replay("zone");
}

TEST(rules_of_zones)
{
    replay("rule");
}

TEST(times)
{
    replay("time");
}

TEST(ids)
{
    replay("id");
}

TEST(urls)
{
    replay("url");
}

TEST(headers)
{
    replay("headers");
}

TEST(set_files)
{
    replay("set");
}

TEST(json_of_the_extension)
{
    replay("extension");
}
