/* set_report.c - what a refresh of a set has found. */
#include "harness.h"

#include "util/alloc.h"
#include "util/buffer.h"

static ph_set *make_set(void)
{
    ph_set *set = NULL;

    if (!strstr(ph_backends(), "sqlite"))
        t_skip("no SQLite in this build");
    OK(ph_set_new(NULL, &set, &t_err));
    return set;
}

static const char *in_dir(const char *name)
{
    static char paths[2][600];
    static int next;
    char *path = paths[next++ % 2];

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

/* What a refresh has found, one per line. */
static const char *found_by(ph_set *set)
{
    static const char *const kinds[] = { [PH_SET_ADDED] = "added",
                                         [PH_SET_REMOVED] = "removed",
                                         [PH_SET_LEFT_OUT] = "left out",
                                         [PH_SET_FAILED] = "failed" };
    static char text[4000];
    ph_set_report *report = NULL;
    size_t length = 0;

    text[0] = '\0';
    OK(ph_set_refresh(set, 0, &report, &t_err));
    for (size_t i = 0; i < ph_set_report_count(report); i++) {
        const ph_set_change *at = ph_set_report_at(report, i);

        length += (size_t)snprintf(text + length, sizeof(text) - length, "%s %s", kinds[at->kind],
                                   at->id ? at->id : "-");
        if (at->key)
            length += (size_t)snprintf(text + length, sizeof(text) - length, " key %s", at->key);
        if (at->count != 1)
            length += (size_t)snprintf(text + length, sizeof(text) - length, " %zu", at->count);
        length += (size_t)snprintf(text + length, sizeof(text) - length, "\n");
        CHECK_INT(at->kind == PH_SET_FAILED, at->error.code != 0);
        CHECK_INT(at->kind == PH_SET_LEFT_OUT || at->kind == PH_SET_FAILED,
                  at->reason != NULL || at->count > 1);
        CHECK(at->kind < PH_SET_FAILED || strcmp(at->reason, at->error.message) == 0);
    }
    CHECK(!ph_set_report_at(report, ph_set_report_count(report)));
    ph_set_report_free(report);
    return text;
}

TEST(a_refresh_reports_what_came_and_went_and_what_is_left_out)
{
    ph_set *set = make_set();

    write_file("set.conf", "store a sqlite:a.db one\nstore b by:train\nstore c sqlite:c.db one\n"
                           "store d sqlite:d.db two three\n");
    write_file("more.conf", "store e sqlite:e.db three\n");
    OK(ph_set_add_file(set, in_dir("set.conf"), &t_err));
    OK(ph_set_add_file(set, in_dir("more.conf"), &t_err));
    CHECK_STR(found_by(set), "left out b\nleft out c\nadded a\nadded d\nadded e\n"
                             "left out e key three\n");
    CHECK_STR(found_by(set), "left out b\nleft out c\nleft out e key three\n"); /* still */
    write_file("set.conf", "store a sqlite:other.db one\nstore d sqlite:d.db two\n");
    CHECK_STR(found_by(set), "removed a\nadded a\n");
    write_file("set.conf", "store d sqlite:d.db two\n");
    CHECK_STR(found_by(set), "removed a\n");
    CHECK_STR(found_by(set), "");
    ph_set_free(set);
}

TEST(a_source_that_fails_is_in_the_report_and_no_error)
{
    ph_set_report *report = NULL;
    ph_set *set = make_set();

    write_file("set.conf", "store a sqlite:a.db\nstore b by:train\n");
    OK(ph_set_add_file(set, in_dir("set.conf"), &t_err));
    OK(ph_set_add_folder(set, in_dir("nowhere"), NULL, &t_err));
    CHECK_STR(found_by(set), "left out b\nfailed -\nadded a\n");
    write_file("set.conf", "store a");
    CHECK_STR(found_by(set), "failed -\nleft out b\nfailed -\n"); /* its previous list stands */
    OK(ph_set_refresh(set, 0, &report, &t_err));
    CHECK_INT(ph_set_report_at(report, 0)->error.code, PH_EINVAL);
    CHECK(strncmp(ph_set_report_at(report, 0)->reason, "line 1: ", 8) == 0);
    CHECK_INT(ph_set_report_at(report, 2)->error.code, PH_ECONNECT);
    CHECK_INT(ph_set_refresh(set, 0, NULL, &t_err), PH_EINVAL); /* nobody is told otherwise */
    ph_set_free(set);
    CHECK_INT(ph_set_report_count(report), 3); /* it outlives the set */
    CHECK_STR(ph_set_report_at(report, 1)->id, "b");
    ph_set_report_free(report);
    CHECK_INT(ph_set_report_count(NULL), 0);
    ph_set_report_free(NULL);
}

TEST(what_is_too_much_for_a_report_is_counted)
{
    struct ph__buffer text = { 0 };
    const char *found;
    ph_set *set = make_set();

    for (int i = 0; i < 150; i++)
        ph__buffer_printf(&text, "store s%d by:train\n", i);
    write_file("set.conf", text.data);
    ph__buffer_free(&text);
    OK(ph_set_add_file(set, in_dir("set.conf"), &t_err));
    found = found_by(set);
    CHECK(strstr(found, "left out s99\nleft out - 50\n") != NULL);
    ph_set_free(set);
}

TEST(memory_runs_out_for_a_report)
{
    ph_set_report *report = NULL;
    ph_set *set = make_set();
    int r = PH_ENOMEM;

    write_file("set.conf", "store a sqlite:a.db one\nstore b by:train\n");
    OK(ph_set_add_file(set, in_dir("set.conf"), &t_err));
    for (long n = 0; r < 0; n++) { /* each allocation fails once */
        ph__alloc_fail_after = n;
        r = ph_set_refresh(set, 0, &report, &t_err);
        ph__alloc_fail_after = -1;
        CHECK(r == 0 || (r == PH_ENOMEM && !report));
    }
    CHECK(ph_set_report_count(report) >= 1);
    ph_set_report_free(report);
    ph_set_free(set);
}
