// contract.c - the vendor contract without Python (contract.h): the sessions and the twelve cases.

#include "cli/contract.h"

#include "trace/reader.h"
#include "trace/writer.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <regex.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// Kernel 0 belongs to the framework's id 0, which is an id like any other. The last two are started while two
// threads both have an operator: each must get its own.
enum {
    LAUNCHES = 12,
    KERNELS = LAUNCHES + 2,
    OPERATOR = 4000000,
    TRANSFERS = OPERATOR + 500,
    RANGE = 9000000,
    BYTES_IN = 4096,
    BYTES_OUT = 2048,
    BYTES_SET = 512,
    SET_VALUE = 3,
    CLOCK_SLACK_NS = 100000000, // far below what a wrong epoch or unit is off by
};

static const struct fp_contract_pair nothing[] = { { NULL, NULL } };

const struct fp_contract_row fp_contract_rows[] = {
#include "cli/contract_rows.inc"
    { .name = NULL },
};

const struct fp_contract_row *fp_contract_row_named(const char *name) {
    for (const struct fp_contract_row *row = fp_contract_rows; row->name; row++)
        if (strcmp(row->name, name) == 0)
            return row;
    return NULL;
}

static const char *value_of(const struct fp_contract_pair *pairs, const char *key) {
    for (const struct fp_contract_pair *pair = pairs ? pairs : nothing; pair->key; pair++)
        if (strcmp(pair->key, key) == 0)
            return pair->value;
    return NULL;
}

// ---- The sessions

struct session {
    struct fp_recording *recording;
    struct fp_ledger ledger;
    int64_t start_ns, end_ns;
    uint32_t threads[2]; // of the program, of its second thread
};

struct contract {
    struct fp_accelerator *accelerator;
    const struct fp_workload *workload;
    const struct fp_contract_row *row;
    struct session sessions[2];
};

static int64_t epoch_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static uint64_t operator_of(int kernel) {
    return kernel == 0 ? 0 : (uint64_t)(OPERATOR + kernel);
}

static int launch(const struct contract *contract, int kernel) {
    fp_push(FP_ID_OPERATOR, operator_of(kernel));
    int result = contract->workload->launch((unsigned)kernel);
    fp_pop(FP_ID_OPERATOR);
    return result;
}

struct helper {
    const struct contract *contract;
    pthread_barrier_t pushed, launched;
    uint32_t thread;
    int result;
};

static void *launch_beside(void *owner) {
    struct helper *helper = owner;
    helper->thread = (uint32_t)syscall(SYS_gettid);
    fp_push(FP_ID_OPERATOR, operator_of(LAUNCHES));
    pthread_barrier_wait(&helper->pushed);
    helper->result = helper->contract->workload->launch(LAUNCHES);
    pthread_barrier_wait(&helper->launched);
    fp_pop(FP_ID_OPERATOR);
    return NULL;
}

// Two threads have an operator at the same time; the one that pushed first launches last.
static int launch_from_two_threads(struct contract *contract, struct session *session) {
    struct helper helper = { .contract = contract };
    pthread_t thread;
    pthread_barrier_init(&helper.pushed, NULL, 2);
    pthread_barrier_init(&helper.launched, NULL, 2);
    fp_push(FP_ID_OPERATOR, operator_of(LAUNCHES + 1));
    if (pthread_create(&thread, NULL, launch_beside, &helper) != 0)
        return -EAGAIN;
    pthread_barrier_wait(&helper.pushed);
    pthread_barrier_wait(&helper.launched);
    int result = contract->workload->launch(LAUNCHES + 1);
    fp_pop(FP_ID_OPERATOR);
    pthread_join(thread, NULL);
    pthread_barrier_destroy(&helper.pushed);
    pthread_barrier_destroy(&helper.launched);
    session->threads[1] = helper.thread;
    return result ? result : helper.result;
}

