// The file from which Prometheus discovers the nodes of a host (file_sd_configs).
#pragma once

#include <mutex>
#include <string>

#include "common/base/path.h"
#include "common/storage/write_health.h"

namespace longshore::reconcile {

// Thread-safe.
class TargetsFile {
 public:
  explicit TargetsFile(Path path) : path_(std::move(path)) {}

  // Sets the text of the file, and writes it if it changed.
  void Set(const std::string& text);

  // Writes the text that was set last.
  void WriteAgain();

  // Whether the file has the text that was set last.
  const storage::WriteHealth& health() const { return health_; }

 private:
  void Write();

  const Path path_;
  std::mutex mutex_;  // Guards the texts, and lets one thread at a time write.
  std::string text_;
  std::string written_;  // "": unknown.
  storage::WriteHealth health_{"prometheus_targets"};
};

}  // namespace longshore::reconcile
