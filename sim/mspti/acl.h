// acl.h - what AscendCL's simulated runtime and the simulated MSPTI know of AscendCL's interface.
//
// In:  nothing. Names, parameters and numbers are those of CANN's public interface, as torch_npu calls it and
//      MSPTI's source interposes it [CODE].
#ifndef FLAGSIM_MSPTI_ACL_H
#define FLAGSIM_MSPTI_ACL_H

#include <stddef.h>
#include <stdint.h>

#define PUBLIC __attribute__((visibility("default")))

enum { ACL_OK = 0, ACL_INVALID_PARAMETER = 107000, ACL_NO_DEVICE = 107019, ACL_OTHER = 500000 }; // [GUESS]
enum { ACL_HOST_TO_HOST, ACL_HOST_TO_DEVICE, ACL_DEVICE_TO_HOST, ACL_DEVICE_TO_DEVICE, ACL_DEFAULT };

PUBLIC int aclrtMemcpy(void *dst, size_t room, const void *src, size_t bytes, int kind);
PUBLIC int aclrtMemcpyAsync(void *dst, size_t room, const void *src, size_t bytes, int kind, void *stream);
PUBLIC int aclrtMemset(void *dst, size_t room, int32_t value, size_t bytes);
PUBLIC int aclrtMemsetAsync(void *dst, size_t room, int32_t value, size_t bytes, void *stream);

#endif
