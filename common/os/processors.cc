#include "common/os/processors.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>
#include <string>
#include <thread>

#include "common/os/file.h"

namespace longshore {
namespace {

int InAffinityMask() {
  cpu_set_t allowed;
  // The call fails on machines with more processors than a cpu_set_t has bits.
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return static_cast<int>(std::thread::hardware_concurrency());
  return CPU_COUNT(&allowed);
}

// Returns the path of the process's control group without the first "/"; nullopt if it is in none of cgroups v2.
std::optional<Path> GroupOf(const std::string& proc_self_cgroup) {
  constexpr std::string_view kPrefix = "0::/";
  std::istringstream lines(proc_self_cgroup);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(kPrefix)) return Path(line.substr(kPrefix.size()));
  }
  return std::nullopt;
}

std::optional<int64_t> ToNumber(std::string_view text) {
  int64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc{} || read.ptr != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

std::optional<double> ProcessorsOfLimit(std::string_view cpu_max) {
  const std::string_view line = cpu_max.substr(0, cpu_max.find('\n'));
  const size_t space = line.find(' ');
  if (space == line.npos) return std::nullopt;
  const auto quota = ToNumber(line.substr(0, space));
  const auto period = ToNumber(line.substr(space + 1));
  if (!quota || !period || *quota <= 0 || *period <= 0) return std::nullopt;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

int WithinLimit(int processors, double limit) {
  return std::max(1, static_cast<int>(std::min<double>(processors, std::ceil(limit))));
}

int Processors(const Path& root) {
  int processors = std::max(1, InAffinityMask());
  const auto groups = ReadFile(root / "proc/self/cgroup");
  auto group = groups ? GroupOf(*groups) : std::nullopt;
  while (group) {
    const auto cpu_max = ReadFile(root / "sys/fs/cgroup" / *group / "cpu.max");
    const auto limit = cpu_max ? ProcessorsOfLimit(*cpu_max) : std::nullopt;
    if (limit) processors = WithinLimit(processors, *limit);
    group = group->empty() ? std::nullopt : std::optional(group->parent_path());
  }
  return processors;
}

}  // namespace longshore
