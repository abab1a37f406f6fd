// names.c - what the names of kernels, copies and launches tell.
//
// In:  names.
// Out: kinds, from tables of words.

#include "analysis/names.h"

#include <ctype.h>

#include "trace/number.h"

static bool has_folded(struct fp_text text, const char *word) {
    size_t size = strlen(word);
    for (size_t i = 0; i + size <= text.size; i++)
        if (strncasecmp(text.at + i, word, size) == 0)
            return true;
    return false;
}

bool fp_name_is_collective(struct fp_text kernel) {
    static const char *const words[] = { "ccl", "AllReduce", "AllGather", "ReduceScatter", "AllToAll" };
    if (!has_folded(kernel, words[0])) { // nccl, rccl, hccl, mccl, eccl, xccl, oneccl, cncl is none
        for (size_t i = 1; i < sizeof(words) / sizeof(*words); i++)
            if (fp_text_begins(kernel, words[i]))
                return true;
        return fp_text_has(kernel, "cncl");
    }
    static const char *const libraries[] = {
        "nccl", "rccl", "hccl", "mccl", "eccl", "xccl", "oneccl", "ixccl"
    };
    for (size_t i = 0; i < sizeof(libraries) / sizeof(*libraries); i++)
        if (has_folded(kernel, libraries[i]))
            return true;
    return false;
}

struct fp_text fp_name_of_collective(struct fp_text kernel) {
    static const char *const parts[] = { "AllReduce", "AllGather", "ReduceScatter", "AllToAll",
                                         "Broadcast", "Reduce",    "SendRecv",      "Gather",
                                         "Scatter",   "Send",      "Recv" };
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
        if (has_folded(kernel, parts[i]))
            return fp_text_of(parts[i]);
    return kernel;
}

