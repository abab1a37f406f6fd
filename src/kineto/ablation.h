// ablation.h - faults built into a test adaptor on purpose, so that the parity suite can prove that it sees
// them.
//
// The shipped adaptor is built without FLAGPROF_ABLATION: `ablated` is then false at compile time and nothing
// of this remains in it. The test build reads FLAGOS_TEST_ABLATE, the name of one fault.
#pragma once

#include <cstdlib>
#include <string_view>

namespace flagprof {

#ifdef FLAGPROF_ABLATION
inline bool ablated(std::string_view fault) {
    static const char *chosen = std::getenv("FLAGOS_TEST_ABLATE");
    return chosen && fault == chosen;
}
#else
constexpr bool ablated(std::string_view) {
    return false;
}
#endif

} // namespace flagprof