static int work(struct contract *contract, struct session *session) {
    const struct fp_workload *workload = contract->workload;
    int result = 0;
    session->threads[0] = (uint32_t)syscall(SYS_gettid);
    fp_push(FP_ID_RANGE, RANGE);
    for (int kernel = 0; kernel < LAUNCHES && result == 0; kernel++)
        result = launch(contract, kernel);
    fp_pop(FP_ID_RANGE);
    fp_push(FP_ID_OPERATOR, TRANSFERS);
    if (result == 0)
        result = workload->copy(1, BYTES_IN);
    if (result == 0)
        result = workload->set(SET_VALUE, BYTES_SET);
    if (result == 0)
        result = workload->copy(0, BYTES_OUT);
    if (result == 0 && workload->copy(1, 0) + workload->set(SET_VALUE, 0) != 0) // start nothing, miss nothing
        result = -EIO;
    fp_pop(FP_ID_OPERATOR);
    if (result == 0)
        result = launch_from_two_threads(contract, session);
    return workload->synchronize() || result ? -EIO : 0;
}

static int record(struct contract *contract, struct session *session, struct fp_error *err) {
    struct fp_recording_options options = { .size = sizeof(options) };
    session->start_ns = epoch_now();
    int result = fp_recording_start(contract->accelerator, &options, &session->recording, err);
    if (result != 0)
        return result;
    int worked = work(contract, session);
    if (worked != 0)
        fp_error_set(err, "the workload failed: %s", contract->workload->error());
    result = fp_recording_stop(session->recording, 0, worked ? NULL : err);
    session->end_ns = epoch_now();
    if (result == 0)
        result =
            fp_recording_finish(session->recording, session->start_ns, session->end_ns, worked ? NULL : err);
    session->ledger.size = sizeof(session->ledger);
    fp_recording_ledger(session->recording, &session->ledger);
    return worked ? worked : result;
}

// ---- What a case says

static void wrong(struct fp_verdict *verdict, const char *format, ...) FP_PRINTF(2, 3);
static void wrong(struct fp_verdict *verdict, const char *format, ...) {
    if (verdict->result == FP_VERDICT_FAIL) // the first thing says most
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(verdict->text, sizeof(verdict->text), format, arguments);
    va_end(arguments);
    verdict->result = FP_VERDICT_FAIL;
}

static void seen(struct fp_verdict *verdict, const char *format, ...) FP_PRINTF(2, 3);
static void seen(struct fp_verdict *verdict, const char *format, ...) {
    if (verdict->result == FP_VERDICT_FAIL)
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(verdict->text, sizeof(verdict->text), format, arguments);
    va_end(arguments);
}

// ---- Looking at a session

// NOLINTBEGIN(bugprone-macro-parentheses): what is declared cannot stand in parentheses
#define EACH(session, record)                                                                                \
    (size_t at_ = 0; at_ < fp_recording_count((session)->recording);                                         \
     at_++) for (const struct fp_record *record = fp_recording_at((session)->recording, at_); record;        \
                 record = NULL)
// NOLINTEND(bugprone-macro-parentheses)

static const char *name_of(const struct session *session, const struct fp_record *record) {
    return fp_recording_name(session->recording, record->name);
}

static int kernel_number(const struct session *session, const struct fp_record *record) {
    int number = -1;
    const char *found = strstr(name_of(session, record), "contract_kernel_");
    return found && sscanf(found, "contract_kernel_%d", &number) == 1 ? number : -1;
}

static bool is_device(const struct fp_record *record) {
    return fp_kind_is_device(fp_record_kind(record));
}

static bool is_call(const struct fp_record *record) {
    return fp_kind_is_host_call(fp_record_kind(record));
}

static size_t count_kind(const struct session *session, enum fp_kind kind) {
    size_t count = 0;
    for
        EACH(session, record)
    count += fp_record_kind(record) == kind;
    return count;
}

static const struct fp_record *call_of(const struct session *session, uint32_t vendor_id) {
    for
        EACH(session, record)
    if (is_call(record) && record->vendor_id == vendor_id)
        return record;
    return NULL;
}

