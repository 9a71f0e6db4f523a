/* set.c - folders and files as sources of a set, and a set when memory runs out. */
#include "harness.h"

#include "set/map.h"
#include "set/set.h"
#include "set/words.h"
#include "util/alloc.h"
#include "util/buffer.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* The lines of the log, one per line. */
static struct ph__buffer said;

static void hear(void *context, const ph_log_event *event)
{
    (void)context;
    ph__buffer_printf(&said, "<%d> %s\n", (int)event->level, event->text);
}

static ph_set *make_set(void)
{
    ph_store_opts stores = PH_STORE_OPTS_INIT;
    ph_set_opts opts = PH_SET_OPTS_INIT;
    ph_set *set = NULL;

    if (!strstr(ph_backends(), "sqlite"))
        t_skip("no SQLite in this build");
    ph__buffer_free(&said);
    ph__buffer_text(&said, "");
    stores.log = hear;
    opts.stores = &stores;
    OK(ph_set_new(&opts, &set, &t_err));
    return set;
}

static void finish(ph_set *set)
{
    ph_set_free(set);
    ph__buffer_free(&said);
}

/* What the set knows, as "id=url " each, with the test's folder as "~". */
static const char *known(ph_set *set)
{
    static char text[8000];
    ph_databases *list = NULL;
    size_t length = 0;

    OK(ph_database_list(set, NULL, &list, &t_err));
    text[0] = '\0';
    for (size_t i = 0; i < ph_databases_count(list); i++) {
        const ph_database *at = ph_databases_at(list, i);
        const char *dir = strstr(at->url, t_dir());

        length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%s=%.*s%s%s",
                                   i ? " " : "", at->id, (int)(dir ? dir - at->url : 0), at->url,
                                   dir ? "~" : "", dir ? dir + strlen(t_dir()) : at->url);
        CHECK(length < sizeof(text));
    }
    ph_databases_free(list);
    return text;
}

static const char *in_dir(const char *name)
{
    static char paths[4][600];
    static int next;
    char *path = paths[next++ % 4];

    snprintf(path, sizeof(paths[0]), "%s/%s", t_dir(), name);
    return path;
}

static void write_file(const char *name, const char *text)
{
    FILE *file = fopen(in_dir(name), "w");

    CHECK(file != NULL);
    CHECK(fputs(text, file) >= 0);
    CHECK(fclose(file) == 0);
}

static void make_dir(const char *name)
{
    CHECK(mkdir(in_dir(name), 0700) == 0);
}

static void refresh(ph_set *set)
{
    OK(ph_set_refresh(set, 0, NULL, &t_err));
}

/* ------------------------------------------------------------------- folders */

TEST(the_files_of_a_folder_are_stores)
{
    ph_set *set = make_set();

    make_dir("t");
    write_file("t/a.db", "");
    write_file("t/b.db", "");
    write_file("t/b.db-wal", "");
    write_file("t/b.db-shm", "");
    write_file("t/c.db-journal", "");
    write_file("t/.hidden.db", "");
    write_file("t/.db", "");
    write_file("t/notes.txt", "");
    make_dir("t/sub.db");
    CHECK(symlink("nowhere", in_dir("t/dangling.db")) == 0);
    OK(ph_set_add_folder(set, in_dir("t"), NULL, &t_err));
    CHECK_STR(known(set), "");
    refresh(set);
    CHECK_STR(known(set), "a=sqlite:~/t/a.db b=sqlite:~/t/b.db");
    write_file("t/c.db", "");
    CHECK(unlink(in_dir("t/a.db")) == 0);
    refresh(set);
    CHECK_STR(known(set), "b=sqlite:~/t/b.db c=sqlite:~/t/c.db");
    CHECK_STR(strstr(said.data, "<2>"), NULL); /* no warning */
    finish(set);
}

