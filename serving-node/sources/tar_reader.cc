#include "serving-node/sources/tar_reader.h"

#include <algorithm>
#include <charconv>
#include <vector>

namespace longshore::sources {
namespace {

constexpr int64_t kBlockBytes = 512;

// The position of a field in a header.
struct Field {
  size_t at;
  size_t bytes;
};
constexpr Field kName{0, 100}, kSize{124, 12}, kSum{148, 8}, kMagic{257, 5}, kPrefix{345, 155};
constexpr size_t kType = 156;

std::string_view BytesOf(std::span<const char> block, Field field) { return {block.data() + field.at, field.bytes}; }

std::string_view TextOf(std::span<const char> block, Field field) {
  const std::string_view bytes = BytesOf(block, field);
  return bytes.substr(0, bytes.find('\0'));
}

// Makes text of an untrusted archive safe for messages: shortens it and replaces control characters.
std::string Shown(std::string_view name) {
  constexpr size_t kShownMax = 200;
  std::string out;
  for (const char c : name.substr(0, kShownMax)) out += c >= ' ' && c != 0x7f ? c : '?';
  return out;
}

// Parses octal digits between blanks or, if the first byte is 0x80, a big-endian binary number. nullopt if it is not a
// valid size.
std::optional<int64_t> NumberOf(std::string_view bytes) {
  if (bytes.front() == '\x80') {
    uint64_t value = 0;
    for (const char c : bytes.substr(1, bytes.size() - 9)) {
      if (c != 0) return std::nullopt;
    }
    for (const char c : bytes.substr(bytes.size() - 8)) value = value << 8 | static_cast<uint8_t>(c);
    return value > INT64_MAX ? std::nullopt : std::optional(static_cast<int64_t>(value));
  }
  const size_t begin = bytes.find_first_not_of(' ');
  if (begin == std::string_view::npos) return std::nullopt;
  bytes = bytes.substr(begin, bytes.find_first_of(std::string_view(" \0", 2), begin) - begin);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(bytes.data(), bytes.data() + bytes.size(), value, 8);
  if (error != std::errc{} || end != bytes.data() + bytes.size() || value < 0) return std::nullopt;
  return value;
}

bool HasItsSum(std::span<const char> block) {
  int64_t sum = 0;
  int64_t signed_sum = 0;  // Some old programs sum signed bytes.
  for (size_t i = 0; i < block.size(); ++i) {
    const bool blank = i >= kSum.at && i < kSum.at + kSum.bytes;
    sum += blank ? ' ' : static_cast<uint8_t>(block[i]);
    signed_sum += blank ? ' ' : static_cast<int8_t>(block[i]);
  }
  const auto said = NumberOf(BytesOf(block, kSum));
  return said && (*said == sum || *said == signed_sum);
}

bool IsZero(std::span<const char> block) {
  return std::ranges::all_of(block, [](char c) { return c == 0; });
}

std::string HeaderName(std::span<const char> block) {
  const std::string name(TextOf(block, kName));
  const std::string_view prefix = TextOf(block, kPrefix);
  // GNU's old format ("ustar ") has other fields where POSIX has the prefix.
  const bool posix = BytesOf(block, kMagic) == "ustar" && block[kMagic.at + 5] == '\0';
  return posix && !prefix.empty() ? fmt::format("{}/{}", prefix, name) : name;
}

const char* KindOf(char type) {
  switch (type) {
    case '1': return "a hard link";
    case '2':
    case 'K': return "a symbolic link";
    case '3':
    case '4': return "a device";
    case '6': return "a pipe";
    case 'S': return "a sparse file";
    default: return "of an unknown kind";
  }
}

bool IsExtension(char type) { return type == 'x' || type == 'g' || type == 'L'; }
bool IsFile(char type) { return type == '0' || type == '\0'; }

// Returns the name without empty parts and "."; "" for the top folder of the archive. InvalidArgument if the name is
// absolute, contains "..", or is too long or too deep.
Result<std::string> SafeName(const std::string& name) {
  const auto refused = [&](std::string_view why) {
    return InvalidArgument("the archive's entry \"{}\" {}", Shown(name), why);
  };
  if (name.starts_with('/')) return refused("has an absolute name");
  if (name.find('\0') != std::string::npos) return refused("has a name with a zero byte");
  if (name.size() > TarReader::kNameBytesMax) return refused("has a name that is too long");
  std::vector<std::string> parts;
  for (size_t at = 0; at <= name.size();) {
    const size_t end = std::min(name.find('/', at), name.size());
    const std::string part = name.substr(at, end - at);
    at = end + 1;
    if (part.empty() || part == ".") continue;
    if (part == "..") return refused("has a name that points outside of the archive");
    if (part.size() > TarReader::kPartBytesMax) return refused("has a name that is too long");
    parts.push_back(part);
  }
  if (parts.size() > TarReader::kNamePartsMax) return refused("is nested too deep");
  return fmt::format("{}", fmt::join(parts, "/"));
}

}  // namespace

Status TarReader::Fill(std::span<char> bytes) {
  ASSIGN_OR_RETURN(const size_t read, source_(bytes));
  if (read < bytes.size()) return InvalidArgument("the archive ends in the middle of an entry");
  return {};
}

// Reads the next header. Returns false at the end mark of the archive.
Result<bool> TarReader::NextBlock(Block* block) {
  ASSIGN_OR_RETURN(const size_t read, source_(*block));
  if (read == 0) return InvalidArgument("the archive has no end mark: it is incomplete or not a tar archive");
  if (read < block->size()) return InvalidArgument("the archive ends in the middle of a header");
  if (IsZero(*block)) return false;
  if (!HasItsSum(*block))
    return InvalidArgument("a header has a wrong checksum: the file is damaged or not a tar archive");
  return true;
}

Status TarReader::Skip(int64_t bytes) {
  std::array<char, 16 << 10> rest;
  while (bytes > 0) {
    const auto piece = static_cast<size_t>(std::min<int64_t>(bytes, rest.size()));
    RETURN_IF_ERROR(Fill({rest.data(), piece}));
    bytes -= static_cast<int64_t>(piece);
  }
  return {};
}

Result<std::optional<TarEntry>> TarReader::Next() {
  Extension extension;
  for (;;) {
    RETURN_IF_ERROR(Skip(left_ + padding_));
    left_ = padding_ = 0;
    Block block;
    ASSIGN_OR_RETURN(const bool more, NextBlock(&block));
    if (!more) return std::optional<TarEntry>();
    const char type = block[kType];
    const auto said = NumberOf(BytesOf(block, kSize));
    if (!said) return InvalidArgument("the archive's entry \"{}\" has no valid size", Shown(HeaderName(block)));
    if (IsExtension(type)) {
      RETURN_IF_ERROR(TakeExtension(block, type, *said, &extension));
      continue;
    }
    std::string name = extension.name.value_or(HeaderName(block));
    const bool is_folder = type == '5' || (type == '\0' && name.ends_with('/'));
    if (!is_folder && !IsFile(type))
      return InvalidArgument("the archive's entry \"{}\" is {}; only files and folders are supported", Shown(name),
                             KindOf(type));
    const int64_t size = is_folder ? 0 : extension.size.value_or(*said);
    ASSIGN_OR_RETURN(name, SafeName(name));
    if (name.empty() && !is_folder) return InvalidArgument("the archive has a file without a name");
    extension = {};
    if (name.empty()) continue;
    left_ = size;
    padding_ = (kBlockBytes - size % kBlockBytes) % kBlockBytes;
    return std::optional(TarEntry{std::move(name), is_folder, size});
  }
}

Status TarReader::TakeExtension(const Block& block, char type, int64_t size, Extension* extension) {
  if (size > kExtensionBytesMax)
    return InvalidArgument("the archive has an extension header of {} bytes, which is too large, before \"{}\"", size,
                           Shown(HeaderName(block)));
  ASSIGN_OR_RETURN(std::string content, Content(size));
  if (type == 'L') {
    extension->name = content.substr(0, content.find('\0'));
    return {};
  }
  Extension pax;
  RETURN_IF_ERROR(TakePax(content, &pax));
  if (type == 'g' && (pax.name || pax.size))
    return InvalidArgument("the archive has a global extended header with a name or a size, which is not supported");
  if (pax.name) extension->name = std::move(pax.name);
  if (pax.size) extension->size = pax.size;
  return {};
}

Result<std::string> TarReader::Content(int64_t size) {
  std::string content(static_cast<size_t>(size), '\0');
  RETURN_IF_ERROR(Fill(content));
  RETURN_IF_ERROR(Skip((kBlockBytes - size % kBlockBytes) % kBlockBytes));
  return content;
}

// Parses records of the form "LENGTH KEY=VALUE\n", where LENGTH is the length of the whole record.
Status TarReader::TakePax(std::string_view records, Extension* extension) {
  while (!records.empty()) {
    size_t length = 0;
    const auto [end, error] = std::from_chars(records.data(), records.data() + records.size(), length);
    const auto digits = static_cast<size_t>(end - records.data());
    if (error != std::errc{} || length > records.size() || length < digits + 3 || *end != ' ' ||
        records[length - 1] != '\n')
      return InvalidArgument("the archive has a damaged extended header");
    const std::string_view record = records.substr(digits + 1, length - digits - 2);
    records.remove_prefix(length);
    const size_t equals = record.find('=');
    if (equals == std::string_view::npos) return InvalidArgument("the archive has a damaged extended header");
    const std::string_view key = record.substr(0, equals);
    const std::string_view value = record.substr(equals + 1);
    if (key.starts_with("GNU.sparse.")) return InvalidArgument("the archive has a sparse file, which is not supported");
    if (key == "path") extension->name = std::string(value);
    if (key != "size") continue;
    int64_t size = -1;
    const auto parsed = std::from_chars(value.data(), value.data() + value.size(), size);
    if (parsed.ec != std::errc{} || parsed.ptr != value.data() + value.size() || size < 0)
      return InvalidArgument("the archive has an entry with the invalid size \"{}\"", Shown(value));
    extension->size = size;
  }
  return {};
}

Result<size_t> TarReader::Read(std::span<char> bytes) {
  const auto piece = static_cast<size_t>(std::min<int64_t>(left_, static_cast<int64_t>(bytes.size())));
  RETURN_IF_ERROR(Fill(bytes.first(piece)));
  left_ -= static_cast<int64_t>(piece);
  return piece;
}

}  // namespace longshore::sources
