// args.h - the argument keys that analyses ask for by number.
//
// The reader recognises these while it walks an event's args, so that asking for one costs an array access. A
// key that is not listed is found by name with fp_event_arg_named. Adding one is adding a row.
#ifndef FLAGPROF_TRACE_ARGS_H
#define FLAGPROF_TRACE_ARGS_H

#define FP_ARG_TABLE(ROW)                                                                                    \
    ROW(EXTERNAL_ID, "External id")                                                                          \
    ROW(EXTERNAL_ID_OLD, "external id")                                                                      \
    ROW(CORRELATION, "correlation")                                                                          \
    ROW(DEVICE, "device")                                                                                    \
    ROW(STREAM, "stream")                                                                                    \
    ROW(CONTEXT, "context")                                                                                  \
    ROW(BYTES, "bytes")                                                                                      \
    ROW(BANDWIDTH, "memory bandwidth (GB/s)")                                                                \
    ROW(EV_IDX, "Ev Idx")                                                                                    \
    ROW(NAME, "name")                                                                                        \
    ROW(LABELS, "labels")                                                                                    \
    ROW(SORT_INDEX, "sort_index")                                                                            \
    ROW(COLLECTIVE_NAME, "Collective name")                                                                  \
    ROW(GROUP_NAME, "Process Group Name")                                                                    \
    ROW(GROUP_DESCRIPTION, "Process Group Description")                                                      \
    ROW(GROUP_RANKS, "Process Group Ranks")                                                                  \
    ROW(GROUP_SIZE, "Group size")                                                                            \
    ROW(SEQ, "Seq")                                                                                          \
    ROW(IN_ELEMENTS, "In msg nelems")                                                                        \
    ROW(OUT_ELEMENTS, "Out msg nelems")                                                                      \
    ROW(DTYPE, "dtype")                                                                                      \
    ROW(IS_ASYNC, "Is asynchronized op")                                                                     \
    ROW(WAIT_ON_STREAM, "wait_on_stream")                                                                    \
    ROW(SYNC_KIND, "cuda_sync_kind")                                                                         \
    ROW(GRAPH_ID, "graph id")                                                                                \
    ROW(GRAPH_NODE_ID, "graph node id")                                                                      \
    ROW(SEQUENCE_NUMBER, "Sequence number")                                                                  \
    ROW(FWD_THREAD, "Fwd thread id")                                                                         \
    ROW(RECORD_FUNCTION_ID, "Record function id")                                                            \
    ROW(PYTHON_ID, "Python id")                                                                              \
    ROW(PYTHON_PARENT_ID, "Python parent id")                                                                \
    ROW(PYTHON_MODULE_ID, "Python module id")                                                                \
    ROW(CBID, "cbid")                                                                                        \
    ROW(QUEUED, "queued")                                                                                    \
    ROW(GRID, "grid")                                                                                        \
    ROW(BLOCK, "block")                                                                                      \
    ROW(REGISTERS, "registers per thread")                                                                   \
    ROW(SHARED_MEMORY, "shared memory")                                                                      \
    ROW(BLOCKS_PER_SM, "blocks per SM")                                                                      \
    ROW(WARPS_PER_SM, "warps per SM")                                                                        \
    ROW(OCCUPANCY, "est. achieved occupancy %")                                                              \
    ROW(TASK_TYPE, "Task Type")                                                                              \
    ROW(STREAM_ID, "Stream Id")                                                                              \
    ROW(CONNECTION_ID, "connection_id")                                                                      \
    ROW(HLO_OP, "hlo_op")                                                                                    \
    ROW(HLO_MODULE, "hlo_module")                                                                            \
    ROW(INPUT_DIMS, "Input Dims")                                                                            \
    ROW(INPUT_TYPE, "Input type")                                                                            \
    ROW(INPUT_STRIDES, "Input Strides")                                                                      \
    ROW(CONCRETE_INPUTS, "Concrete Inputs")

enum fp_arg_id {
#define ROW(id, key) FP_ARG_##id,
    FP_ARG_TABLE(ROW)
#undef ROW
        FP_ARG_COUNT
};

// The key as the file spells it.
const char *fp_arg_key(enum fp_arg_id id);

#endif
