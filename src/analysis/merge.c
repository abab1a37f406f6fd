// merge.c - the traces of many ranks as one: reading them, and deciding on numbers and clocks.
//
// In:  files.
// Out: a plan: each file's place, its block of process ids and of other ids, the shift of its times.
//
// Not here: writing (merge_write.c).

#include "analysis/merge.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "analysis/kinds.h"
#include "analysis/mend.h"
#include "analysis/secrets.h"

#define EPOCH_FROM_NS                                                                                        \
    946684800000000000LL     // the year 2000: nothing recorded before, nothing relative reaches it
#define KEY_LIMIT (1u << 20) // bytes of a top-level value that are kept for each rank
#define MOST_PID 2147483647u // viewers keep process ids in 32 bits
#define MOST_ID (1ULL << 53) // and read ids as doubles

struct fp_merge *fp_merge_new(const char *const *paths, const char *const *names, size_t count) {
    struct fp_merge *merge = calloc(1, sizeof(*merge));
    if (!merge)
        return NULL;
    merge->count = count;
    merge->files = calloc(count, sizeof(*merge->files));
    merge->ranks = calloc(count, sizeof(*merge->ranks));
    merge->texts = fp_intern_new();
    if (!merge->files || !merge->ranks || !merge->texts) {
        fp_merge_free(merge);
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        merge->files[i].path = paths[i];
        merge->files[i].name = names[i];
        merge->files[i].order = i;
        merge->files[i].collectives.texts = merge->texts;
    }
    return merge;
}

static void file_free(struct fp_merge_file *file) {
    for (size_t i = 0; i < file->process_count; i++) {
        free((char *)file->processes[i].pid.text.at);
        free(file->processes[i].merged);
    }
    for (size_t i = 0; i < file->key_count; i++) {
        free(file->keys[i].key);
        free(file->keys[i].value);
    }
    free(file->processes);
    free(file->keys);
    fp_collectives_free(&file->collectives);
}

void fp_merge_free(struct fp_merge *merge) {
    if (!merge)
        return;
    for (size_t i = 0; merge->files && i < merge->count; i++)
        file_free(&merge->files[i]);
    free(merge->files);
    free(merge->ranks);
    free(merge->meetings);
    fp_intern_free(merge->texts);
    free(merge);
}

// Reading.

static struct fp_merge_process *process_of(struct fp_merge_file *file, const struct fp_trace_id *pid) {
    for (size_t i = file->process_count; i-- > 0;)
        if (fp_trace_id_same(&file->processes[i].pid, pid))
            return &file->processes[i];
    if (file->process_count == file->process_room) {
        size_t room = file->process_room * 2 + 16;
        struct fp_merge_process *grown = realloc(file->processes, room * sizeof(*grown));
        if (!grown)
            return NULL;
        file->processes = grown;
        file->process_room = room;
    }
    struct fp_merge_process *process = &file->processes[file->process_count];
    *process = (struct fp_merge_process){ .pid = *pid };
    char *text = malloc(pid->text.size + 1); // a salvaged text may hold zero bytes
    if (!text)
        return NULL;
    if (pid->text.size)
        memcpy(text, pid->text.at, pid->text.size);
    text[pid->text.size] = 0;
    process->pid.text.at = text;
    file->process_count++;
    return process;
}

// Lanes that were met have processes; only new lanes are looked up.
struct scan {
    struct fp_merge_file *file;
    const struct fp_cut *kept;
    uint32_t lanes_seen;
};

static void note_id(struct fp_merge_file *file, struct fp_trace_id id) {
    if (id.kind == FP_ID_NUMBER && id.number > file->most_id)
        file->most_id = id.number;
}

static void note_ids(struct fp_merge_file *file, const struct fp_trace_event *event) {
    static const enum fp_arg_id args[] = { FP_ARG_CORRELATION, FP_ARG_EXTERNAL_ID, FP_ARG_EXTERNAL_ID_OLD,
                                           FP_ARG_CONNECTION_ID };
    note_id(file, event->id);
    for (size_t i = 0; i < sizeof(args) / sizeof(*args); i++)
        if (event->known_args >> args[i] & 1)
            note_id(file, fp_field_id(fp_event_arg(event, args[i])));
    if (event->phase != 's' && event->phase != 'f' &&
        event->field_count > 8) { // newer flows: bind_id on slices
        const struct fp_trace_field *bind = fp_event_field(event, "bind_id");
        note_id(file, fp_field_id(bind));
    }
}

