// fields.h - a record's args as JSON, with torch-cuda's keys in torch-cuda's order.
#pragma once

#include "kineto/handover.h"

#include <string>

namespace flagprof {

// The members of the args object without its braces; "" when the record has none. `index`: the record's place
// in the recording.
std::string render_fields(const Handover &handover, const fp_record &record, uint32_t index);

} // namespace flagprof