TEST(the_pattern_says_which_files)
{
    ph_set *set = make_set();

    make_dir("t");
    write_file("t/t-1.sqlite", "");
    write_file("t/t-2.sqlite", "");
    write_file("t/x-3.sqlite", "");
    write_file("t/one.dat", "");
    write_file("t/t-1.sqlite-wal", "");
    OK(ph_set_add_folder(set, in_dir("t/"), "t-[0-9].sqlite", &t_err));
    OK(ph_set_add_folder(set, in_dir("t"), "x-*.sqlite", &t_err));
    OK(ph_set_add_folder(set, in_dir("t"), "one.dat", &t_err));
    refresh(set);
    CHECK_STR(known(set), "one.dat=sqlite:~/t/one.dat t-1.sqlite=sqlite:~/t/t-1.sqlite "
                          "t-2.sqlite=sqlite:~/t/t-2.sqlite x-3=sqlite:~/t/x-3.sqlite");
    finish(set);
    set = make_set();
    OK(ph_set_add_folder(set, in_dir("t"), "*", &t_err)); /* still not what SQLite puts there */
    refresh(set);
    CHECK(!strstr(known(set), "-wal"));
    CHECK(strstr(known(set), "one.dat=") != NULL);
    finish(set);
}

TEST(of_two_files_with_one_id_the_first_by_name_counts)
{
    ph_set *set = make_set();

    make_dir("t");
    for (char digit = '9'; digit > '0'; digit--) { /* a folder has an order of its own */
        char name[] = { 't', '/', 'a', '.', 'd', 'b', digit, '\0' };

        write_file(name, "");
    }
    OK(ph_set_add_folder(set, in_dir("t"), "*.db?", &t_err));
    refresh(set);
    CHECK_STR(known(set), "a=sqlite:~/t/a.db1");
    CHECK(strstr(said.data, "<2> set: left out store=(set) id=a source=folder ") != NULL);
    finish(set);
}

TEST(names_that_are_no_ids_are_left_out)
{
    ph_set *set = make_set();

    make_dir("t");
    write_file("t/\xff.db", "");
    write_file("t/fine.db", "");
    OK(ph_set_add_folder(set, in_dir("t"), NULL, &t_err));
    OK(ph_set_add_folder(set, in_dir("t"), "*fine.db", &t_err)); /* nothing is left of the name */
    refresh(set);
    CHECK_STR(known(set), "fine=sqlite:~/t/fine.db");
    CHECK(strstr(said.data, "id is not valid UTF-8") != NULL);
    CHECK(strstr(said.data, "id is empty") != NULL);
    finish(set);
}

TEST(a_folder_that_cannot_be_read_is_a_source_that_fails)
{
    ph_set *set = make_set();

    make_dir("t");
    write_file("t/a.db", "");
    OK(ph_set_add_folder(set, in_dir("t"), NULL, &t_err));
    refresh(set);
    CHECK(rename(in_dir("t"), in_dir("away")) == 0);
    CHECK_INT(ph_set_refresh(set, 0, NULL, &t_err), PH_ECONNECT);
    CHECK(strstr(t_err.message, "the folder cannot be read") != NULL);
    CHECK_STR(known(set), "a=sqlite:~/t/a.db");
    write_file("t", "a file of that name");
    CHECK_INT(ph_set_refresh(set, 0, NULL, &t_err), PH_ECONNECT);
    CHECK_STR(known(set), "a=sqlite:~/t/a.db");
    finish(set);
}

TEST(a_folder_that_has_become_empty_is_an_answer)
{
    ph_set *set = make_set();

    make_dir("t");
    write_file("t/a.db", "");
    OK(ph_set_add_folder(set, in_dir("t"), NULL, &t_err));
    refresh(set);
    CHECK(unlink(in_dir("t/a.db")) == 0);
    refresh(set);
    CHECK_STR(known(set), "");
    CHECK(strstr(said.data, "<2> set: a source names no database any more") != NULL);
    finish(set);
}

TEST(arguments_of_a_folder_are_checked)
{
    ph_set *set = make_set();

    CHECK_INT(ph_set_add_folder(NULL, "x", NULL, &t_err), PH_EINVAL);
    CHECK_INT(ph_set_add_folder(set, NULL, NULL, &t_err), PH_EINVAL);
    CHECK_INT(ph_set_add_folder(set, "", NULL, &t_err), PH_EINVAL);
    CHECK_INT(ph_set_add_folder(set, "x", "", &t_err), PH_EINVAL);
    finish(set);
}

/* --------------------------------------------------------------------- files */