static void note_time(struct fp_merge_file *file, const struct fp_trace_event *event) {
    int64_t end;
    if (event->ts_state != FP_NUMBER_OK || event->phase == 'M')
        return;
    if (event->dur_state != FP_NUMBER_OK || event->dur_ns < 0 ||
        __builtin_add_overflow(event->ts_ns, event->dur_ns, &end))
        end = event->ts_ns;
    if (!file->any_time || event->ts_ns < file->first_ns)
        file->first_ns = event->ts_ns;
    if (!file->any_time || end > file->last_ns)
        file->last_ns = end;
    file->any_time = true;
}

static int note_process(struct scan *scan, const struct fp_trace_event *event) {
    if (event->lane < scan->lanes_seen && event->phase != 'M')
        return 0;
    if (event->lane >= scan->lanes_seen)
        scan->lanes_seen = event->lane + 1;
    struct fp_merge_process *process = process_of(scan->file, &event->pid);
    if (!process)
        return -ENOMEM;
    if (event->pid.kind == FP_ID_NUMBER && event->pid.number > scan->file->most_pid)
        scan->file->most_pid = event->pid.number;
    if (event->phase == 'M' && fp_text_equals(event->name, "process_name"))
        process->has_name = true;
    if (event->phase == 'M' && fp_text_equals(event->name, "process_sort_index"))
        process->has_sort = fp_field_i64(fp_event_arg(event, FP_ARG_SORT_INDEX), &process->sort);
    return 0;
}

static int look(void *user, const struct fp_trace_event *event) {
    struct scan *scan = user;
    if (scan->kept && !fp_cut_keeps(scan->kept, event->number))
        return 0;
    scan->file->events++;
    note_time(scan->file, event);
    note_ids(scan->file, event);
    int code = note_process(scan, event);
    return code ? code : fp_collectives_add(&scan->file->collectives, event);
}

// A copy of JSON text that every strict parser takes. Zero bytes, which a salvaged value may hold, are left out.
static char *keep_json(struct fp_mender *mender, struct fp_text text) {
    struct fp_text whole = fp_mend_json(mender, text);
    char *kept = mender->failed ? NULL : malloc(whole.size + 1);
    size_t size = 0;
    if (!kept)
        return NULL;
    for (size_t at = 0; at < whole.size; at++)
        if (whole.at[at])
            kept[size++] = whole.at[at];
    kept[size] = 0;
    return kept;
}

// A key without its quotes is JSON only with them.
static char *keep_key(struct fp_mender *mender, struct fp_text key) {
    char *quoted = malloc(key.size + 3);
    if (!quoted)
        return NULL;
    quoted[0] = quoted[key.size + 1] = '"';
    memcpy(quoted + 1, key.at, key.size);
    char *kept = keep_json(mender, (struct fp_text){ quoted, key.size + 2 });
    free(quoted);
    if (kept) {
        size_t size = strlen(kept);
        memmove(kept, kept + 1, size);
        kept[size - 2] = 0;
    }
    return kept;
}

