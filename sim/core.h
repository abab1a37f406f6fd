// core.h - what the simulator's own files share; no facade and no program includes it.
//
// One process-wide accelerator. Lock order: sim.lock, a device's list, a stream, an event, a graph. Kernels
// and callbacks of observers run with no lock held.
#ifndef FLAGSIM_CORE_H
#define FLAGSIM_CORE_H

#include "flagsim.h"

#include <pthread.h>
#include <stdatomic.h>

enum { MAX_DEVICES = 16, DEFAULT_STREAM_ID = 7, FIRST_STREAM_ID = 13 };

// A piece of device work: a kernel, a copy or a set. Shared by the queue and by graphs.
struct work {
    atomic_int refs;
    flagsim_activity_kind kind;
    flagsim_kernel_info kernel;
    flagsim_kernel_fn fn;
    void *arg;
    void (*destroy)(void *arg);
    void *dst;
    const void *src;
    void *staging; // a copy of pageable source memory, as the source may be gone when the stream gets there
    flagsim_memory_work memory;
    max_align_t inline_arg[];
};

struct work *work_kernel(flagsim_kernel_fn fn, const void *arg, size_t arg_bytes, void (*destroy)(void *),
                         const flagsim_kernel_info *kernel);
struct work *work_copy(void *dst, const void *src, const flagsim_memory_work *memory);
struct work *work_set(void *dst, const flagsim_memory_work *memory);
struct work *work_take(struct work *work);
void work_drop(struct work *work);

// Where work came from, for the record of it.
struct origin {
    uint32_t correlation;
    uint64_t queued_ns;
};

struct flagsim_graph {
    atomic_int refs;
    pthread_mutex_t lock;
    bool capturing;
    struct work **nodes;
    size_t count, room;
};

struct flagsim_graph_exec {
    atomic_int refs;
    uint32_t id;
    size_t count;
    struct work *nodes[];
};

struct flagsim_graph *graph_new(void);
int graph_append(struct flagsim_graph *graph, struct work *work); // takes the reference, also on error
void graph_drop(struct flagsim_graph *graph);
void graph_exec_drop(struct flagsim_graph_exec *exec);

enum op_kind { OP_WORK, OP_GRAPH, OP_EVENT_RECORD, OP_EVENT_WAIT };

struct op {
    struct op *next;
    enum op_kind kind;
    struct origin origin;
    union {
        struct work *work;
        struct flagsim_graph_exec *exec;
        struct flagsim_event *event;
    } of;
    uint64_t ticket; // which recording of the event
};

struct flagsim_event {
    atomic_int refs;
    uint32_t id;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t recorded, reached; // tickets
    uint64_t reached_ns;
    struct flagsim_graph *capture; // the capture that it was last recorded in
};

struct flagsim_stream {
    atomic_int refs; // its owner's and its thread's
    uint32_t id;
    int device;
    bool is_default;
    struct flagsim_stream *next; // of its device
    pthread_mutex_t lock;
    pthread_cond_t arrived, drained;
    struct op *head, **tail;
    uint64_t submitted, completed; // operations
    unsigned waiters;
    bool closing, exited;
    struct flagsim_graph *capture; // what it is put into, and this stream's reference to it
    bool capture_origin;
    uint64_t last_end_ns; // its thread's
};

struct device {
    pthread_mutex_t lock; // of the list
    atomic_uint context;
    struct flagsim_stream *streams;
    _Atomic(struct flagsim_stream *) default_stream;
    _Atomic uint64_t bytes;
};

struct simulator {
    pthread_mutex_t lock;
    atomic_bool ready;
    atomic_bool forked; // this process is a child of one that had a ready accelerator
    atomic_int init_error;
    int devices;
    uint64_t memory_bytes; // of each device
    struct device device[MAX_DEVICES];
    atomic_uint next_stream_id, next_event_id, next_graph_id;
    _Atomic uint64_t next_grid_id;
};
extern struct simulator sim;

int sim_ready(void); // 0 or why not
void sim_make_context(int device);
int sim_enter_context(void); // makes the thread's device ready for work and returns it
int sim_fail(int result);    // remembers the error for get_last_error
int sim_current_device(void);
void memory_release_all(void);
void memory_lock(void);
void memory_unlock(void);
void names_lock_take(void);
void names_lock_release(void);
int faults_error(void);
void truth_api(flagsim_api api);

// A host call being reported. Begin it, fill in what is known, enter it, do the work, end it.
struct call {
    flagsim_api_call view;
    uint32_t seen;                              // observers that saw its enter
    uint32_t generation[FLAGSIM_OBSERVERS_MAX]; // of the observer that saw it
    uint64_t scratch[FLAGSIM_OBSERVERS_MAX];
};
void call_begin(struct call *call, flagsim_api api);
void call_enter(struct call *call);
int call_end(struct call *call, int result);
struct origin call_origin(const struct call *call);
void activity_report(const flagsim_activity *activity);

// Streams. Submit takes the reference that the operation holds, also on error.
int stream_resolve(flagsim_stream **stream); // NULL becomes the default stream; its context is made
int stream_submit(struct flagsim_stream *stream, const struct op *op, uint64_t *ticket);
void stream_wait(struct flagsim_stream *stream, uint64_t ticket);
// Puts the work on the stream, or into the stream's capture; tells which in *captured.
int stream_put(struct flagsim_stream *stream, struct work *work, struct call *call, uint64_t *ticket);
void streams_end(struct device *device);
void streams_wait(struct device *device); // until all of its streams have run dry
int graph_copy_facts(void *dst, const void *src, size_t bytes, flagsim_copy_kind kind,
                     flagsim_memory_work *facts);
void streams_drain(uint64_t limit_ns);
void stream_run(struct flagsim_stream *stream, const struct op *op); // on the stream's thread
void streams_each(struct device *device, void (*visit)(struct flagsim_stream *, void *), void *user);
void call_stream(struct call *call, const struct flagsim_stream *stream);
void report_sync(const struct call *call, flagsim_sync_kind kind, uint64_t start_ns, uint32_t event_id);

struct flagsim_event *event_take(struct flagsim_event *event);
void event_drop(struct flagsim_event *event);
void event_reach(struct flagsim_event *event, uint64_t ticket);
void event_wait(struct flagsim_event *event, uint64_t ticket);

#endif
