// hccl.c - libhccl.so: Huawei's collectives, as far as a small native program calls them.
//
// In:  calls by their real names, for ranks that are all in this process, one a device. Names, parameters and
//      numbers are those of HCCL's public interface [GUESS: from memory of its documents, not in the fact sheet].
// Out: the sum in each rank's memory; and kernels that say of themselves what a collective is, which is how the
//      simulated MSPTI knows them. A rank's kernel waits until those of all other ranks have come.
#include "acl.h"

#include "flagsim.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const char flagsim_marker[];
const char flagsim_marker[] PUBLIC = "simulated: HCCL over FlagProf's simulated accelerator";

enum { OK = 0, INVALID = 1, MEMORY = 3, NOT_SUPPORTED = 5, RUNTIME = 15 };
enum { INT32 = 2, FP32 = 4, SUM = 0, RANKS_MAX = 8 };

struct group {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint32_t ranks, arrived, members; // members: ranks that are not destroyed
    uint64_t meetings;
    const void *given[RANKS_MAX];
    const char *name;
};

struct rank {
    struct group *group;
    uint32_t number;
};

PUBLIC int HcclCommInitAll(uint32_t devices, int32_t *numbers, void **comms);
PUBLIC int HcclCommDestroy(void *comm);
PUBLIC int HcclAllReduce(void *send, void *receive, uint64_t count, int type, int operation, void *comm,
                         void *stream);

int HcclCommInitAll(uint32_t devices, int32_t *numbers, void **comms) {
    struct group *group = calloc(1, sizeof *group);
    if (!group)
        return MEMORY;
    if (!numbers || !comms || devices == 0 || devices > RANKS_MAX) {
        free(group);
        return INVALID;
    }
    pthread_mutex_init(&group->lock, NULL);
    pthread_cond_init(&group->changed, NULL);
    group->ranks = group->members = devices;
    group->name = flagsim_intern("simulated_group");
    for (uint32_t at = 0; at < devices; at++) {
        struct rank *rank = calloc(1, sizeof *rank);
        if (!rank)
            abort(); // a test's memory
        *rank = (struct rank){ group, at };
        comms[at] = rank;
    }
    return OK;
}

int HcclCommDestroy(void *comm) {
    struct rank *rank = comm;
    if (!rank)
        return INVALID;
    pthread_mutex_lock(&rank->group->lock);
    bool is_last = --rank->group->members == 0;
    pthread_mutex_unlock(&rank->group->lock);
    if (is_last)
        free(rank->group);
    free(rank);
    return OK;
}

static void meet(struct group *group) {
    pthread_mutex_lock(&group->lock);
    uint64_t meeting = group->meetings;
    if (++group->arrived == group->ranks) {
        group->arrived = 0;
        group->meetings++;
        pthread_cond_broadcast(&group->changed);
    }
    while (group->meetings == meeting)
        pthread_cond_wait(&group->changed, &group->lock);
    pthread_mutex_unlock(&group->lock);
}

struct share {
    const struct rank *rank;
    const void *send;
    void *receive;
    uint64_t count;
    int type;
};

static void add(const struct share *share, const void *from, void *sum) {
    for (uint64_t at = 0; at < share->count; at++)
        if (share->type == FP32)
            ((float *)sum)[at] += ((const float *)from)[at];
        else
            ((int32_t *)sum)[at] += ((const int32_t *)from)[at];
}

// Memory may be the same for what is given and what is received: nothing is written until all have read.
static void all_reduce(void *arg) {
    const struct share *share = arg;
    struct group *group = share->rank->group;
    void *sum = calloc(share->count, sizeof(int32_t));
    group->given[share->rank->number] = share->send;
    meet(group);
    for (uint32_t at = 0; sum && at < group->ranks; at++)
        add(share, group->given[at], sum);
    meet(group);
    if (sum)
        memcpy(share->receive, sum, share->count * sizeof(int32_t));
    free(sum);
}

int HcclAllReduce(void *send, void *receive, uint64_t count, int type, int operation, void *comm,
                  void *stream) {
    struct share share = { comm, send, receive, count, type };
    if (!send || !receive || !comm)
        return INVALID;
    if (operation != SUM || (type != INT32 && type != FP32))
        return NOT_SUPPORTED;
    flagsim_kernel_info info = {
        .name = "hcom_allReduce_",
        .grid = { 1, 1, 1 },
        .block = { 1, 1, 1 },
        .collective = { "HcclAllReduce", "mesh", share.rank->group->name, count, (uint32_t)type },
    };
    return flagsim_launch(stream, all_reduce, &share, sizeof share, &info) ? RUNTIME : OK;
}
