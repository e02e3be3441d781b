// For tests: makes an index with valid checksums, but with arbitrary positions of its blocks.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "serving-node/saved_model/crc32c.h"

namespace longshore::saved_model {

// The position and size of a block according to the index. The size is without the five bytes of the block's trailer.
struct BlockHandle {
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

inline void AppendVarint(uint64_t value, std::string* bytes) {
  for (; value >= 0x80; value >>= 7) bytes->push_back(static_cast<char>(value | 0x80));
  bytes->push_back(static_cast<char>(value));
}

inline void AppendFixed32(uint32_t value, std::string* bytes) {
  bytes->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

inline void AppendBlockEntry(std::string_view key, std::string_view value, std::string* block) {
  AppendVarint(0, block);  // The key shares no prefix with the previous key.
  AppendVarint(key.size(), block);
  AppendVarint(value.size(), block);
  block->append(key).append(value);
}

// Finishes the block and appends it to the file. Returns its position.
inline BlockHandle AppendBlock(std::string block, std::string* file) {
  AppendFixed32(0, &block);  // The offset of the only restart point.
  AppendFixed32(1, &block);  // The number of restart points.
  const BlockHandle handle{.offset = file->size(), .bytes = block.size()};
  block.push_back('\0');  // Not compressed.
  AppendFixed32(MaskCrc32c(Crc32c(block)), &block);
  file->append(block);
  return handle;
}

// Returns an index file. It begins with a block of one entry, and it lists `blocks` as the positions of its blocks,
// even if they are wrong.
inline std::string CraftedIndex(std::string_view key, std::string_view value, std::span<const BlockHandle> blocks) {
  std::string file, first, index, footer;
  AppendBlockEntry(key, value, &first);
  AppendBlock(first, &file);
  char name = 0;
  for (const auto& block : blocks) {
    std::string handle;
    AppendVarint(block.offset, &handle);
    AppendVarint(block.bytes, &handle);
    AppendBlockEntry({&++name, 1}, handle, &index);
  }
  const BlockHandle last = AppendBlock(index, &file);
  for (const auto& handle : {BlockHandle{}, last}) {
    AppendVarint(handle.offset, &footer);
    AppendVarint(handle.bytes, &footer);
  }
  footer.resize(40);
  return file + footer + "\x57\xfb\x80\x8b\x24\x75\x47\xdb";
}

}  // namespace longshore::saved_model
