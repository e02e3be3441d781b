#include "common/storage/storage.h"

#include <filesystem>

#include "common/os/file.h"

namespace longshore::storage {
namespace {

constexpr metrics::Name kFailing{
    "longshore_storage_failing",
    "1 while a part of what the program keeps on disk cannot be written, for example because the disk is full."};
// Enough that a disk with a few free blocks does not count as one with room.
constexpr size_t kTryBytes = 64 << 10;

}  // namespace

std::string Problem::message() const {
  return items.size() == 1 ? items[0] : fmt::format("{} (and {} more)", items[0], items.size() - 1);
}

Storage::Storage(metrics::Registry& registry, std::chrono::milliseconds write_again_every)
    : ticker_(write_again_every, [this] { WriteAgain(); }) {
  registry.AddSource([this](metrics::Exposition* out) {
    for (const Part& part : Parts())
      out->Set(kFailing, {{"what", part.health->what()}}, part.health->Problems().empty() ? 0 : 1);
  });
}

void Storage::Add(const WriteHealth& part, std::function<void()> write_again) {
  const std::lock_guard lock(mutex_);
  parts_.push_back({&part, std::move(write_again)});
}

std::vector<Storage::Part> Storage::Parts() const {
  const std::lock_guard lock(mutex_);
  return parts_;
}

std::vector<Problem> Storage::Problems() const {
  std::vector<Problem> problems;
  for (const Part& part : Parts()) {
    Problem problem{.what = part.health->what()};
    for (const auto& [item, message] : part.health->Problems()) problem.items.push_back(WithItem(item, message));
    if (!problem.items.empty()) problems.push_back(std::move(problem));
  }
  return problems;
}

void Storage::WriteAgain() {
  for (const Part& part : Parts()) {
    if (!part.health->Problems().empty()) part.write_again();
  }
}

Status TryFolder(const Path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return Unavailable("cannot create {}: {}", folder.string(), error.message());
  const Path file = folder / ".longshore-try";
  RETURN_IF_ERROR(WriteFileAtomically(file, std::string(kTryBytes, '\0')));
  std::error_code ignored;
  std::filesystem::remove(file, ignored);
  return {};
}

}  // namespace longshore::storage
