/* SPDX-License-Identifier: MIT */
#include "engine/agenda.h"

#include "base/cleanup.h"

void agenda_open(struct agenda *agenda, size_t capacity)
{
    *agenda = (struct agenda){.entries = needed(calloc(capacity, sizeof *agenda->entries))};
}

void agenda_close(struct agenda *agenda)
{
    free(agenda->entries);
    *agenda = (struct agenda){0};
}

void agenda_put(struct agenda *agenda, uint64_t due_ns, void *item)
{
    size_t at = agenda->count++;

    while (at && agenda->entries[(at - 1) / 2].due_ns > due_ns) {
        agenda->entries[at] = agenda->entries[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    agenda->entries[at] = (struct entry){due_ns, item};
}

/* Removes the first entry: sifts the last one down from the top. */
static void refill(struct agenda *agenda)
{
    struct entry last = agenda->entries[--agenda->count];
    size_t at = 0, child;

    while ((child = 2 * at + 1) < agenda->count) {
        child +=
            child + 1 < agenda->count && agenda->entries[child + 1].due_ns < agenda->entries[child].due_ns;
        if (agenda->entries[child].due_ns >= last.due_ns)
            break;
        agenda->entries[at] = agenda->entries[child];
        at = child;
    }
    agenda->entries[at] = last;
}

void *agenda_take(struct agenda *agenda, uint64_t now_ns)
{
    void *item;

    if (!agenda->count || agenda_next(agenda) > now_ns)
        return NULL;
    item = agenda->entries[0].item;
    refill(agenda);
    return item;
}