/* Splits a line; the words joined by "|", or "!" and the error. */
static const char *split(const char *line)
{
    static char text[600];
    struct ph__words words = { 0 };
    size_t length = 0;

    text[0] = '\0';
    if (ph__words_split(&words, line, &t_err) < 0)
        snprintf(text, sizeof(text), "!%s", t_err.message);
    else
        for (size_t i = 0; i < words.count; i++)
            length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%s", i ? "|" : "",
                                       words.items[i]);
    ph__words_free(&words);
    return text;
}

TEST(a_line_is_split_into_words)
{
    CHECK_STR(split(""), "");
    CHECK_STR(split("  \t \r"), "");
    CHECK_STR(split("one two\tthree \r"), "one|two|three");
    CHECK_STR(split("# all of it"), "");
    CHECK_STR(split("a b # the rest \" and"), "a|b");
    CHECK_STR(split("a#b c#"), "a#b|c#");
    CHECK_STR(split("\"a b\" \"\" \"#c\""), "a b||#c");
    CHECK_STR(split("\"say \\\"x\\\"\" \"back\\\\slash\""), "say \"x\"|back\\slash");
    CHECK_STR(split("out\\side a\"b"), "out\\side|a\"b");
    CHECK_STR(split("\"open"), "!a quote is not closed");
    CHECK_STR(split("\"open\\\""), "!a quote is not closed");
    CHECK(split("\"a\\b\"")[0] == '!');
    CHECK(split("\"a\\")[0] == '!');
    CHECK_STR(split("\"a\"b"), "!a blank must follow the closing quote");
}

TEST(a_set_file_names_stores_and_folders)
{
    ph_set *set = make_set();

    make_dir("etc");
    make_dir("etc/tenants");
    write_file("etc/tenants/one.db", "");
    write_file("etc/tenants/two.sqlite", "");
    write_file("etc/set.conf", "# our databases\n"
                               "\n"
                               "store main sqlite:main.db\r\n"
                               "  store\tpg  \"postgresql://h/a b\" k1 k2 # two keys\n"
                               "store abs sqlite:/srv/abs.db\n"
                               "folder tenants\n"
                               "folder \"tenants\" *.sqlite");
    if (!strstr(ph_backends(), "postgresql"))
        t_skip("no PostgreSQL in this build");
    OK(ph_set_add_file(set, in_dir("etc/set.conf"), &t_err));
    refresh(set);
    CHECK_STR(known(set), "abs=sqlite:/srv/abs.db main=sqlite:~/etc/main.db "
                          "one=sqlite:~/etc/tenants/one.db pg=postgresql://h/a b "
                          "two=sqlite:~/etc/tenants/two.sqlite");
    CHECK_STR(strstr(said.data, "<2>"), NULL);
    finish(set);
}

TEST(a_set_file_is_read_anew_each_time)
{
    ph_set *set = make_set();

    write_file("set.conf", "store a sqlite:a.db\n");
    OK(ph_set_add_file(set, in_dir("set.conf"), &t_err));
    refresh(set);
    CHECK_STR(known(set), "a=sqlite:~/a.db");
    write_file("set.conf", "store b sqlite:b.db\n");
    refresh(set);
    CHECK_STR(known(set), "b=sqlite:~/b.db");
    write_file("set.conf", "# none\n");
    refresh(set);
    CHECK_STR(known(set), "");
    finish(set);
}

TEST(without_a_folder_in_its_name_paths_stay_as_they_are)
{
    ph_set *set = make_set();
    char before[1000];

    CHECK(getcwd(before, sizeof(before)) != NULL);
    CHECK(chdir(t_dir()) == 0);
    write_file("set.conf", "store a sqlite:a.db\nstore m sqlite::memory:\n");
    OK(ph_set_add_file(set, "set.conf", &t_err));
    refresh(set);
    CHECK_STR(known(set), "a=sqlite:a.db m=sqlite::memory:");
    CHECK(chdir(before) == 0);
    finish(set);
}

