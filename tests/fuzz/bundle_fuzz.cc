// Reads the variables of a SavedModel. The first byte of the input says what the rest is; the data file has 64 bytes
// unless the input contains it:
//   0  the keys and entries of an index with correct checksums; a byte with the length precedes each key and entry
//   1  the index file
//   2  the data file, with the index of "half_plus_two_tf1"
//   3  the positions of the blocks of an index with correct checksums: for each block a signed byte for the offset, and
//      an unsigned byte that is the size plus five, so that both may be negative
#include <leveldb/env.h>
#include <leveldb/options.h>
#include <leveldb/table_builder.h>

#include <map>

#include "common/os/file.h"
#include "serving-node/saved_model/bundle.h"
#include "serving-node/saved_model/crafted_index.h"
#include "tests/fuzz/folder.h"
#include "tests/fuzz/fuzz.h"
#include "tests/source_tree/source_tree.h"

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

std::string_view TakeText(std::string_view* texts) {
  const std::string_view text = texts->substr(std::min<size_t>(texts->size(), 1), static_cast<uint8_t>(texts->front()));
  texts->remove_prefix(1 + text.size());
  return text;
}

std::string TableOf(std::string_view texts) {
  std::map<std::string, std::string> entries;  // Ordered by key, as a table requires.
  while (!texts.empty()) {
    const std::string key(TakeText(&texts));
    entries[key] = texts.empty() ? "" : TakeText(&texts);
  }
  Text file;
  leveldb::TableBuilder builder(leveldb::Options(), &file);
  for (const auto& [key, value] : entries) builder.Add(key, value);
  CHECK(builder.Finish().ok());
  return std::move(file.bytes);
}

std::string IndexOf(std::string_view places) {
  static constexpr size_t kBlocksMax = 100;
  std::vector<saved_model::BlockHandle> blocks;
  for (; places.size() >= 2 && blocks.size() < kBlocksMax; places.remove_prefix(2)) {
    blocks.push_back({.offset = static_cast<uint64_t>(static_cast<int8_t>(places[0])),
                      .bytes = static_cast<uint64_t>(static_cast<uint8_t>(places[1])) - 5});
  }
  return saved_model::CraftedIndex("", "\x08\x01", blocks);
}

std::string IndexFile(uint8_t kind, std::string_view rest) {
  static const auto half =
      *ReadFile(source_tree::Root() / "tests/models/half_plus_two_tf1/1/variables/variables.index");
  switch (kind) {
    case 1: return std::string(rest);
    case 2: return half;
    case 3: return IndexOf(rest);
    default: return TableOf(rest);
  }
}

}  // namespace
}  // namespace longshore::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace longshore;
  static const fuzz::Folder folder;
  if (size == 0) return 0;
  const auto rest = fuzz::View(data + 1, size - 1);
  folder.Write("variables.data-00000-of-00001", data[0] == 2 ? std::string(rest) : std::string(64, '\1'));
  folder.Write("variables.index", fuzz::IndexFile(data[0], rest));
  const auto bundle = saved_model::Bundle::Open(folder.path() / "variables");
  if (!bundle) return 0;
  for (const auto& [name, entry] : bundle->entries()) bundle->Read(name);
  return 0;
}
