// From the URL of an archive to an entry of the cache: one attempt.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "common/download/download.h"
#include "common/error.h"
#include "serving-node/sources/cache.h"
#include "serving-node/sources/source.h"

namespace longshore::sources {

using Getter = std::function<Status(const download::Request&, const download::Receiver&)>;

struct Progress {
  std::string_view doing;  // "fetching", "unpacking", ...
  int64_t done = 0;        // Bytes.
  std::optional<int64_t> total{};
};

struct FetchDeps {
  Cache& cache;
  const Getter& get;
  download::Request request;  // Limits and CA; the rest is filled in.
  std::function<void(const Progress&)> on_progress;
  std::function<bool()> is_cancelled;
};

// Downloads, or goes on with what came before; compares with the SHA-256; unpacks; makes it an entry: the folder that
// holds its versions. Errors say which step failed and why; their codes:
//   DataLoss         the bytes that came are others than the SHA-256 says; they are thrown away
//   InvalidArgument  the bytes are right, and no archive that may be unpacked: no further attempt can do better
//   else             of download::Get, of the disk, Cancelled. What came stays for the next attempt.
Result<Path> Fetch(const Source& source, const FetchDeps& deps);

}  // namespace longshore::sources
