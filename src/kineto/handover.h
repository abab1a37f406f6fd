// handover.h - a finished recording as Kineto wants to see it, until the trace is gone.
//
// In:  a finished fp_recording, the resolver from torch's ids to torch's operators.
// Out: one small ITraceActivity a record, which renders its name and its JSON when asked. Kineto's logger
//      keeps raw pointers to them, so one Handover owns them all together with the recording, and torch's
//      trace owns the Handover.
//
// The vendor's id draws arrows, torch's id makes `linked`: the two meet in no expression here.
#pragma once

#include "kineto/compat.h"

#include "flagprof/flagprof.h"

#include <vector>

namespace flagprof {

class Handover;

// 40 bytes a record. Everything else is in the record itself.
class Activity final : public libkineto::ITraceActivity {
  public:
    Activity(const Handover *owner, uint32_t index, const fp_record *record,
             const libkineto::ITraceActivity *linked);

    int64_t deviceId() const override;
    int64_t resourceId() const override;
    int32_t getThreadId() const override;
    int64_t timestamp() const override;
    int64_t duration() const override;
    int64_t correlationId() const override;
    int flowType() const override;
    int64_t flowId() const override;
    bool flowStart() const override;
    libkineto::ActivityType type() const override;
    const std::string name() const override;
    const libkineto::ITraceActivity *linkedActivity() const override;
    const libkineto::TraceSpan *traceSpan() const override;
    void log(libkineto::ActivityLogger &logger) const override;
    const std::string metadataJson() const override;

  private:
    const Handover *owner_;
    const fp_record *record_;
    const libkineto::ITraceActivity *linked_;
    uint32_t index_;
};

// A record_function on the device's lane. `linked` stays null: linked, its time would count twice; its own id
// becomes the External id.
class RangeActivity final : public libkineto::ITraceActivity {
  public:
    RangeActivity(const fp_range *range, const libkineto::ITraceActivity *annotation)
        : range_(range), annotation_(annotation) {}

    int64_t deviceId() const override {
        return range_->device;
    }
    int64_t resourceId() const override {
        return range_->stream;
    }
    int32_t getThreadId() const override {
        return 0;
    }
    int64_t timestamp() const override {
        return range_->start_ns;
    }
    int64_t duration() const override {
        return range_->end_ns - range_->start_ns;
    }
    int64_t correlationId() const override {
        return static_cast<int64_t>(range_->framework_id);
    }
    int flowType() const override {
        return 0;
    }
    int64_t flowId() const override {
        return 0;
    }
    bool flowStart() const override {
        return false;
    }
    libkineto::ActivityType type() const override {
        return libkineto::ActivityType::GPU_USER_ANNOTATION;
    }
    const std::string name() const override;
    const libkineto::ITraceActivity *linkedActivity() const override {
        return nullptr;
    }
    const libkineto::TraceSpan *traceSpan() const override {
        return nullptr;
    }
    void log(libkineto::ActivityLogger &logger) const override;
    const std::string metadataJson() const override {
        return "";
    }

  private:
    const fp_range *range_;
    const libkineto::ITraceActivity *annotation_;
};

// What a session did with what it got, for FLAGOS_TRACE.
struct HandoverCount {
    size_t activities = 0, linked = 0, ranges = 0;
};

class Handover {
  public:
    // Owns the recording from now on, which is stopped and, before `give`, finished.
    // `as_cuda`: host calls go by the categories of torch's CUDA devices, not by PrivateUse1's.
    Handover(fp_recording *recording, bool as_cuda);
    ~Handover();
    Handover(const Handover &) = delete;
    Handover &operator=(const Handover &) = delete;

    bool as_cuda() const {
        return as_cuda_;
    }

    // Hands every record and range in the window to `logger`, with the rows that name their lanes. Once.
    HandoverCount give(libkineto::ActivityLogger &logger,
                       const libkineto::getLinkedActivityCallback &linked_activity, int64_t time_ns);

    fp_recording *recording() const {
        return recording_;
    }
    // 0: unknown.
    int multiprocessors(uint32_t device) const {
        return device < devices_.size() && devices_[device].multiprocessors > 0
                   ? devices_[device].multiprocessors
                   : 0;
    }
    int warp_size(uint32_t device) const {
        return device < devices_.size() && devices_[device].warp_size > 0 ? devices_[device].warp_size : 0;
    }
    int64_t process() const {
        return process_;
    }

  private:
    fp_recording *recording_;
    bool as_cuda_;
    std::vector<fp_device> devices_;
    std::vector<Activity> activities_;
    std::vector<RangeActivity> ranges_;
    int64_t process_;
};

// What lives in torch's trace and keeps the Handover alive: the only thing of ours in the trace buffer, never
// logged.
class Keeper final : public libkineto::GenericTraceActivity {
  public:
    explicit Keeper(std::unique_ptr<Handover> handover) : handover_(std::move(handover)) {}

  private:
    std::unique_ptr<Handover> handover_;
};

} // namespace flagprof
