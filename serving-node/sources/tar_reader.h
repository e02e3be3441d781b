// Reads an untrusted tar archive from beginning to end.
//
// Supports POSIX (ustar, pax) archives and GNU long names. Entries must be regular files or directories with relative
// names. Everything else (links, devices, sparse files, absolute names, "..") fails with InvalidArgument, which names
// the entry; so does a header with a wrong checksum, and an archive that ends before its end mark.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "common/base/error.h"

namespace longshore::sources {

// Reads the next bytes.size() bytes, fewer only at the end, and returns their number.
using ByteSource = std::function<Result<size_t>(std::span<char> bytes)>;

struct TarEntry {
  std::string name;  // Such as "digits/1/saved_model.pb": relative, without "." and empty parts; never empty.
  bool is_folder = false;
  int64_t size = 0;
};

class TarReader {
 public:
  static constexpr size_t kNameBytesMax = 1024;
  static constexpr size_t kNamePartsMax = 32;
  static constexpr size_t kPartBytesMax = 255;
  static constexpr int64_t kExtensionBytesMax = 64 << 10;  // The limit for an extension header.

  explicit TarReader(ByteSource source) : source_(std::move(source)) {}

  // Returns the next entry and skips the unread content of the previous one. nullopt at the end of the archive.
  Result<std::optional<TarEntry>> Next();

  // Reads the next bytes of the entry's content and returns their number, 0 at its end.
  Result<size_t> Read(std::span<char> bytes);

 private:
  using Block = std::array<char, 512>;
  // The name and size that extension headers give to the entry after them.
  struct Extension {
    std::optional<std::string> name;
    std::optional<int64_t> size;
  };

  Status Fill(std::span<char> bytes);
  Result<bool> NextBlock(Block* block);
  Status Skip(int64_t bytes);
  Status TakeExtension(const Block& block, char type, int64_t size, Extension* extension);
  Result<std::string> Content(int64_t size);
  static Status TakePax(std::string_view records, Extension* extension);

  const ByteSource source_;
  int64_t left_ = 0;     // Unread bytes of the entry's content.
  int64_t padding_ = 0;  // Bytes of padding after the content.
};

}  // namespace longshore::sources
