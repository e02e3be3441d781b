#include "serving-node/observe/replay/worst.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace longshore::replay {
namespace {

constexpr std::string_view kMark = "-DIFFERS-";

// Splits a name into model and version, and how far the outputs differ.
struct Parsed {
  std::string_view version;
  double severity;
};

std::optional<Parsed> Parse(std::string_view name) {
  const size_t mark = name.rfind(kMark);
  if (mark == name.npos) return std::nullopt;
  return Parsed{name.substr(0, mark), std::strtod(std::string(name.substr(mark + kMark.size())).c_str(), nullptr)};
}

// Returns the name without date and number.
std::string_view WithoutStamp(std::string_view stem) {
  const size_t date = stem.find('-');
  const size_t number = date == stem.npos ? stem.npos : stem.find('-', date + 1);
  return number == stem.npos ? std::string_view() : stem.substr(number + 1);
}

struct Kept {
  BundleFile file;
  double severity;
};

struct Known {
  std::vector<Kept> own;     // Of the version, the mildest first.
  std::vector<Kept> others;  // Of other versions, the oldest first.
};

Known Sort(const std::vector<BundleFile>& files, std::string_view version) {
  Known known;
  for (const BundleFile& file : files) {
    const std::string stem = file.path.stem().string();
    const auto parsed = Parse(WithoutStamp(stem));
    if (parsed) (parsed->version == version ? known.own : known.others).push_back({file, parsed->severity});
  }
  std::ranges::stable_sort(known.own, {}, &Kept::severity);
  std::ranges::sort(known.others, {}, [](const Kept& one) { return one.file.path; });
  return known;
}

// Returns the bundles that may be replaced, those first that go first. `excess`: how many of the version must go.
std::vector<BundleFile> QueueOf(const Known& known, size_t excess, double severity) {
  std::vector<BundleFile> queue;
  for (size_t i = 0; i < excess; ++i) queue.push_back(known.own[i].file);
  for (const Kept& other : known.others) queue.push_back(other.file);
  for (size_t i = excess; i < known.own.size() && known.own[i].severity < severity; ++i)
    queue.push_back(known.own[i].file);
  return queue;
}

}  // namespace

std::string NameOfDifference(const std::string& name, int64_t version, double severity) {
  return fmt::format("{}-{}{}{:.3e}", name, version, kMark, severity);
}

std::optional<std::vector<Path>> ReplacedBy(const AddedDifference& added, const std::vector<BundleFile>& files,
                                            const DifferenceLimits& limits) {
  const auto parsed = Parse(added.name);
  if (!parsed) return std::nullopt;
  const Known known = Sort(files, parsed->version);
  const size_t excess = known.own.size() + 1 - std::min(known.own.size() + 1, limits.of_version_max);
  if (excess > 0 && known.own[excess - 1].severity >= parsed->severity) return std::nullopt;
  const std::vector<BundleFile> queue = QueueOf(known, excess, parsed->severity);
  size_t count = known.own.size() + known.others.size() + 1, bytes = added.bytes;
  for (const auto* group : {&known.own, &known.others}) {
    for (const Kept& one : *group) bytes += one.file.bytes;
  }
  std::vector<Path> replaced;
  for (; replaced.size() < excess || count > limits.files_max || bytes > limits.bytes_max; --count) {
    if (replaced.size() == queue.size()) return std::nullopt;
    bytes -= queue[replaced.size()].bytes;
    replaced.push_back(queue[replaced.size()].path);
  }
  return replaced;
}

}  // namespace longshore::replay
