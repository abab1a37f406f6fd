// session.h - one profile of torch as Kineto runs it: configure made it, then start, stop, processTrace,
// gone.
//
// In:  Kineto's calls, all but push and pop on the thread that profiles.
// Out: one recording of the core, handed to torch's trace. Nothing thrown leaves here: a fault of ours
//      costs the device's rows, never the program.
#pragma once

#include "kineto/handover.h"

#include <string>

namespace flagprof {

class Session final : public libkineto::IActivityProfilerSession {
  public:
    // `accelerator` NULL: none is usable for the reason given, and the trace will say so. `as_cuda`: the
    // profile is of torch's CUDA devices, so host calls are of the categories that torch gives to CUDA's.
    Session(fp_accelerator *accelerator, std::string reason, bool as_cuda);
    ~Session() override;

    void start() override;
    void stop() override;
    std::vector<std::string> errors() override;
    void processTrace(libkineto::ActivityLogger &logger) override;
    void processTrace(libkineto::ActivityLogger &logger, libkineto::getLinkedActivityCallback linked_activity,
                      int64_t start_ns, int64_t end_ns) override;
    std::unique_ptr<libkineto::DeviceInfo> getDeviceInfo() override;
    std::vector<libkineto::ResourceInfo> getResourceInfos() override;
    std::unique_ptr<libkineto::CpuTraceBuffer> getTraceBuffer() override;
    void pushCorrelationId(uint64_t id) override;
    void popCorrelationId() override;
    void pushUserCorrelationId(uint64_t id) override;
    void popUserCorrelationId() override;
    std::string getDeviceProperties() override;
    std::unordered_map<std::string, std::string> getMetadata() override;

  private:
    void start_recording();
    void finish(libkineto::ActivityLogger &logger,
                const libkineto::getLinkedActivityCallback &linked_activity, int64_t start_ns,
                int64_t end_ns);

    fp_accelerator *accelerator_;
    std::string reason_; // why nothing is recorded; empty: nothing in the way
    bool as_cuda_;
    fp_recording *recording_ = nullptr;
    std::unique_ptr<Handover> handover_;
    int64_t start_ns_ = 0, end_ns_ = 0;
};

// What the last recording of this process left behind for the person who asks after the trace is made: the
// ledger as a JSON object, the window, the tracer's notes. Valid JSON members without braces; "" before the
// first.
std::string last_findings();

} // namespace flagprof