static int add_key(struct fp_merge_file *file, struct fp_mender *mender,
                   const struct fp_trace_header *header) {
    if (file->key_count == file->key_room) {
        size_t room = file->key_room * 2 + 16;
        struct fp_merge_key *grown = realloc(file->keys, room * sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        file->keys = grown;
        file->key_room = room;
    }
    struct fp_merge_key *key = &file->keys[file->key_count++];
    key->key = keep_key(mender, header->key);
    key->value = keep_json(mender, header->value);
    return key->key && key->value ? 0 : -ENOMEM;
}

// A header's value without its secrets, in its place. 0 or -ENOMEM.
static int clean_key(struct fp_merge *merge, struct fp_merge_key *key) {
    struct fp_text value = fp_text_of(key->value), clean = { NULL, 0 };
    size_t count = 1;
    if (fp_secret_key(fp_text_of(key->key)) && value.size > 2)
        clean = fp_text_of("\"" FP_SECRET_REMOVED "\"");
    else if (!fp_secrets_find(value, NULL, NULL))
        return 0;
    char *owned = clean.at ? NULL : (char *)(clean = fp_secrets_remove(value, &count)).at;
    char *copy = clean.at ? strndup(clean.at, clean.size) : NULL;
    free(owned);
    if (!copy)
        return -ENOMEM;
    free(key->value);
    key->value = copy;
    merge->secrets += count;
    return 0;
}

static int keep_keys(struct fp_merge *merge, struct fp_merge_file *file, const struct fp_reader *reader,
                     bool salvaged) {
    struct fp_mender mender = { .salvaged = salvaged };
    int code = 0;
    for (size_t i = 0; i < fp_reader_header_count(reader) && !code; i++) {
        const struct fp_trace_header *header = fp_reader_header(reader, i);
        if (!header->kept || header->value.size > KEY_LIMIT) {
            file->keys_too_large++;
            continue;
        }
        code = add_key(file, &mender, header);
        if (!code && merge->drop_secrets)
            code = clean_key(merge, &file->keys[file->key_count - 1]);
    }
    fp_mender_free(&mender);
    return code;
}

// "rank3", "rank-70", "rank_1", "worker0": the number behind the word, the last such word of the file's name.
static bool rank_in_name(const char *path, uint64_t *rank) {
    static const char *words[] = { "rank", "worker" };
    const char *base = strrchr(path, '/');
    base = base ? base + 1 : path;
    for (size_t w = 0; w < sizeof(words) / sizeof(*words); w++) {
        bool found = false;
        for (const char *at = base; (at = strcasestr(at, words[w])); at++) {
            const char *digits = at + strlen(words[w]);
            digits += *digits && strchr("-_=.", *digits);
            size_t size = strspn(digits, "0123456789");
            found |= fp_number_u64((struct fp_text){ digits, size }, rank);
        }
        if (found)
            return true;
    }
    return false;
}

static void learn_rank(struct fp_merge_file *file, const struct fp_reader *reader, uint64_t place) {
    const struct fp_trace_header *info = fp_reader_header_named(reader, "distributedInfo");
    struct fp_trace_field rank;
    if (info && fp_json_find(info->value, "rank", &rank) && fp_field_u64(&rank, &file->rank)) {
        file->rank_source = FP_MERGE_RANK_HEADER;
    } else if (rank_in_name(file->name, &file->rank)) {
        file->rank_source = FP_MERGE_RANK_NAME;
    } else {
        file->rank = place;
        file->rank_source = FP_MERGE_RANK_ORDER;
    }
}

static void learn_times(struct fp_merge_file *file, const struct fp_reader *reader) {
    bool based = fp_reader_base_time(reader, &file->base_ns);
    if (file->any_time && file->first_ns >= EPOCH_FROM_NS)
        file->times = FP_MERGE_EPOCH; // with a base beside it, the base is not what they are relative to
    else
        file->times = based ? FP_MERGE_BASED : FP_MERGE_UNKNOWN;
}

int fp_merge_scan(struct fp_merge *merge, size_t place, const struct fp_reader_options *options,
                  const struct fp_cut *kept, struct fp_error *err) {
    struct fp_merge_file *file = &merge->files[place];
    struct scan scan = { .file = file, .kept = kept };
    struct fp_reader *reader;
    int code = fp_reader_open(file->path, options, &reader, err);
    if (code)
        return code;
    code = fp_reader_run(reader, look, &scan, err);
    if (!code)
        code = keep_keys(merge, file, reader, options && options->salvage);
    if (!code) {
        learn_rank(file, reader, place);
        learn_times(file, reader);
    }
    if (code == -ENOMEM)
        fp_error_set(err, "%s: not enough memory to merge it", file->name);
    fp_reader_close(reader);
    return code;
}

// Deciding.

static int compare_files(const void *left, const void *right) {
    const struct fp_merge_file *a = left, *b = right;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

// A rank that only the order gave is the lowest that no other file has.
static void settle_ranks(struct fp_merge *merge) {
    for (size_t i = 0; i < merge->count; i++) {
        struct fp_merge_file *file = &merge->files[i];
        bool taken = file->rank_source == FP_MERGE_RANK_ORDER;
        for (uint64_t rank = 0; taken; rank++) {
            taken = false;
            for (size_t j = 0; j < merge->count; j++)
                taken |= j != i && merge->files[j].rank == rank &&
                         (j < i || merge->files[j].rank_source != FP_MERGE_RANK_ORDER);
            file->rank = rank;
        }
    }
    qsort(merge->files, merge->count, sizeof(*merge->files), compare_files);
    for (size_t i = 1; i < merge->count; i++)
        merge->shared_rank |= merge->files[i].rank == merge->files[i - 1].rank;
}

static uint64_t power_above(uint64_t value) {
    uint64_t power = 10;
    while (power <= value && power <= UINT64_MAX / 10)
        power *= 10;
    return power > value ? power : 0;
}

static void choose_blocks(struct fp_merge *merge) {
    uint64_t most_pid = 0, most_id = 0, most_processes = 0;
    for (size_t i = 0; i < merge->count; i++) {
        const struct fp_merge_file *file = &merge->files[i];
        most_pid = file->most_pid > most_pid ? file->most_pid : most_pid;
        most_id = file->most_id > most_id ? file->most_id : most_id;
        most_processes = file->process_count > most_processes ? file->process_count : most_processes;
    }
    merge->pid_block = power_above(most_pid + most_processes);
    if (!merge->pid_block || most_pid > MOST_PID || merge->pid_block * merge->count > MOST_PID) {
        merge->compact_pids = true;
        merge->pid_block = power_above(most_processes);
    }
    merge->id_block = power_above(most_id);
    if (!merge->id_block || merge->id_block > MOST_ID || merge->id_block * merge->count > MOST_ID)
        merge->id_block = 0;
    merge->next_id = 1;
}

static bool number_is_taken(const struct fp_merge_file *file, uint64_t number) {
    for (size_t i = 0; i < file->process_count; i++)
        if (file->processes[i].pid.kind == FP_ID_NUMBER && file->processes[i].pid.number == number)
            return true;
    return false;
}

char *fp_merge_id_text(const struct fp_trace_id *id) {
    char *text = malloc(id->text.size + 1);
    if (!text)
        return NULL;
    memcpy(text, id->text.at, id->text.size);
    text[id->text.size] = 0;
    for (size_t at = 0; at < id->text.size; at++) {
        unsigned char c = (unsigned char)text[at];
        if (c == 0 || (!id->quoted && (c < 0x20 || c == '"' || c == '\\')))
            text[at] = '_';
    }
    return text;
}

// The process's id in the merged file, as JSON. The first rank's stay as they are.
static char *merged_pid(const struct fp_merge *merge, size_t place, size_t process, uint64_t *spare) {
    const struct fp_merge_file *file = &merge->files[place];
    const struct fp_trace_id *pid = &file->processes[process].pid;
    uint64_t block = (uint64_t)place * merge->pid_block;
    char *text = NULL;
    int made;
    if (pid->kind == FP_ID_TEXT || pid->kind == FP_ID_ABSENT) {
        unsigned long long label = merge->shared_rank ? place : file->rank;
        char *own = fp_merge_id_text(pid);
        if (!own)
            return NULL;
        made = place ? asprintf(&text, "\"rank %llu %s\"", label, own) : asprintf(&text, "\"%s\"", own);
        free(own);
    } else if (merge->compact_pids) {
        made = asprintf(&text, "%llu", (unsigned long long)(block + process));
    } else if (pid->kind == FP_ID_NUMBER) {
        made = asprintf(&text, "%llu", (unsigned long long)(block + pid->number));
    } else if (!place) {
        made = asprintf(&text, "%.*s", (int)pid->text.size, pid->text.at);
    } else { // a negative one: the last numbers of the block that nobody has
        do
            --*spare;
        while (number_is_taken(file, *spare));
        made = asprintf(&text, "%llu", (unsigned long long)(block + *spare));
    }
    return made < 0 ? NULL : text;
}

static int compare_sorts(const void *left, const void *right) {
    const struct fp_merge_process *const *a = left, *const *b = right;
    int64_t x = (*a)->has_sort ? (*a)->sort : INT64_MAX, y = (*b)->has_sort ? (*b)->sort : INT64_MAX;
    if (x != y)
        return x < y ? -1 : 1;
    return *a < *b ? -1 : *a > *b;
}

// Viewers show a rank's processes together, in the order that the rank's own file had.
static int sort_processes(const struct fp_merge *merge, size_t place, uint64_t block) {
    struct fp_merge_file *file = &merge->files[place];
    const struct fp_merge_process **order = malloc((file->process_count + 1) * sizeof(*order));
    if (!order)
        return -ENOMEM;
    for (size_t i = 0; i < file->process_count; i++)
        order[i] = &file->processes[i];
    qsort(order, file->process_count, sizeof(*order), compare_sorts);
    for (size_t i = 0; i < file->process_count; i++)
        ((struct fp_merge_process *)order[i])->merged_sort = (uint64_t)place * block + i;
    free(order);
    return 0;
}

static int number_processes(struct fp_merge *merge) {
    uint64_t most = 1;
    for (size_t i = 0; i < merge->count; i++)
        most = merge->files[i].process_count > most ? merge->files[i].process_count : most;
    uint64_t sort_block = power_above(most);
    for (size_t i = 0; i < merge->count; i++) {
        struct fp_merge_file *file = &merge->files[i];
        uint64_t spare = merge->pid_block;
        for (size_t k = 0; k < file->process_count; k++)
            if (!(file->processes[k].merged = merged_pid(merge, i, k, &spare)))
                return -ENOMEM;
        if (sort_processes(merge, i, sort_block) != 0)
            return -ENOMEM;
    }
    return 0;
}

// Absolute times of a file are its own plus this.
static int64_t to_absolute(const struct fp_merge *merge, const struct fp_merge_file *file) {
    if (file->times == FP_MERGE_BASED)
        return file->base_ns;
    return file->times == FP_MERGE_UNKNOWN ? merge->base_ns : 0;
}

static void choose_base(struct fp_merge *merge) {
    for (size_t i = 0; i < merge->count; i++) {
        const struct fp_merge_file *file = &merge->files[i];
        if (file->times == FP_MERGE_BASED && (!merge->has_base || file->base_ns < merge->base_ns)) {
            merge->base_ns = file->base_ns;
            merge->has_base = true;
        }
    }
    for (size_t i = 0; i < merge->count; i++) {
        struct fp_merge_file *file = &merge->files[i];
        file->shift_ns = (int64_t)((uint64_t)to_absolute(merge, file) - (uint64_t)merge->base_ns);
        fp_collectives_finish(&file->collectives, file->shift_ns);
        merge->ranks[i].collectives = &file->collectives;
    }
}

static bool spans_meet(const struct fp_merge_file *a, const struct fp_merge_file *b) {
    return a->first_ns + a->shift_ns <= b->last_ns + b->shift_ns &&
           b->first_ns + b->shift_ns <= a->last_ns + a->shift_ns;
}

static double gap_seconds(const struct fp_merge_file *a, const struct fp_merge_file *b) {
    double after = (double)(b->first_ns + b->shift_ns) - (double)(a->last_ns + a->shift_ns);
    double before = (double)(a->first_ns + a->shift_ns) - (double)(b->last_ns + b->shift_ns);
    return (after > before ? after : before) / 1e9;
}

// Shared broadcasts prove no offset, but they do show that.
static bool are_of_one_run(enum fp_align_state state) {
    return fp_align_holds(state) || state == FP_ALIGN_LOOSE;
}

// A file that meets no other in time, though nothing proves that it belongs to them.
static int refuse_strangers(const struct fp_merge *merge, struct fp_error *err) {
    for (size_t i = 0; i < merge->count; i++) {
        const struct fp_merge_file *file = &merge->files[i];
        bool meets = !file->any_time, matched = i ? are_of_one_run(merge->ranks[i].state) : false;
        size_t near = i ? 0 : 1;
        for (size_t j = 0; j < merge->count && !meets; j++) {
            meets = j != i && merge->files[j].any_time && spans_meet(file, &merge->files[j]);
            matched = matched || (i == 0 && j && are_of_one_run(merge->ranks[j].state));
        }
        if (meets || matched || merge->count < 2 || !merge->files[near].any_time)
            continue;
        fp_error_set(
            err,
            "%s does not meet %s in time (%.3f s lie between them), and no collective shows that they are of "
            "one run. --anyway merges them as they are",
            file->name, merge->files[near].name, gap_seconds(file, &merge->files[near]));
        return -EXDEV;
    }
    return 0;
}

static int refuse_unproven(const struct fp_merge *merge, struct fp_error *err) {
    for (size_t i = 0; i < merge->count; i++)
        if (!fp_align_holds(merge->ranks[i].state)) {
            fp_error_set(err,
                         "rank %llu (%s) cannot be aligned: %s. Without --align the clocks stay as they are",
                         (unsigned long long)merge->files[i].rank, merge->files[i].name,
                         fp_align_sentence(merge->ranks[i].state));
            return -EXDEV;
        }
    return 0;
}

int fp_merge_plan(struct fp_merge *merge, bool align, bool anyway, struct fp_error *err) {
    settle_ranks(merge);
    choose_blocks(merge);
    choose_base(merge);
    merge->align = align;
    int code = number_processes(merge);
    if (!code)
        code = fp_align_ranks(merge->ranks, merge->count);
    if (!code)
        code = fp_align_meetings(merge->ranks, merge->count, &merge->meetings, &merge->meeting_count);
    if (code) {
        fp_error_set(err, "not enough memory to merge %zu files", merge->count);
        return code;
    }
    if (align)
        return refuse_unproven(merge, err);
    return anyway ? 0 : refuse_strangers(merge, err);
}
