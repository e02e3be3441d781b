#include "controller/version_watch/comparison.h"

#include <utility>

namespace longshore::version_watch {

std::optional<bool> Comparison::LookAgain(const Reader& reader, const std::atomic<bool>& cancelled) {
  const Look look = reader.look(failed_.place);
  const bool is_first = !stamp_;
  const bool is_settled = stamp_ == look.stamp;
  stamp_ = look.stamp;
  if (is_first && look.changed_at <= failed_.at) RememberFailed(reader, cancelled);
  if (!is_settled || compared_ == look.stamp) return std::nullopt;
  const std::string digest = reader.digest(failed_.place, cancelled);
  if (!digest.empty()) compared_ = look.stamp;
  return !digest.empty() && digest != failed_digest_;
}

// The files have not changed since the failure, so they are the ones that failed.
void Comparison::RememberFailed(const Reader& reader, const std::atomic<bool>& cancelled) {
  compared_ = stamp_;
  if (!failed_digest_.empty()) return;
  const std::string digest = reader.digest(failed_.place, cancelled);
  if (reader.look(failed_.place).stamp == stamp_) failed_digest_ = digest;
}

}  // namespace longshore::version_watch
