// The variables of a SavedModel, beside a data file of 64 bytes. When the first byte is odd, the rest is the index
// file; when it is even, each two lines of the rest become a key and its entry in a table whose checksums fit.
#include <leveldb/env.h>
#include <leveldb/options.h>
#include <leveldb/table_builder.h>

#include <map>

#include "serving-node/saved_model/bundle.h"
#include "tests/fuzz/folder.h"
#include "tests/fuzz/fuzz.h"

const longshore::fuzz::Allowance longshore::fuzz::kAllowance{.per_byte = 2, .fixed_bytes = size_t{128} << 10};

namespace longshore::fuzz {
namespace {

class Text final : public leveldb::WritableFile {
 public:
  leveldb::Status Append(const leveldb::Slice& data) override {
    bytes.append(data.data(), data.size());
    return leveldb::Status::OK();
  }
  leveldb::Status Close() override { return leveldb::Status::OK(); }
  leveldb::Status Flush() override { return leveldb::Status::OK(); }
  leveldb::Status Sync() override { return leveldb::Status::OK(); }

  std::string bytes;
};

std::string_view TakeLine(std::string_view* lines) {
  const std::string_view line = lines->substr(0, lines->find('\n'));
  lines->remove_prefix(std::min(lines->size(), line.size() + 1));
  return line;
}

std::string TableOf(std::string_view lines) {
  std::map<std::string, std::string> entries;  // A table is sorted.
  while (!lines.empty()) {
    const std::string key(TakeLine(&lines));
    entries[key] = TakeLine(&lines);
  }
  Text file;
  leveldb::TableBuilder builder(leveldb::Options(), &file);
  for (const auto& [key, value] : entries) builder.Add(key, value);
  CHECK(builder.Finish().ok());
  return std::move(file.bytes);
}

}  // namespace
}  // namespace longshore::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace longshore;
  static const fuzz::Folder folder;
  if (size == 0) return 0;
  const auto rest = fuzz::View(data + 1, size - 1);
  static const auto half =
      *ReadFile(Path(LONGSHORE_SOURCE_DIR) / "tests/models/half_plus_two_tf1/1/variables/variables.index");
  const bool is_data = data[0] == 2;
  folder.Write("variables.data-00000-of-00001", is_data ? std::string(rest) : std::string(64, '\1'));
  folder.Write("variables.index", is_data ? half : data[0] == 1 ? std::string(rest) : fuzz::TableOf(rest));
  const auto bundle = saved_model::Bundle::Open(folder.path() / "variables");
  if (!bundle) return 0;
  for (const auto& [name, entry] : bundle->entries()) bundle->Read(name);
  return 0;
}
