// simdjson_sum.cc - what simdjson's On-Demand needs to read each event's phase, name and duration and to sum by name.
//
// In:  a trace file in memory.
// Out: one line: events, sum, seconds without reading the file. For the comparison in bench/trace.py
//      only; the tools do not use simdjson.
#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>
#include <unordered_map>

#include <simdjson.h>

int main(int argc, char **argv) {
    if (argc < 2)
        return 2;
    auto text = simdjson::padded_string::load(argv[1]);
    if (text.error())
        return 2;
    auto begin = std::chrono::steady_clock::now();
    simdjson::ondemand::parser parser;
    auto document = parser.iterate(text.value());
    std::unordered_map<std::string, double> sums;
    unsigned long long events = 0;
    for (auto element : document["traceEvents"].get_array()) {
        simdjson::ondemand::object event = element.get_object();
        std::string_view phase, name;
        double duration = 0;
        for (auto field : event) {
            std::string_view key = field.unescaped_key();
            if (key == "ph")
                phase = field.value().get_string();
            else if (key == "name")
                name = field.value().get_string();
            else if (key == "dur")
                duration = field.value().get_double();
        }
        events++;
        if (phase == "X")
            sums[std::string(name)] += duration;
    }
    double total = 0;
    for (auto &row : sums)
        total += row.second;
    std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    std::printf("%llu events, %.3f us, %.3f s\n", events, total, took.count());
    return 0;
}
