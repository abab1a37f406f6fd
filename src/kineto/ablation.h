// ablation.h - faults built into a test adaptor on purpose, so that the parity suite can prove that it sees
// them.
//
// The shipped adaptor is built without FLAGPROF_ABLATION: `ablated` is then false at compile time and nothing
// of this remains in it. The test build reads FLAGOS_TEST_ABLATE, a list of faults with commas between:
//   swap_arrow    arrows carry torch's id            swap_link     operators are looked up by the vendor's id
//   drop_linked   nothing is linked                  one_argument  processTrace without resolver and window
//   no_window     nothing is left out                early_start   the device is recorded from the warm-up on
#pragma once

#include <cstdlib>
#include <string>
#include <string_view>

namespace flagprof {

#ifdef FLAGPROF_ABLATION
inline bool ablated(std::string_view fault) {
    const char *chosen = std::getenv("FLAGOS_TEST_ABLATE");
    std::string list = std::string(",") + (chosen ? chosen : "") + ",";
    return list.find("," + std::string(fault) + ",") != std::string::npos;
}
#else
constexpr bool ablated(std::string_view) {
    return false;
}
#endif

} // namespace flagprof
