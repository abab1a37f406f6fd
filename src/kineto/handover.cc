// handover.cc - records become small activities (handover.h), and the lanes that they lie on get their names.

#include "kineto/handover.h"

#include "kineto/ablation.h"
#include "kineto/fields.h"
#include "kineto/rows.h"
#include "kineto/text.h"

#include <array>

namespace flagprof {

using libkineto::ActivityType;
using libkineto::ITraceActivity;

namespace {

// How each kind appears in torch's trace. Waits are left out as torch-cuda leaves them out by default, and
// ranges come from fp_recording_ranges.
struct Appearance {
    bool shown;
    ActivityType type;
    ActivityType type_of_cuda; // in a profile of torch's CUDA devices
    const char *when_nameless;
};

constexpr Appearance APPEARANCES[FP_KIND_COUNT] = {
    /* FP_KIND_KERNEL */ { true, ActivityType::CONCURRENT_KERNEL, ActivityType::CONCURRENT_KERNEL,
                           "unnamed kernel" },
    /* FP_KIND_MEMCPY */ { true, ActivityType::GPU_MEMCPY, ActivityType::GPU_MEMCPY, "Memcpy" },
    /* FP_KIND_MEMSET */ { true, ActivityType::GPU_MEMSET, ActivityType::GPU_MEMSET, "Memset" },
    /* FP_KIND_RUNTIME */
    { true, ActivityType::PRIVATEUSE1_RUNTIME, ActivityType::CUDA_RUNTIME, "unnamed runtime call" },
    /* FP_KIND_DRIVER */
    { true, ActivityType::PRIVATEUSE1_DRIVER, ActivityType::CUDA_DRIVER, "unnamed driver call" },
    /* FP_KIND_OVERHEAD */ { true, ActivityType::OVERHEAD, ActivityType::OVERHEAD, "Overhead" },
    /* FP_KIND_SYNC */ { false, ActivityType::CUDA_SYNC, ActivityType::CUDA_SYNC, "" },
    /* FP_KIND_ANNOTATION */
    { false, ActivityType::GPU_USER_ANNOTATION, ActivityType::GPU_USER_ANNOTATION, "" },
};

// Vendor ids have 32 bits, and torch's, counted from 1, do not come this far.
constexpr int64_t NOBODYS_IDS = INT64_C(1) << 32;

// torch-cuda's lane of what the vendor's library took itself.
constexpr int64_t OVERHEAD_PROCESS = -1;

const Appearance &appearance(const fp_record *record) {
    return APPEARANCES[fp_record_kind(record)];
}

// torch's operators by torch's id, remembering the last ones: a call and its device work come close together.
class Linker {
  public:
    explicit Linker(const libkineto::getLinkedActivityCallback &resolve) : resolve_(resolve) {}

    const ITraceActivity *operator()(const fp_record *record) {
        if (!resolve_ || !fp_record_has(record, FP_HAS_FRAMEWORK_ID) || ablated("drop_linked"))
            return nullptr;
        return find(ablated("swap_link") ? record->vendor_id : record->framework_id);
    }

    const ITraceActivity *find(uint64_t id) {
        Known &known = known_[id % known_.size()];
        if (!known.asked || known.id != id)
            known = { id, resolve_ ? resolve_(static_cast<int32_t>(id)) : nullptr, true };
        return known.activity;
    }

