#include "controller/nodes/epoch.h"

#include <charconv>

namespace longshore::nodes {

Result<int64_t> ReadEpoch(const Path& file) {
  const auto text = ReadFile(file, 64);
  if (!text && text.error().code == Code::kNotFound) return 0;
  if (!text) return tl::make_unexpected(text.error());
  int64_t epoch = 0;
  const auto parsed = std::from_chars(text->data(), text->data() + text->size(), epoch);
  if (parsed.ec != std::errc{} || *text != fmt::format("{}\n", epoch) || epoch < 0) {
    return DataLoss("{} holds no epoch; write a number into it that is above every epoch in the nodes' states",
                    file.string());
  }
  return epoch;
}

Status WriteEpoch(const Path& file, int64_t epoch) { return WriteFileAtomically(file, fmt::format("{}\n", epoch)); }

}  // namespace longshore::nodes