// Fields under their names in torch's traces, as the rows of vendors.json lack them.
static const struct {
    enum fp_kind kind;
    const char *key;
    enum fp_field_bit field;
} promised[] = {
    { FP_KIND_KERNEL, "kernel: stream", FP_HAS_STREAM },
    { FP_KIND_KERNEL, "kernel: context", FP_HAS_CONTEXT },
    { FP_KIND_KERNEL, "kernel: grid", FP_HAS_GEOMETRY },
    { FP_KIND_KERNEL, "kernel: registers per thread", FP_HAS_REGISTERS },
    { FP_KIND_KERNEL, "kernel: shared memory", FP_HAS_SHARED },
    { FP_KIND_KERNEL, "kernel: est. achieved occupancy %", FP_HAS_OCCUPANCY },
    { FP_KIND_KERNEL, "kernel: queued", FP_HAS_QUEUED },
    { FP_KIND_MEMCPY, "gpu_memcpy: stream", FP_HAS_STREAM },
    { FP_KIND_MEMCPY, "gpu_memcpy: context", FP_HAS_CONTEXT },
    { FP_KIND_MEMCPY, "gpu_memcpy: bytes", FP_HAS_BYTES },
    { FP_KIND_MEMSET, "gpu_memset: stream", FP_HAS_STREAM },
    { FP_KIND_MEMSET, "gpu_memset: context", FP_HAS_CONTEXT },
    { FP_KIND_MEMSET, "gpu_memset: bytes", FP_HAS_BYTES },
    { FP_KIND_RUNTIME, "cuda_runtime: cbid", FP_HAS_CBID },
};

// A tracer without a row, a vendor's own, has promised none of the optional fields.
static void check_fields(const struct contract *contract, const struct session *session, enum fp_kind kind,
                         struct fp_verdict *verdict) {
    for (size_t i = 0; contract->row->calls && i < sizeof(promised) / sizeof(promised[0]); i++) {
        const char *why = value_of(contract->row->lacks, promised[i].key);
        bool lacks = why != NULL;
        if (why && strncmp(why, "perhaps: ", 9) == 0) // by what the vendor's records tell
            continue;
        for
            EACH(session, record) {
                bool has = fp_record_has(record, promised[i].field);
                if (promised[i].kind != kind || fp_record_kind(record) != kind || has == !lacks)
                    continue;
                wrong(verdict, "%s: %s %s", name_of(session, record), promised[i].key,
                      lacks ? "is there, though the row says that it cannot be had" : "is missing");
            }
    }
}

// ---- The cases

static void kernel_events(struct contract *contract, struct fp_verdict *verdict) {
    const struct session *session = &contract->sessions[0];
    unsigned times[KERNELS] = { 0 };
    int devices = fp_accelerator_device_count(contract->accelerator);
    for
        EACH(session, record) {
            if (fp_record_kind(record) != FP_KIND_KERNEL)
                continue;
            int number = kernel_number(session, record);
            if (number < 0 || number >= KERNELS)
                wrong(verdict, "kernel '%s' was not started by the workload", name_of(session, record));
            else
                times[number]++;
            if (record->device >= devices)
                wrong(verdict, "%s ran on device %u of %d", name_of(session, record), record->device,
                      devices);
        }
    for (int number = 0; number < KERNELS; number++)
        if (times[number] != 1)
            wrong(verdict, "kernel %d was recorded %u times", number, times[number]);
    seen(verdict, "%d kernels, each once", KERNELS);
}

static void runtime_events(struct contract *contract, struct fp_verdict *verdict) {
    const struct session *session = &contract->sessions[0];
    size_t launches = 0;
    for
        EACH(session, record) {
            if (is_call(record) && record->u.call.thread != session->threads[0] &&
                record->u.call.thread != session->threads[1])
                wrong(verdict, "%s was made by thread %u, the program's are %u and %u",
                      name_of(session, record), record->u.call.thread, session->threads[0],
                      session->threads[1]);
            if (is_device(record) && !call_of(session, record->vendor_id))
                wrong(verdict, "%s was started by no recorded call", name_of(session, record));
            launches += is_call(record) && fp_record_has(record, FP_IS_LAUNCH);
        }
    if (launches == 0)
        wrong(verdict, "no call that starts device work");
    seen(verdict, "%zu calls, %zu of them start device work",
         count_kind(session, FP_KIND_RUNTIME) + count_kind(session, FP_KIND_DRIVER), launches);
}

