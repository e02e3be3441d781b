#include "common/os/json_file.h"

#include <utility>

#include "common/os/file.h"

namespace longshore {

Result<std::optional<Json>> ReadJsonFile(const Path& path) {
  const auto bytes = ReadFile(path);
  if (!bytes && bytes.error().code == Code::kNotFound) return std::nullopt;
  if (!bytes) return tl::make_unexpected(bytes.error());
  auto json = ParseJson(*bytes);
  if (!json) return DataLoss("{}: {}", path.string(), json.error().message);
  return std::move(*json);
}

}  // namespace longshore
