#include "serving-node/saved_model/index.h"

#include <leveldb/env.h>
#include <leveldb/iterator.h>
#include <leveldb/options.h>
#include <leveldb/table.h>

#include <fstream>
#include <memory>
#include <new>

#include "serving-node/saved_model/varint.h"

namespace longshore::saved_model {
namespace {

constexpr size_t kFooterBytes = 48;
constexpr size_t kBlockTrailerBytes = 5;

std::string_view View(const leveldb::Slice& slice) { return {slice.data(), slice.size()}; }

// Rejects reads outside the file. LevelDB takes the size of a block from the file and adds the size of the trailer.
// This sum may overflow; LevelDB would then allocate a small buffer and read past its end.
class BoundedFile final : public leveldb::RandomAccessFile {
 public:
  BoundedFile(leveldb::RandomAccessFile* file, uint64_t size) : file_(file), size_(size) {}

  leveldb::Status Read(uint64_t offset, size_t bytes, leveldb::Slice* result, char* scratch) const override {
    if (bytes <= kBlockTrailerBytes || offset > size_ || bytes > size_ - offset)
      return leveldb::Status::Corruption("a block is not within the file");
    return file_->Read(offset, bytes, result, scratch);
  }

 private:
  const std::unique_ptr<leveldb::RandomAccessFile> file_;
  const uint64_t size_;
};

// The members are destroyed in reverse order: the table before its file.
struct Index {
  std::unique_ptr<leveldb::RandomAccessFile> file;
  std::unique_ptr<leveldb::Table> table;
};

// Checks that the two blocks in the footer are within the file, because LevelDB allocates memory for them before it
// reads them.
bool FooterFits(const Path& path, uint64_t size) {
  std::string footer(kFooterBytes, '\0');
  std::ifstream file(path, std::ios::binary);
  if (size < kFooterBytes || !file.seekg(-static_cast<std::streamoff>(kFooterBytes), std::ios::end) ||
      !file.read(footer.data(), kFooterBytes)) {
    return false;
  }
  std::string_view rest = footer;
  for (int block = 0; block < 2; ++block) {
    uint64_t offset = 0, bytes = 0;
    if (!TakeVarint(&rest, &offset) || !TakeVarint(&rest, &bytes)) return false;
    if (offset > size || bytes > size - offset) return false;
  }
  return true;
}

Result<Index> OpenIndex(const Path& path) {
  std::error_code error;
  const uint64_t size = std::filesystem::file_size(path, error);
  if (error) return NotFound("{} does not exist", path.string());
  if (size == 0) return DataLoss("{} is empty", path.string());
  if (!FooterFits(path, size)) return DataLoss("{} is damaged or truncated: its footer is invalid", path.string());
  leveldb::Options options;
  options.paranoid_checks = true;
  leveldb::RandomAccessFile* file = nullptr;
  auto status = options.env->NewRandomAccessFile(path.string(), &file);
  if (!status.ok()) return NotFound("cannot open {}: {}", path.string(), status.ToString());
  Index index{std::make_unique<BoundedFile>(file, size), nullptr};
  leveldb::Table* table = nullptr;
  status = leveldb::Table::Open(options, index.file.get(), size, &table);
  if (!status.ok()) return DataLoss("{} is damaged or truncated: {}", path.string(), status.ToString());
  index.table.reset(table);
  return index;
}

Status ReadEntries(const Path& path, const TakeEntry& take) {
  ASSIGN_OR_RETURN(const Index index, OpenIndex(path));
  leveldb::ReadOptions options;
  options.verify_checksums = true;
  const std::unique_ptr<leveldb::Iterator> at(index.table->NewIterator(options));
  for (at->SeekToFirst(); at->Valid(); at->Next()) RETURN_IF_ERROR(take(View(at->key()), View(at->value())));
  if (!at->status().ok()) return DataLoss("{} is damaged: {}", path.string(), at->status().ToString());
  return {};
}

}  // namespace

Status ReadIndex(const Path& path, const TakeEntry& take) {
  try {
    return ReadEntries(path, take);
  } catch (const std::bad_alloc&) {  // LevelDB allocates memory for a whole block before it checks the block.
    return ResourceExhausted("there is not enough memory for the blocks of {}: it is damaged or too large",
                             path.string());
  }
}

}  // namespace longshore::saved_model