  private:
    struct Known {
        uint64_t id;
        const ITraceActivity *activity;
        bool asked;
    };
    const libkineto::getLinkedActivityCallback &resolve_;
    std::array<Known, 512> known_{};
};

} // namespace

Activity::Activity(const Handover *owner, uint32_t index, const fp_record *record,
                   const ITraceActivity *linked)
    : owner_(owner), record_(record), linked_(linked), index_(index) {}

int64_t Activity::deviceId() const {
    fp_kind kind = fp_record_kind(record_);
    if (kind == FP_KIND_OVERHEAD)
        return OVERHEAD_PROCESS;
    return fp_kind_is_host_call(kind) ? owner_->process() : record_->device;
}

int64_t Activity::resourceId() const {
    fp_kind kind = fp_record_kind(record_);
    if (kind == FP_KIND_OVERHEAD)
        return 0;
    return fp_kind_is_host_call(kind) ? record_->u.call.thread : record_->stream;
}

int32_t Activity::getThreadId() const {
    return fp_kind_is_host_call(fp_record_kind(record_)) ? static_cast<int32_t>(record_->u.call.thread) : 0;
}

int64_t Activity::timestamp() const {
    return record_->start_ns;
}

int64_t Activity::duration() const {
    return record_->end_ns - record_->start_ns;
}

// 0 for overhead: Kineto would show another number as some operator's External id. A call without a vendor id gets a
// number that is nobody's: torch takes 0 for that of the operator around it, whose device time its tables then count
// twice [MEASURED: torch 2.13].
int64_t Activity::correlationId() const {
    fp_kind kind = fp_record_kind(record_);
    if (kind == FP_KIND_OVERHEAD)
        return 0;
    return record_->vendor_id == 0 && fp_kind_is_host_call(kind) ? NOBODYS_IDS + index_ : record_->vendor_id;
}

// Type 2 on what starts nothing makes torch 2.11 lose the whole profile at stop.
int Activity::flowType() const {
    return fp_record_has(record_, FP_HAS_ARROW) ? static_cast<int>(libkineto::kLinkAsyncCpuGpu) : 0;
}

int64_t Activity::flowId() const {
    if (!fp_record_has(record_, FP_HAS_ARROW))
        return 0;
    return ablated("swap_arrow") ? static_cast<int64_t>(record_->framework_id) : record_->vendor_id;
}

bool Activity::flowStart() const {
    return fp_record_has(record_, FP_HAS_ARROW) && fp_kind_is_host_call(fp_record_kind(record_));
}

ActivityType Activity::type() const {
    const Appearance &shown = appearance(record_);
    return owner_->as_cuda() ? shown.type_of_cuda : shown.type;
}

const std::string Activity::name() const {
    std::string name = safe(fp_recording_name(owner_->recording(), record_->name));
    return name.empty() ? appearance(record_).when_nameless : name;
}

const ITraceActivity *Activity::linkedActivity() const {
    return linked_;
}

const libkineto::TraceSpan *Activity::traceSpan() const {
    return nullptr;
}

void Activity::log(libkineto::ActivityLogger &logger) const {
    logger.handleActivity(*this);
}

const std::string Activity::metadataJson() const {
    return render_fields(*owner_, *record_, index_);
}

const std::string RangeActivity::name() const {
    return safe(annotation_->name());
}

void RangeActivity::log(libkineto::ActivityLogger &logger) const {
    logger.handleActivity(*this);
}

Handover::Handover(fp_recording *recording, bool as_cuda)
    : recording_(recording), as_cuda_(as_cuda), process_(libkineto::processId()) {
    fp_accelerator *accelerator = fp_recording_accelerator(recording);
    int count = fp_accelerator_device_count(accelerator);
    for (int ordinal = 0; ordinal < count; ordinal++) {
        fp_device device{};
        device.size = sizeof(device);
        if (fp_accelerator_device(accelerator, static_cast<uint32_t>(ordinal), &device) != 0)
            device = fp_device{};
        devices_.push_back(device);
    }
}

Handover::~Handover() {
    fp_recording_free(recording_);
}

HandoverCount Handover::give(libkineto::ActivityLogger &logger,
                             const libkineto::getLinkedActivityCallback &linked_activity, int64_t time_ns) {
    HandoverCount count;
    Linker linker(linked_activity);
    Lanes lanes;
    size_t records = fp_recording_count(recording_);
    activities_.reserve(records);
    for (size_t at = 0; at < records; at++) {
        const fp_record *record = fp_recording_at(recording_, at);
        if (!appearance(record).shown)
            continue;
        const ITraceActivity *linked = linker(record);
        count.linked += linked != nullptr;
        activities_.emplace_back(this, static_cast<uint32_t>(at), record, linked);
        logger.handleActivity(activities_.back());
        lanes.see(*record, linked);
    }
    const fp_range *ranges = nullptr;
    size_t range_count = fp_recording_ranges(recording_, &ranges);
    ranges_.reserve(range_count);
    for (size_t at = 0; at < range_count; at++) {
        // A range that torch did not profile has no name to show.
        const ITraceActivity *annotation = linker.find(ranges[at].framework_id);
        if (!annotation)
            continue;
        ranges_.emplace_back(&ranges[at], annotation);
        logger.handleActivity(ranges_.back());
    }
    count.activities = activities_.size();
    count.ranges = ranges_.size();
    lanes.name(logger, process_, time_ns);
    return count;
}

} // namespace flagprof
