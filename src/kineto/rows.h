// rows.h - the names of lanes (devices, streams, threads) and the file header's deviceProperties.
//
// In:  the records handed over; what the accelerator says of its devices.
// Out: rows and a header that read as torch-cuda's, since tools (Holistic Trace Analysis, TensorBoard)
//      look for exactly these words.
#pragma once

#include "kineto/compat.h"

#include "flagprof/flagprof.h"

#include <array>
#include <memory>
#include <set>
#include <string>
#include <utility>

namespace flagprof {

// The lanes that records lie on, each once. Threads with operators on them torch names itself.
class Lanes {
  public:
    // `linked`: the operator that the record belongs to, or NULL.
    void see(const fp_record &record, const libkineto::ITraceActivity *linked) {
        fp_kind kind = fp_record_kind(&record);
        if (fp_kind_is_device(kind))
            add(0, record.device, record.stream);
        else if (fp_kind_is_host_call(kind) && !linked)
            add(1, 0, record.u.call.thread);
        else if (fp_kind_is_host_call(kind) && record.u.call.thread != last_named_)
            named_by_torch_.insert(last_named_ = record.u.call.thread);
    }
    // `time_ns`: where in the trace the rows stand; any time in the window.
    void name(libkineto::ActivityLogger &logger, int64_t process, int64_t time_ns) const;

  private:
    struct Lane {
        uint32_t sort, device, resource;
        bool operator==(const Lane &other) const = default;
        auto operator<=>(const Lane &other) const = default;
    };
    void add(uint32_t sort, uint32_t device, uint32_t resource) {
        Lane lane{ sort, device, resource };
        Lane &last = last_[(resource ^ device << 4) % last_.size()];
        if (seen_.empty() || !(last == lane)) {
            last = lane;
            seen_.insert(lane);
        }
    }
    std::array<Lane, 64> last_{};
    std::set<Lane> seen_;
    std::set<uint32_t> named_by_torch_;
    uint32_t last_named_ = UINT32_MAX;
};

// The row of device 0, whose presence also keeps Kineto from naming sixteen GPUs that may not exist.
std::unique_ptr<libkineto::DeviceInfo> first_device_row();
// The rows of all further devices.
void name_devices(libkineto::ActivityLogger &logger, fp_accelerator *accelerator, int64_t time_ns);
// JSON objects of all devices, joined by commas; "" when there are none.
std::string device_properties(fp_accelerator *accelerator);

} // namespace flagprof
