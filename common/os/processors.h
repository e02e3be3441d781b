// How many processors this process may use. std::thread::hardware_concurrency() returns how many the machine has, and
// ignores the limits of containers.
#pragma once

#include <optional>
#include <string_view>

#include "common/base/path.h"

namespace longshore {

// Returns the number of processors that the process may use, at least 1: those in its affinity mask, but no more than
// the CPU limits of its control group and of the groups above it allow, rounded up (cgroups v2). Reads files below
// `root`, which is "/" except in tests.
int Processors(const Path& root = "/");

// Returns how many of `processors` a limit such as 1.5 allows, rounded up, at least 1.
int WithinLimit(int processors, double limit);

// Returns how many processors the content of a file cpu.max allows, such as 1.5 for "150000 100000\n"; nullopt if it
// sets no limit, or is malformed (https://docs.kernel.org/admin-guide/cgroup-v2.html#cpu-interface-files).
std::optional<double> ProcessorsOfLimit(std::string_view cpu_max);

}  // namespace longshore
