/* workers.c - which service works on a queue, as far as its instances say so. */
#include "stream.h"

#include <string.h>

/* posthorn work says so in its metadata. */
static bool works_on(const ph_instance_info *instance, const struct cli_door *door, const char *ns)
{
    json_t *metadata = instance->metadata ? json_loads(instance->metadata, 0, NULL) : NULL;
    const char *its_door = json_string_value(json_object_get(metadata, "door"));
    const char *its_ns = json_string_value(json_object_get(metadata, "namespace"));
    bool does =
        its_door && its_ns && strcmp(its_door, door->name) == 0 && (!ns || strcmp(its_ns, ns) == 0);

    json_decref(metadata);
    return does;
}

int cli_workers(struct cli *cli, ph_instances **ret_workers)
{
    if (ph_instance_list(cli->store, PH_OWN_TX, NULL, cli->timeout_ms, ret_workers, &cli->err) < 0)
        return cli_fail_store(cli);
    return CLI_OK;
}

const char *cli_workers_service(const ph_instances *workers, const struct cli_door *door,
                                const char *ns)
{
    const char *found = NULL;

    for (size_t i = 0; i < ph_instances_count(workers); i++) {
        const ph_instance_info *instance = ph_instances_at(workers, i);

        if (!works_on(instance, door, ns))
            continue;
        if (found && strcmp(found, instance->service) != 0)
            return NULL;
        found = instance->service;
    }
    return found;
}