const char *fp_name_direction(struct fp_text copy) {
    static const char *const rows[][2] = {
        { "HtoD", "host to device" },         { "DtoH", "device to host" },
        { "DtoD", "device to device" },       { "HtoH", "host to host" },
        { "PtoP", "peer to peer" },           { "HostToDevice", "host to device" },
        { "DeviceToHost", "device to host" }, { "DeviceToDevice", "device to device" },
        { "H2D", "host to device" },          { "D2H", "device to host" },
        { "D2D", "device to device" },        { "P2P", "peer to peer" },
        { "M2D", "host to device" },          { "D2M", "device to host" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (has_folded(copy, rows[i][0]))
            return rows[i][1];
    return NULL;
}

enum fp_call_kind fp_name_call_kind(struct fp_text call) {
    // In order: the first word that the name holds decides.
    static const struct {
        const char *word;
        enum fp_call_kind kind;
    } rows[] = {
        { "BeginCapture", FP_CALL_BEGIN_CAPTURE },
        { "CaptureBegin", FP_CALL_BEGIN_CAPTURE }, // aclmdlRICaptureBegin
        { "EndCapture", FP_CALL_END_CAPTURE },
        { "CaptureEnd", FP_CALL_END_CAPTURE },
        { "Synchronize", FP_CALL_SYNCHRONISE },
        { "StreamWaitEvent", FP_CALL_SYNCHRONISE },
        { "EventQuery", FP_CALL_OTHER },
        { "EventRecord", FP_CALL_SYNCHRONISE },
        { "GetGraphExec", FP_CALL_OTHER },
        { "GraphLaunch", FP_CALL_GRAPH },
        { "LaunchHostFunc", FP_CALL_OTHER },
        { "LaunchAttribute", FP_CALL_OTHER },
        { "LaunchKernel", FP_CALL_LAUNCH },
        { "LaunchCooperativeKernel", FP_CALL_LAUNCH },
        { "KernelLaunch", FP_CALL_LAUNCH },
        { "ModuleLaunch", FP_CALL_LAUNCH },
        { "AppendLaunch", FP_CALL_LAUNCH },
        { "cudaLaunch", FP_CALL_LAUNCH },
        { "hipLaunch", FP_CALL_LAUNCH },
        { "npuLaunch", FP_CALL_LAUNCH },
        { "EnqueueKernel", FP_CALL_LAUNCH },
        { "MemcpyAsync", FP_CALL_COPY },
        { "MemsetAsync", FP_CALL_COPY },
        { "MemcpyWithStream", FP_CALL_COPY },
        { "Memcpy", FP_CALL_COPY },
        { "Memset", FP_CALL_COPY },
        { "MemoryCopy", FP_CALL_COPY },
        { "MemoryFill", FP_CALL_COPY },
        { "USMMemcpy", FP_CALL_COPY },
        { "USMFill", FP_CALL_COPY },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (fp_text_has(call, rows[i].word))
            return rows[i].kind;
    return FP_CALL_OTHER;
}

bool fp_name_is_step(struct fp_text name, uint64_t *number) {
    static const char start[] = "ProfilerStep#";
    return fp_text_begins(name, start) &&
           fp_number_u64((struct fp_text){ name.at + sizeof(start) - 1, name.size - sizeof(start) + 1 },
                         number);
}

bool fp_name_is_pending(struct fp_text range) {
    static const char *const backends[] = { "gloo", "mpi", "ucc", "flagcx" }; // besides what ends on ccl
    static const char *const works[] = { "all_reduce", "allreduce",  "sparse_all_reduce",
                                         "broadcast",  "reduce",     "all_gather",
                                         "allgather",  "gather",     "reduce_scatter",
                                         "scatter",    "all_to_all", "alltoall",
                                         "barrier",    "send",       "recv",
                                         "coalesced" };
    const char *colon = range.size ? memchr(range.at, ':', range.size) : NULL;
    if (!colon)
        return false;
    struct fp_text backend = { range.at, (size_t)(colon - range.at) };
    struct fp_text work = { colon + 1, range.size - backend.size - 1 };
    bool known = backend.size > 3 && memcmp(colon - 3, "ccl", 3) == 0;
    for (size_t i = 0; !known && i < sizeof(backends) / sizeof(*backends); i++)
        known = fp_text_equals(backend, backends[i]);
    if (known && work.size && work.at[0] == '_') // _all_gather_base
        work = (struct fp_text){ work.at + 1, work.size - 1 };
    for (size_t i = 0; known && i < sizeof(works) / sizeof(*works); i++)
        if (fp_text_begins(work, works[i]))
            return true;
    return false;
}

bool fp_name_is_hidden(struct fp_text name) {
    static const char *const hidden[] = {
        "[memory]",
        "[OutOfMemory]",
        "profiler::_record_function_enter",
        "profiler::_record_function_enter_new",
        "profiler::_record_function_exit",
        "aten::is_leaf",
        "aten::output_nr",
        "aten::_version",
    };
    if (!name.size || (name.at[0] != '[' && name.at[0] != 'p' && name.at[0] != 'a'))
        return false;
    for (size_t i = 0; i < sizeof(hidden) / sizeof(*hidden); i++)
        if (fp_text_equals(name, hidden[i]))
            return true;
    return false;
}

unsigned fp_name_dtype_bytes(struct fp_text dtype) {
    static const struct {
        const char *name;
        unsigned bytes;
    } rows[] = {
        { "Float", 4 },         { "BFloat16", 2 },    { "Half", 2 },         { "Double", 8 },
        { "Long", 8 },          { "Int", 4 },         { "Short", 2 },        { "Char", 1 },
        { "Byte", 1 },          { "Bool", 1 },        { "float", 4 },        { "c10::BFloat16", 2 },
        { "Float8_e4m3fn", 1 }, { "Float8_e5m2", 1 }, { "ComplexFloat", 8 },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (fp_text_equals(dtype, rows[i].name))
            return rows[i].bytes;
    return 0;
}