TEST(a_line_that_cannot_be_read_is_named_and_nothing_changes)
{
    static const struct {
        const char *line, *error;
    } lines[] = {
        { "stores a sqlite:a.db", "a line begins with store, folder or query" },
        { "store a", "store ID URL [KEY]..." },
        { "store", "store ID URL [KEY]..." },
        { "folder", "folder PATH [PATTERN]" },
        { "folder \"\"", "folder PATH [PATTERN]" },
        { "folder a b c", "folder PATH [PATTERN]" },
        { "folder a \"\"", "folder PATH [PATTERN]" },
        { "folder not-there", "the folder cannot be read" },
        { "query sqlite:x.db", "query URL SQL" },
        { "query sqlite:x.db SELECT 1", "query URL SQL" },
        { "query sqlite:not-there.db \"SELECT 1, 2\"", "there is no database file" },
        { "query telegraph:x \"SELECT 1, 2\"", "the URL begins with neither" },
        { "store \"a sqlite:a.db", "a quote is not closed" },
    };
    ph_set *set = make_set();
    char text[300];

    write_file("set.conf", "store a sqlite:a.db\n");
    OK(ph_set_add_file(set, in_dir("set.conf"), &t_err));
    refresh(set);
    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
        snprintf(text, sizeof(text), "store b sqlite:b.db\n\n%s\nstore c sqlite:c.db\n",
                 lines[i].line);
        write_file("set.conf", text);
        CHECK(ph_set_refresh(set, 0, NULL, &t_err) < 0);
        if (!strstr(t_err.message, lines[i].error))
            printf("%s: %s\n", lines[i].line, t_err.message);
        CHECK(strncmp(t_err.message, "line 3: ", 8) == 0);
        CHECK(strstr(t_err.message, lines[i].error) != NULL);
        CHECK_STR(known(set), "a=sqlite:~/a.db");
    }
    finish(set);
}

TEST(a_store_that_makes_no_sense_is_left_out_of_a_file)
{
    ph_set *set = make_set();

    write_file("set.conf", "store a sqlite:a.db\nstore b by:train\nstore a sqlite:other.db\n"
                           "store c sqlite:c.db \"\" key\n");
    OK(ph_set_add_file(set, in_dir("set.conf"), &t_err));
    refresh(set);
    CHECK_STR(known(set), "a=sqlite:~/a.db c=sqlite:~/c.db");
    CHECK(strstr(said.data, "left out store=(set) id=b source=file ") != NULL);
    CHECK(strstr(said.data, "reason=line 2: the URL begins with neither") != NULL);
    CHECK(strstr(said.data, "reason=line 3: this id is that of another database") != NULL);
    CHECK(strstr(said.data, "a key is left out store=(set) id=c key= source=file ") != NULL);
    CHECK(strstr(said.data, "reason=line 4: key is empty") != NULL);
    finish(set);
}

TEST(a_key_that_is_left_out_does_not_look_like_a_database)
{
    ph_set *set = make_set();

    write_file("set.conf", "store a sqlite:a.db one\nstore b sqlite:b.db one two\n"
                           "store c sqlite:c.db one\n");
    OK(ph_set_add_file(set, in_dir("set.conf"), &t_err));
    refresh(set);
    CHECK_STR(known(set), "a=sqlite:~/a.db b=sqlite:~/b.db");
    CHECK(strstr(said.data, "<2> set: a key is left out store=(set) id=b key=one source=") != NULL);
    CHECK(strstr(said.data, "<2> set: left out store=(set) id=c source=") != NULL);
    write_file("more.conf", "store d sqlite:d.db two\n");
    OK(ph_set_add_file(set, in_dir("more.conf"), &t_err));
    refresh(set);
    CHECK_STR(known(set), "a=sqlite:~/a.db b=sqlite:~/b.db d=sqlite:~/d.db");
    CHECK(strstr(said.data, "<2> set: a key is left out store=(set) id=d key=two ") != NULL);
    finish(set);
}

TEST(a_byte_order_mark_is_no_word)
{
    ph_set *set = make_set();

    write_file("set.conf", "\xef\xbb\xbfstore a sqlite:a.db\n");
    OK(ph_set_add_file(set, in_dir("set.conf"), &t_err));
    refresh(set);
    CHECK_STR(known(set), "a=sqlite:~/a.db");
    finish(set);
}

