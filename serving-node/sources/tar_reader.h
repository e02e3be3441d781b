// Reads a tar archive from its beginning to its end, as strictly as a stranger's archive deserves.
//
// POSIX (ustar, pax) and GNU long names. What may be in it: regular files and directories with relative names. Anything
// else (links, devices, sparse files, absolute names, "..") is InvalidArgument naming the entry; so is a header whose
// sum is wrong, and an archive that ends before its end mark.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "common/error.h"

namespace longshore::sources {

// The next bytes.size() bytes, fewer only at the end: how many.
using ByteSource = std::function<Result<size_t>(std::span<char> bytes)>;

struct TarEntry {
  std::string name;  // "digits/1/saved_model.pb": relative, without "." and empty parts; never empty.
  bool is_folder = false;
  int64_t size = 0;
};

class TarReader {
 public:
  static constexpr size_t kNameBytesMax = 1024;
  static constexpr size_t kNamePartsMax = 32;
  static constexpr size_t kPartBytesMax = 255;
  static constexpr int64_t kExtensionBytesMax = 64 << 10;  // Of a header that goes before another.

  explicit TarReader(ByteSource source) : source_(std::move(source)) {}

  // The next entry; what was not read of the one before is skipped. nullopt at the end.
  Result<std::optional<TarEntry>> Next();

  // The next bytes of the entry's content: how many, 0 at its end.
  Result<size_t> Read(std::span<char> bytes);

 private:
  using Block = std::array<char, 512>;
  // What extension headers say of the entry that follows them.
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
  int64_t left_ = 0;     // Of the entry's content.
  int64_t padding_ = 0;  // Behind it.
};

}  // namespace longshore::sources