static bool kept_out(struct contract *contract, const char *name, enum fp_kind kind,
                     struct fp_verdict *verdict) {
    if (!value_of(contract->row->cannot, name))
        return false;
    if (count_kind(&contract->sessions[0], kind) != 0)
        wrong(verdict, "records came, though the row says that none can be had");
    if (count_kind(&contract->sessions[0], FP_KIND_KERNEL) == 0)
        wrong(verdict, "no device work at all");
    return true;
}

static void memcpy_events(struct contract *contract, struct fp_verdict *verdict) {
    const struct session *session = &contract->sessions[0];
    size_t copies = 0;
    bool in = false, out = false, unsized = value_of(contract->row->lacks, "gpu_memcpy: bytes") != NULL,
         undirected = value_of(contract->row->lacks, "gpu_memcpy: direction") != NULL;
    if (kept_out(contract, verdict->name, FP_KIND_MEMCPY, verdict))
        return;
    for
        EACH(session, record) {
            if (fp_record_kind(record) != FP_KIND_MEMCPY)
                continue;
            bool has = fp_record_has(record, FP_HAS_BYTES);
            if (has && record->u.transfer.bytes == 0) // a record of what moves nothing is the vendor's choice
                continue;
            copies++;
            const char *name = name_of(session, record);
            bool right_in = has ? record->u.transfer.bytes == BYTES_IN : unsized;
            bool right_out = has ? record->u.transfer.bytes == BYTES_OUT : unsized;
            in |= (strstr(name, "HtoD") || undirected) && right_in;
            out |= (strstr(name, "DtoH") || undirected) && right_out;
        }
    if (!in || !out || copies != 2)
        wrong(verdict, "%zu copies, and none to the device of %d and from it of %d bytes", copies, BYTES_IN,
              BYTES_OUT);
    check_fields(contract, session, FP_KIND_MEMCPY, verdict);
    seen(verdict, "%d bytes to the device, %d back", BYTES_IN, BYTES_OUT);
}

static void memset_events(struct contract *contract, struct fp_verdict *verdict) {
    const struct session *session = &contract->sessions[0];
    bool found = false, unsized = value_of(contract->row->lacks, "gpu_memset: bytes") != NULL;
    if (kept_out(contract, verdict->name, FP_KIND_MEMSET, verdict))
        return;
    for
        EACH(session, record) {
            if (fp_record_kind(record) != FP_KIND_MEMSET)
                continue;
            found |= fp_record_has(record, FP_HAS_BYTES) ? record->u.transfer.bytes == BYTES_SET : unsized;
            if (fp_record_has(record, FP_HAS_VALUE) && record->u.transfer.value != SET_VALUE)
                wrong(verdict, "set to %u, and %d was asked for", record->u.transfer.value, SET_VALUE);
        }
    if (!found)
        wrong(verdict, "%zu fills, none of %d bytes", count_kind(session, FP_KIND_MEMSET), BYTES_SET);
    check_fields(contract, session, FP_KIND_MEMSET, verdict);
    seen(verdict, "%d bytes filled", BYTES_SET);
}

static void positive_durations(struct contract *contract, struct fp_verdict *verdict) {
    const struct session *session = &contract->sessions[0];
    int64_t longest = 0, room = session->end_ns - session->start_ns;
    for
        EACH(session, record) {
            int64_t length = record->end_ns - record->start_ns;
            if (!is_device(record) && !is_call(record))
                continue;
            if (length <= 0 || length > room)
                wrong(verdict, "%s lasts %" PRId64 " ns in a session of %" PRId64, name_of(session, record),
                      length, room);
            if (record->start_ns < session->start_ns - CLOCK_SLACK_NS ||
                record->end_ns > session->end_ns + CLOCK_SLACK_NS)
                wrong(verdict, "%s lies outside the session", name_of(session, record));
            longest = length > longest ? length : longest;
        }
    if (longest == 0)
        wrong(verdict, "no event");
    seen(verdict, "all within the session, the longest %" PRId64 " ns", longest);
}

