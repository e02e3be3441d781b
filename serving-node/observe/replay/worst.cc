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
  double relative;
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

}  // namespace

std::string NameOfDifference(const std::string& name, int64_t version, double relative) {
  return fmt::format("{}-{}{}{:.3e}", name, version, kMark, relative);
}

std::optional<std::vector<Path>> ReplacedBy(const std::string& added, std::vector<Path> files, size_t files_max) {
  const auto parsed = Parse(added);
  if (!parsed) return std::nullopt;
  const auto relative = [&](const Path& file) {
    const std::string stem = file.stem().string();
    const auto other = Parse(WithoutStamp(stem));
    return other && other->version == parsed->version ? std::optional(other->relative) : std::nullopt;
  };
  std::erase_if(files, [&](const Path& file) { return !relative(file); });
  if (files.size() < files_max) return std::vector<Path>();
  std::ranges::stable_sort(files, std::greater(), relative);
  if (*relative(files[files_max - 1]) >= parsed->relative) return std::nullopt;
  return std::vector<Path>(files.begin() + static_cast<std::ptrdiff_t>(files_max) - 1, files.end());
}

}  // namespace longshore::replay
