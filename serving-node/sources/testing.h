// Builds archives for tests byte by byte, including malformed ones.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "common/base/path.h"
#include "common/base/sha256.h"
#include "serving-node/sources/tar_reader.h"

namespace longshore::sources {

inline constexpr size_t kTarBlock = 512;

// One entry of an archive: a header and the content, padded to whole blocks.
inline std::string TarEntryOf(const std::string& name, const std::string& content, char type = '0',
                              const std::string& prefix = "") {
  std::string header(kTarBlock, '\0');
  const auto put = [&](size_t at, const std::string& text) { header.replace(at, text.size(), text); };
  put(0, name.substr(0, 100));
  put(100, "0000644");
  put(124, fmt::format("{:011o}", content.size()));
  put(148, "        ");
  header[156] = type;
  put(257, std::string("ustar\0", 6) + "00");
  put(345, prefix);
  unsigned sum = 0;
  for (const char c : header) sum += static_cast<uint8_t>(c);
  put(148, fmt::format("{:06o}", sum) + std::string("\0 ", 2));
  const size_t padding = (kTarBlock - content.size() % kTarBlock) % kTarBlock;
  return header + content + std::string(padding, '\0');
}

inline std::string PaxRecord(const std::string& key, const std::string& value) {
  const std::string rest = " " + key + "=" + value + "\n";
  size_t length = rest.size();
  while (std::to_string(length).size() + rest.size() != length) length = std::to_string(length).size() + rest.size();
  return std::to_string(length) + rest;
}

inline std::string TarEnd() { return std::string(2 * kTarBlock, '\0'); }

// A valid archive: digits/1/saved_model.pb and an asset file.
inline std::string GoodTar() {
  return TarEntryOf("./", "", '5') + TarEntryOf("digits/", "", '5') + TarEntryOf("digits/1/saved_model.pb", "graph") +
         TarEntryOf("digits/1/assets/words.txt", std::string(5000, 'w')) + TarEnd();
}

inline std::string Gzipped(const std::string& plain) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, plain.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(plain.data()));
  stream.avail_in = static_cast<uInt>(plain.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

inline ByteSource BytesOf(std::string bytes) {
  return [bytes = std::move(bytes), at = size_t{0}](std::span<char> out) mutable -> Result<size_t> {
    const size_t piece = std::min(out.size(), bytes.size() - at);
    std::memcpy(out.data(), bytes.data() + at, piece);
    at += piece;
    return piece;
  };
}

inline std::string ShaOf(const std::string& bytes) { return ToHex(Sha256(bytes)); }

class FolderTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "sourcesXXXXXX";
    dir_ = mkdtemp(pattern.data());
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }

  // The relative names of everything in the folder; names of folders end with a slash.
  static std::vector<std::string> Below(const Path& folder) {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      names.push_back(entry.path().lexically_relative(folder).string() + (entry.is_directory() ? "/" : ""));
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  Path dir_;
};

}  // namespace longshore::sources