static void paired_flows(struct contract *contract, struct fp_verdict *verdict) {
    const struct session *session = &contract->sessions[0];
    size_t arrows = 0;
    for
        EACH(session, record) {
            if (is_call(record) && fp_record_has(record, FP_HAS_ARROW)) {
                uint32_t started = 0;
                for (size_t at = 0; at < fp_recording_count(session->recording); at++) {
                    const struct fp_record *other = fp_recording_at(session->recording, at);
                    started += is_device(other) && other->vendor_id == record->vendor_id;
                }
                if (started == 0 || started != record->u.call.device_work)
                    wrong(verdict, "%s says that it started %u, and %u carry its id",
                          name_of(session, record), record->u.call.device_work, started);
            }
            if (!is_device(record))
                continue;
            const struct fp_record *call = call_of(session, record->vendor_id);
            if (record->vendor_id == 0 || !fp_record_has(record, FP_HAS_ARROW))
                wrong(verdict, "%s has no arrow", name_of(session, record));
            else if (!call || !fp_record_has(call, FP_HAS_ARROW))
                wrong(verdict, "the arrow to %s has no beginning", name_of(session, record));
            else if (call->start_ns > record->end_ns + CLOCK_SLACK_NS)
                wrong(verdict, "%s ended before it was started", name_of(session, record));
            arrows++;
        }
    if (arrows == 0)
        wrong(verdict, "no device work");
    seen(verdict, "%zu arrows, all whole", arrows);
}

static void check_owner(const struct session *session, const struct fp_record *record, uint64_t owner,
                        struct fp_verdict *verdict) {
    if (!fp_record_has(record, FP_HAS_FRAMEWORK_ID))
        wrong(verdict, "%s belongs to no operator, it is %" PRIu64 "'s", name_of(session, record), owner);
    else if (record->framework_id != owner)
        wrong(verdict, "%s is given to operator %" PRIu64 ", it is %" PRIu64 "'s", name_of(session, record),
              record->framework_id, owner);
}

static void right_operator(struct contract *contract, struct fp_verdict *verdict) {
    const struct session *session = &contract->sessions[0];
    size_t owned = 0;
    for
        EACH(session, record) {
            int number = kernel_number(session, record);
            if (fp_record_kind(record) == FP_KIND_KERNEL && number >= 0)
                check_owner(session, record, operator_of(number), verdict);
            else if (is_device(record) && fp_record_kind(record) != FP_KIND_KERNEL)
                check_owner(session, record, TRANSFERS, verdict);
            owned += is_device(record);
        }
    if (owned == 0)
        wrong(verdict, "no device work");
    seen(verdict, "%zu pieces of device work, each its operator's, from two threads", owned);
}

static void kernel_metadata(struct contract *contract, struct fp_verdict *verdict) {
    const struct session *session = &contract->sessions[0];
    for
        EACH(session, record) {
            if (fp_record_kind(record) != FP_KIND_KERNEL)
                continue;
            int number = kernel_number(session, record);
            const char *name = name_of(session, record);
            if (strncmp(name, "_Z", 2) == 0)
                wrong(verdict, "%s is mangled", name);
            if (fp_record_has(record, FP_HAS_GEOMETRY) &&
                (record->u.kernel.grid_x != (uint32_t)number + 1 || record->u.kernel.block_x == 0 ||
                 record->u.kernel.grid_y == 0 || record->u.kernel.block_y == 0 ||
                 record->u.kernel.grid_z == 0 || record->u.kernel.block_z == 0))
                wrong(verdict, "%s has a grid of %u, it was started with %d", name, record->u.kernel.grid_x,
                      number + 1);
        }
    if (count_kind(session, FP_KIND_KERNEL) == 0)
        wrong(verdict, "no kernel");
    check_fields(contract, session, FP_KIND_KERNEL, verdict);
    seen(verdict, "geometry as launched where the vendor has it, names demangled");
}