TEST(what_is_no_text_is_a_source_that_fails)
{
    ph_set *set = make_set();
    FILE *file = fopen(in_dir("nul.conf"), "w");

    CHECK(file != NULL);
    CHECK(fwrite("store a sqlite:a.db\0\n", 1, 21, file) == 21);
    CHECK(fclose(file) == 0);
    OK(ph_set_add_file(set, in_dir("nul.conf"), &t_err));
    CHECK_INT(ph_set_refresh(set, 0, NULL, &t_err), PH_EINVAL);
    CHECK(strstr(t_err.message, "NUL") != NULL);
    finish(set);
    set = make_set();
    OK(ph_set_add_file(set, in_dir("not-there.conf"), &t_err));
    CHECK_INT(ph_set_refresh(set, 0, NULL, &t_err), PH_ECONNECT);
    finish(set);
    set = make_set();
    OK(ph_set_add_file(set, t_dir(), &t_err));
    CHECK_INT(ph_set_refresh(set, 0, NULL, &t_err), PH_EINVAL);
    finish(set);
    set = make_set();
    CHECK(mkfifo(in_dir("pipe"), 0600) == 0);
    OK(ph_set_add_file(set, in_dir("pipe"), &t_err)); /* nobody writes, and nobody waits for it */
    CHECK_INT(ph_set_refresh(set, 0, NULL, &t_err), PH_EINVAL);
    CHECK_INT(ph_set_add_file(set, "", &t_err), PH_EINVAL);
    CHECK_INT(ph_set_add_file(set, NULL, &t_err), PH_EINVAL);
    CHECK_INT(ph_set_add_file(NULL, "x", &t_err), PH_EINVAL);
    finish(set);
}

/* ----------------------------------------------------------------------- map */

TEST(a_map_finds_what_was_put_in)
{
    static char keys[1000][8];
    struct ph__map map = { 0 };

    CHECK(ph__map_get(&map, "x") == NULL);
    for (int i = 0; i < 1000; i++) {
        snprintf(keys[i], sizeof(keys[i]), "k%d", i);
        CHECK(ph__map_get(&map, keys[i]) == NULL);
        CHECK(ph__map_reserve(&map));
        ph__map_put(&map, keys[i], keys[i]);
    }
    CHECK_INT(map.count, 1000);
    for (int i = 0; i < 1000; i++)
        CHECK(ph__map_get(&map, keys[i]) == keys[i]);
    CHECK(ph__map_get(&map, "k1000") == NULL);
    ph__map_free(&map);
    CHECK(ph__map_get(&map, "k1") == NULL);
}

/* -------------------------------------------------------------------- memory */

/* Every allocation of the call fails once; at last it works. Between the tries check() must hold. */
#define IN_THE_END(call, check)                                                                    \
    do {                                                                                           \
        int last = -1;                                                                             \
        for (long n = 0; last < 0; n++) {                                                          \
            ph__alloc_fail_after = n;                                                              \
            last = (call);                                                                         \
            ph__alloc_fail_after = -1;                                                             \
            if (last < 0 && last != PH_ENOMEM)                                                     \
                printf("allocation %ld: %s\n", n, t_err.message);                                  \
            CHECK(last == 0 || (last == PH_ENOMEM && (t_err.flags & PH_RETRY)));                   \
            CHECK(last == 0 || (check));                                                           \
            CHECK(n < 2000);                                                                       \
        }                                                                                          \
    } while (0)

static int name_two(void *context, ph_found *found, ph_error *reterr)
{
    ph_database database = PH_DATABASE_INIT;

    (void)context;
    database.id = "x";
    database.url = "sqlite:x.db";
    (void)!ph_found_add(found, &database, reterr); /* whatever it says */
    database.key = "5e1f1e55-0000-4000-8000-00000000abcd";
    (void)!ph_found_add(found, &database, reterr);
    database = (ph_database){ sizeof(database), "y", "sqlite:y.db", NULL, NULL, NULL };
    (void)!ph_found_add(found, &database, reterr);
    database.url = "no URL";
    (void)!ph_found_add(found, &database, reterr);
    return 0;
}

