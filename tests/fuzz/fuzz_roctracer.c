// fuzz_roctracer.c - any bytes as ROCtracer's records and HIP's arguments: what reads them never reads outside
// them, always ends, and never lets an event with impossible times through.
//
// In:  byte 0: bit 0: every call is shown; bit 1: the nodes of the driver's topology are known. Then steps,
//      each a byte that says what comes and a byte of length, and that many bytes: device records (bit 0 of the
//      first), or a call's number, ids and arguments; bit 1: what is held is tried again.
// Out: nothing, or abort. Seeds: seeds_roctracer.py.
#include "fuzz_sink.h"
#include "tracers/roctracer_decode.h"

enum { APIS = 512, ARGUMENT_BYTES = 256, CALL_HEAD = 24, RECORD = sizeof(struct fp_roc_record) };

static struct fuzz_judge judge;
static const struct fp_hip_call *apis[APIS];

struct fuzzing {
    struct fp_roc_decoder *decoder;
    struct fp_sink sink;
};

static const char *call_name(void *owner, uint32_t cid) {
    static const char *const names[] = { NULL, "hipLaunchKernel", "hipMemcpyAsync", "hipStreamBeginCapture",
                                         "",   "hipGetDevice" };
    (void)owner;
    return names[cid % (sizeof(names) / sizeof(names[0]))];
}

static void put_work(void *owner, const struct fp_roc_work *work) {
    struct fuzzing *fuzzing = owner;
    fp_roc_decode_work(fuzzing->decoder, &fuzzing->sink, work);
}

// In an allocation of its own size; the address of a name becomes that of a text, as the library's are.
static void take_records(struct fuzzing *fuzzing, struct fp_text_arena *names, const uint8_t *bytes,
                         size_t size) {
    char *buffer = malloc(size > 0 ? size : 1);
    require(buffer != NULL);
    memcpy(buffer, bytes, size);
    for (size_t at = 0; at + RECORD <= size; at += RECORD) {
        struct fp_roc_record record;
        memcpy(&record, buffer + at, sizeof(record));
        if (record.domain == FP_ROC_DOMAIN_HIP_OPS && record.op == FP_ROC_OP_DISPATCH) {
            record.u.kernel_name = fuzz_text(&judge, record.u.bytes);
        }
        memcpy(buffer + at, &record, sizeof(record));
    }
    require(fp_roc_read_records(buffer, buffer + size, names, put_work, fuzzing) < RECORD);
    free(buffer);
}

static void take_call(struct fuzzing *fuzzing, const uint8_t *bytes, size_t size) {
    uint8_t *data = calloc(1, ARGUMENT_BYTES);
    uint8_t head[CALL_HEAD] = { 0 };
    struct fp_roc_call call = { .thread = 77, .has_operator = true, .has_range = true };
    require(data != NULL);
    memcpy(head, bytes, size < CALL_HEAD ? size : CALL_HEAD);
    memcpy(&call.correlation_id, head, sizeof(call.correlation_id));
    call.cid = (uint32_t)head[8] | (uint32_t)head[9] << 8;
    call.operator_id = head[10];
    memcpy(&call.start, head + 11, 6);
    memcpy(&call.end, head + 17, 6);
    if (size > CALL_HEAD) {
        memcpy(data, bytes + CALL_HEAD,
               size - CALL_HEAD < ARGUMENT_BYTES ? size - CALL_HEAD : ARGUMENT_BYTES);
    }
    if (call.cid < APIS && apis[call.cid]) {
        fp_roc_read_arguments(&call, apis[call.cid], data);
    }
    fp_roc_decode_call(fuzzing->decoder, &fuzzing->sink, &call);
    free(data);
}

static void take_steps(struct fuzzing *fuzzing, struct fp_text_arena *names, const uint8_t *input,
                       size_t size) {
    while (size > 2) {
        size_t length = input[1];
        uint8_t what = input[0];
        input += 2;
        size -= 2;
        length = length < size ? length : size;
        if (what & 1) {
            take_records(fuzzing, names, input, length);
        } else {
            take_call(fuzzing, input, length);
        }
        if (what & 2) {
            fp_roc_decode_held(fuzzing->decoder, &fuzzing->sink, false);
        }
        input += length;
        size -= length;
    }
    fp_roc_decode_held(fuzzing->decoder, &fuzzing->sink, true);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size) {
    struct fuzzing fuzzing;
    if (size < 1) {
        return 0;
    }
    for (size_t at = 0; at < sizeof(fp_hip_calls) / sizeof(fp_hip_calls[0]); at++) {
        if (fp_hip_calls[at].id < APIS) {
            apis[fp_hip_calls[at].id] = &fp_hip_calls[at];
        }
    }
    struct fp_roc_decoder_options options = {
        .apis = apis,
        .api_count = APIS,
        .call_name = call_name,
        .device_count = 2,
        .first_node = input[0] & 2 ? 2 : -1,
        .all_calls = (input[0] & 1) != 0,
    };
    struct fp_text_arena *names = fp_text_arena_new(1 << 20, 64);
    fuzzing.sink = fuzz_sink(&judge);
    fuzzing.decoder = fp_roc_decoder_new(&options);
    require(fuzzing.decoder && names);
    take_steps(&fuzzing, names, input + 1, size - 1);
    fp_roc_decoder_free(fuzzing.decoder);
    fp_text_arena_free(names);
    return 0;
}