// A label that a tracer writes where it does not know a name: a word that ends in _ and a number.
static bool is_label(const char *name) {
    const char *line = strrchr(name, '_');
    return name[0] == '\0' || strncmp(name, "unnamed", 7) == 0 || strcmp(name, "INVALID") == 0 ||
           (line && strstr(name, "Call_") && line[1] && strspn(line + 1, "0123456789") == strlen(line + 1));
}

static void api_names(struct contract *contract, struct fp_verdict *verdict) {
    const struct session *session = &contract->sessions[0];
    regex_t pattern;
    const char *calls = contract->row->calls ? contract->row->calls : ".";
    const char *example = NULL;
    if (regcomp(&pattern, calls, REG_EXTENDED | REG_NOSUB) != 0) {
        wrong(verdict, "the row's pattern %s is none", calls);
        return;
    }
    for
        EACH(session, record) {
            if (!is_call(record))
                continue;
            const char *name = name_of(session, record);
            if (is_label(name))
                wrong(verdict, "call '%s' has no name", name);
            else if (regexec(&pattern, name, 0, NULL, 0) != 0)
                wrong(verdict, "%s is no name of this vendor's", name);
            example = fp_record_has(record, FP_IS_LAUNCH) || !example ? name : example;
        }
    regfree(&pattern);
    if (!example)
        wrong(verdict, "no host call");
    seen(verdict, "all have names, as %s", example ? example : "");
}

static void runtime_keys(struct contract *contract, struct fp_verdict *verdict) {
    const struct session *session = &contract->sessions[0];
    bool may_lack = value_of(contract->row->lacks, "cuda_runtime: correlation") != NULL;
    size_t calls = 0;
    for
        EACH(session, record) {
            if (!is_call(record))
                continue;
            calls++;
            if (record->vendor_id == 0 && (!may_lack || fp_record_has(record, FP_IS_LAUNCH)))
                wrong(verdict, "%s has no correlation id", name_of(session, record));
            if (record->vendor_id != 0 && call_of(session, record->vendor_id) != record)
                wrong(verdict, "correlation id %u is on two calls", record->vendor_id);
        }
    if (calls == 0)
        wrong(verdict, "no host call");
    check_fields(contract, session, FP_KIND_RUNTIME, verdict);
    seen(verdict, "%zu calls, each with an id of its own", calls);
}

static int write_trace(const struct session *session, const char *path, struct fp_error *err) {
    struct fp_output *output = NULL;
    char *ledger = malloc(1 << 16);
    int result = ledger ? fp_output_open(path, NULL, &output, err) : -ENOMEM;
    if (result == 0) {
        fp_ledger_json(&session->ledger, ledger, 1 << 16);
        fp_output_format(output, "{\"flagprof_ledger\": %s, \"traceEvents\": [", ledger);
        const char *comma = "";
        for
            EACH(session, record) {
                const char *name = name_of(session, record);
                fp_output_format(output, "%s\n{\"ph\": \"X\", \"pid\": %u, \"tid\": %u, \"name\": ", comma,
                                 record->device, record->stream);
                fp_output_json_text(output, (struct fp_text){ name, strlen(name) });
                fp_output_text(output, ", \"ts\": ");
                fp_output_microseconds(output, record->start_ns - session->start_ns, false);
                fp_output_text(output, ", \"dur\": ");
                fp_output_microseconds(output, record->end_ns - record->start_ns, false);
                fp_output_format(output, ", \"args\": {\"correlation\": %u}}", record->vendor_id);
                comma = ",";
            }
        fp_output_text(output, "\n]}\n");
        result = fp_output_commit(output, err);
    }
    free(ledger);
    return result;
}