TEST(memory_runs_out_around_a_set)
{
    ph_database database = PH_DATABASE_INIT;
    ph_store_opts stores = PH_STORE_OPTS_INIT;
    ph_set_opts opts = PH_SET_OPTS_INIT;
    struct ph__entry **entries = NULL;
    ph_databases *list = NULL;
    uint64_t version = 0;
    ph_set *set = make_set();
    size_t count = 0;

    finish(set);
    stores.schema = "mine";
    stores.table_prefix = "my_";
    stores.log = hear;
    opts.stores = &stores;
    set = NULL;
    IN_THE_END(ph_set_new(&opts, &set, &t_err), set == NULL);
    database.id = "a";
    database.url = "sqlite:a.db";
    IN_THE_END(ph_set_add(set, &database, &t_err), ph__set_version(set) == 0);
    CHECK_STR(known(set), "a=sqlite:a.db");
    database.key = "more";
    IN_THE_END(ph_set_add(set, &database, &t_err), ph__set_version(set) == 1);
    database = (ph_database){ sizeof(database), "b", "sqlite:b.db", NULL, NULL, NULL };
    OK(ph_set_add(set, &database, &t_err));
    version = ph__set_version(set);
    IN_THE_END(ph_set_remove(set, "b", &t_err), ph__set_version(set) == version);
    CHECK_STR(known(set), "a=sqlite:a.db");
    IN_THE_END(ph_database_list(set, NULL, &list, &t_err), list == NULL);
    CHECK_INT(ph_databases_count(list), 1);
    ph_databases_free(list);
    IN_THE_END(ph__set_entries(set, &entries, &count, &version, &t_err), entries == NULL);
    CHECK_INT(count, 1);
    ph__entry_unref(set, entries[0]);
    ph_free(entries);
    finish(set);
}

TEST(memory_runs_out_while_sources_are_asked)
{
    ph_set *set = make_set();
    ph_database database = { sizeof(database), "a", "sqlite:a.db", NULL, NULL, NULL };

    make_dir("t");
    write_file("t/b.db", "");
    write_file("t/c.db", "");
    write_file("set.conf", "store d \"sqlite:/d.db\" k1 k2\nfolder t *.db\n");
    OK(ph_set_add(set, &database, &t_err));
    IN_THE_END(ph_set_add_discovery(set, name_two, NULL, &t_err), true);
    IN_THE_END(ph_set_add_folder(set, in_dir("t"), "[bc].db", &t_err), true);
    IN_THE_END(ph_set_add_file(set, in_dir("set.conf"), &t_err), true);
    /* Half an answer never counts. */
    IN_THE_END(ph_set_refresh(set, 0, NULL, &t_err),
               !strstr(known(set), " x=") == !strstr(known(set), " y="));
    CHECK_STR(known(set), "a=sqlite:a.db b=sqlite:~/t/b.db b.db=sqlite:~/t/b.db "
                          "c=sqlite:~/t/c.db c.db=sqlite:~/t/c.db d=sqlite:/d.db x=sqlite:x.db "
                          "y=sqlite:y.db");
    finish(set);
}

static int forget_one(void *context, ph_found *found, ph_error *reterr)
{
    ph_database database = { sizeof(database), "kept", "sqlite:kept.db", NULL, NULL, NULL };

    CHECK_INT(ph_found_add(found, &database, reterr), 0);
    database.id = "forgotten";
    ph__alloc_fail_after = *(bool *)context ? 0 : -1;
    (void)!ph_found_add(found, &database, reterr);
    ph__alloc_fail_after = -1;
    return 0;
}

TEST(an_answer_that_is_not_whole_for_want_of_memory_is_none)
{
    ph_set *set = make_set();
    bool forgets = false;

    OK(ph_set_add_discovery(set, forget_one, &forgets, &t_err));
    refresh(set);
    CHECK_STR(known(set), "forgotten=sqlite:kept.db kept=sqlite:kept.db");
    forgets = true;
    CHECK_INT(ph_set_refresh(set, 0, NULL, &t_err), PH_ENOMEM);
    CHECK_STR(known(set), "forgotten=sqlite:kept.db kept=sqlite:kept.db");
    finish(set);
}

TEST(memory_runs_out_around_a_router)
{
    ph_set *set = make_set();
    ph_router *router = NULL;
    ph_store *store = NULL, *again = NULL;
    ph_database database = { sizeof(database), "a", "sqlite:a.db", NULL, NULL, NULL };

    OK(ph_set_add(set, &database, &t_err));
    IN_THE_END(ph_router_new(set, NULL, &router, &t_err), router == NULL);
    CHECK_INT(ph__set_take(set, 100), PH_SET_CONNECTIONS - 1); /* those that failed took none */
    IN_THE_END(ph_router_get(router, "a", 0, &store, &t_err), store == NULL);
    ph__alloc_fail_after = 0; /* once more needs none */
    OK(ph_router_get(router, "a", 0, &again, &t_err));
    ph__alloc_fail_after = -1;
    CHECK(again == store);
    ph_router_free(router);
    finish(set);
}
