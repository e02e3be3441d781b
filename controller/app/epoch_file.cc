#include "controller/app/epoch_file.h"

#include <algorithm>
#include <charconv>

#include "common/os/file.h"

namespace longshore::app {
namespace {

// Returns 0 if the file does not exist yet.
Result<int64_t> ReadEpoch(const Path& file) {
  const auto text = ReadFile(file, 64);
  if (!text && text.error().code == Code::kNotFound) return 0;
  if (!text) return tl::make_unexpected(text.error());
  int64_t epoch = 0;
  const auto parsed = std::from_chars(text->data(), text->data() + text->size(), epoch);
  if (parsed.ec != std::errc{} || *text != fmt::format("{}\n", epoch) || epoch < 0) {
    return DataLoss("{} does not hold an epoch; write a number into it that is above every epoch in the nodes' states",
                    file.string());
  }
  return epoch;
}

}  // namespace

Result<int64_t> NextEpoch(const Path& file, int64_t floor) {
  ASSIGN_OR_RETURN(const int64_t before, ReadEpoch(file));
  const int64_t next = std::max(before, floor) + 1;
  RETURN_IF_ERROR(WriteFileAtomically(file, fmt::format("{}\n", next)));
  return next;
}

}  // namespace longshore::app
