// Replays the input as a file of warm-up requests. If the first byte is odd, the rest is the file; if it is even, each
// line of the rest becomes a record with correct checksums.
#include "serving-node/models/warm_up.h"
#include "serving-node/saved_model/tfrecord.h"
#include "tests/fuzz/folder.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/model.h"

const longshore::fuzz::Allowance longshore::fuzz::kAllowance = longshore::fuzz::kOfRequests;

namespace longshore::fuzz {
namespace {

std::string WithChecksums(std::string_view lines) {
  std::string file;
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    file += saved_model::EncodeTfRecord(line);
    lines.remove_prefix(std::min(lines.size(), line.size() + 1));
  }
  return file;
}

}  // namespace
}  // namespace longshore::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace longshore;
  static fuzz::Model model("half_plus_two_tf1");
  static const fuzz::Folder folder;
  if (size == 0) return 0;
  const auto rest = fuzz::View(data + 1, size - 1);
  {
    const std::string file = data[0] % 2 == 1 ? std::string(rest) : fuzz::WithChecksums(rest);
    folder.Write("assets.extra/tf_serving_warmup_requests", file);
    fuzz::AddReceived(file.size());
  }
  models::WarmUp(*model, folder.path(), {});
  return 0;
}
