// One attempt to fetch an archive from its URL into the cache.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "common/base/error.h"
#include "common/net/download/download.h"
#include "serving-node/sources/cache.h"
#include "serving-node/sources/source.h"

namespace longshore::sources {

using Getter = std::function<Status(const download::Request&, const download::Receiver&)>;

struct Progress {
  std::string_view doing;          // "fetching", "unpacking", ...
  int64_t done = 0;                // Bytes so far.
  std::optional<int64_t> total{};  // Bytes; nullopt if unknown.
};

struct FetchDeps {
  Cache& cache;
  const Getter& get;
  download::Request request;  // Limits and CA; Fetch sets the URL and the range.
  std::function<void(const Progress&)> on_progress;
  std::function<bool()> is_cancelled;
};

// Downloads the archive, or resumes an earlier download, compares its SHA-256, unpacks it and commits it to the cache.
// Returns the folder that holds the versions. Errors say which step failed and why:
//   DataLoss           the downloaded bytes do not have the SHA-256; the download is deleted
//   InvalidArgument    the bytes have the SHA-256 but are not an acceptable archive; another attempt cannot succeed
//   ResourceExhausted  the cache or the disk is full; the download is deleted
//   others             an error of download::Get or of the disk, or Cancelled; the download is kept and can be resumed
Result<Path> Fetch(const VersionSource& source, const FetchDeps& deps);

}  // namespace longshore::sources
