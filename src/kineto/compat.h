// compat.h - where torch's releases differ: each difference is settled here, once, by what the headers say.
//
// In:  the Kineto headers of the torch that this adaptor is built for (2.10 to 2.15).
// Out: one way to say it. The binary fits that torch alone: enum numbers, vtables and sizes change with
//      each minor version.
#pragma once

#include <libkineto.h>
#include <output_base.h>

#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace flagprof {

// Up to 2.11 (deviceId, id, sortIndex, name) by constructor, from 2.12 an aggregate in the order {id,
// sortIndex, deviceId, name}: the same four arguments compile in both and mean different things.
template <typename Info>
Info resource_info(int64_t device, int64_t resource, int64_t sort_index, std::string name) {
    if constexpr (std::is_aggregate_v<Info>)
        return Info{ .id = resource, .sortIndex = sort_index, .deviceId = device, .name = std::move(name) };
    else
        return Info(device, resource, sort_index, name);
}

template <typename Info>
Info device_info(int64_t device, int64_t sort_index, std::string name, std::string label) {
    if constexpr (std::is_aggregate_v<Info>)
        return Info{
            .id = device, .sortIndex = sort_index, .name = std::move(name), .label = std::move(label)
        };
    else
        return Info(device, sort_index, name, label);
}

} // namespace flagprof