static void valid_json(struct contract *contract, struct fp_verdict *verdict) {
    const struct session *session = &contract->sessions[0];
    struct fp_error err = { "no memory" };
    struct fp_reader *reader = NULL;
    const struct fp_trace_event *event = NULL;
    char path[64] = "/tmp/flagprof-contract-XXXXXX";
    size_t events = 0;
    int file = mkstemp(path), result = file < 0 ? -errno : write_trace(session, path, &err);
    if (result == 0)
        result = fp_reader_open(path, NULL, &reader, &err);
    while (result == 0 && (result = fp_reader_next(reader, &event, &err)) == 1) {
        events++;
        result = 0;
    }
    fp_reader_close(reader);
    if (file >= 0) {
        close(file);
        unlink(path);
    }
    if (result != 0)
        wrong(verdict, "a trace of the recording cannot be read back: %s", err.text);
    else if (events == 0 || events != fp_recording_count(session->recording))
        wrong(verdict, "%zu records became %zu events", fp_recording_count(session->recording), events);
    seen(verdict, "%zu events written and read back, the ledger with them", events);
}

static void repeated_sessions(struct contract *contract, struct fp_verdict *verdict) {
    const struct session *first = &contract->sessions[0], *second = &contract->sessions[1];
    for (int kind = 0; kind < FP_KIND_COUNT; kind++)
        if (fp_kind_is_device((enum fp_kind)kind) &&
            count_kind(first, (enum fp_kind)kind) != count_kind(second, (enum fp_kind)kind))
            wrong(verdict, "device records of kind %d: %zu in the first session, %zu in the second", kind,
                  count_kind(first, (enum fp_kind)kind), count_kind(second, (enum fp_kind)kind));
    for
        EACH(second, record) {
            int number = kernel_number(second, record);
            if (fp_record_kind(record) == FP_KIND_KERNEL && number >= 0)
                check_owner(second, record, operator_of(number), verdict);
            if (is_device(record) && record->end_ns < first->end_ns)
                wrong(verdict, "%s is of the first session", name_of(second, record));
        }
    if (fp_recording_count(second->recording) == 0)
        wrong(verdict, "the second session recorded nothing");
    for (size_t i = 0; i < 2; i++) {
        char sentence[300];
        fp_ledger_sentence(&contract->sessions[i].ledger, sentence, sizeof(sentence));
        if (!contract->sessions[i].ledger.complete)
            wrong(verdict, "session %zu: %s", i + 1, sentence);
    }
    seen(verdict, "two sessions alike, both complete by their ledgers");
}

// ---- Judging

static const struct {
    const char *name;
    void (*judge)(struct contract *contract, struct fp_verdict *verdict);
} cases[FP_CONTRACT_CASES] = {
    { "kernel_events", kernel_events },
    { "runtime_events", runtime_events },
    { "memcpy_events", memcpy_events },
    { "memset_events", memset_events },
    { "positive_durations", positive_durations },
    { "paired_flows", paired_flows },
    { "device_time_goes_to_the_right_operator", right_operator },
    { "kernel_metadata", kernel_metadata },
    { "api_names", api_names },
    { "runtime_keys", runtime_keys },
    { "valid_json", valid_json },
    { "repeated_sessions", repeated_sessions },
};

static void judge(struct contract *contract, size_t number, struct fp_verdict *verdict) {
    *verdict = (struct fp_verdict){ .name = cases[number].name };
    cases[number].judge(contract, verdict);
    const char *reason = value_of(contract->row->cannot, verdict->name);
    if (verdict->result == FP_VERDICT_PASS && reason) {
        seen(verdict, "%s", reason);
        verdict->result = FP_VERDICT_SKIP;
    }
}

int fp_contract_run(struct fp_accelerator *accelerator, const struct fp_workload *workload,
                    const struct fp_contract_row *row, struct fp_verdict verdicts[FP_CONTRACT_CASES],
                    struct fp_error *err) {
    struct contract contract = { .accelerator = accelerator, .workload = workload, .row = row };
    int result = record(&contract, &contract.sessions[0], err);
    if (result == 0)
        result = record(&contract, &contract.sessions[1], err);
    for (size_t number = 0; result == 0 && number < FP_CONTRACT_CASES; number++)
        judge(&contract, number, &verdicts[number]);
    fp_recording_free(contract.sessions[0].recording);
    fp_recording_free(contract.sessions[1].recording);
    return result;
}
