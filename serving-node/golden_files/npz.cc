#include "serving-node/golden_files/npz.h"

#include <zlib.h>

#include <cstring>

namespace longshore::golden_files {
namespace {

// The records of a ZIP file (APPNOTE.TXT of PKWARE, 4.3).
constexpr std::string_view kEnd("PK\x05\x06", 4);
constexpr std::string_view kEntry("PK\x01\x02", 4);
constexpr std::string_view kLocal("PK\x03\x04", 4);
constexpr size_t kEndBytes = 22, kEntryBytes = 46, kLocalBytes = 30;
constexpr size_t kCommentBytesMax = 65535;
constexpr uint16_t kStored = 0, kDeflated = 8;
constexpr uint32_t kInZip64 = 0xFFFFFFFF;

constexpr const char* kDamaged = "the archive is damaged";

// Requires: the number is within the bytes.
template <typename T>
T Number(std::string_view bytes, size_t at) {
  T value{};
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

// One file in the archive.
struct Entry {
  std::string_view name;
  uint16_t flags = 0;
  uint16_t method = 0;
  uint32_t checksum = 0;
  uint32_t packed_bytes = 0;
  uint32_t bytes = 0;
  uint32_t local = 0;      // Where its local header begins.
  size_t entry_bytes = 0;  // Of this entry in the directory.
};

// Returns where the end record begins. It is at the end of the file, and a comment may follow.
Result<size_t> FindEnd(std::string_view bytes) {
  const size_t from = bytes.size() < kEndBytes ? 0 : bytes.size() - kEndBytes;
  const size_t found = bytes.rfind(kEnd, from);
  if (found == bytes.npos || bytes.size() - found < kEndBytes || from - found > kCommentBytesMax)
    return DataLoss("it is not a complete .npz archive");
  return found;
}

Result<Entry> ParseEntry(std::string_view bytes, size_t at) {
  if (at > bytes.size() || bytes.size() - at < kEntryBytes || bytes.substr(at, 4) != kEntry)
    return DataLoss("{}: no file at byte {} of its directory", kDamaged, at);
  const size_t name_bytes = Number<uint16_t>(bytes, at + 28);
  const size_t more_bytes = size_t{Number<uint16_t>(bytes, at + 30)} + Number<uint16_t>(bytes, at + 32);
  if (bytes.size() - at - kEntryBytes < name_bytes + more_bytes) return DataLoss("{}: it ends early", kDamaged);
  return Entry{.name = bytes.substr(at + kEntryBytes, name_bytes),
               .flags = Number<uint16_t>(bytes, at + 8),
               .method = Number<uint16_t>(bytes, at + 10),
               .checksum = Number<uint32_t>(bytes, at + 16),
               .packed_bytes = Number<uint32_t>(bytes, at + 20),
               .bytes = Number<uint32_t>(bytes, at + 24),
               .local = Number<uint32_t>(bytes, at + 42),
               .entry_bytes = kEntryBytes + name_bytes + more_bytes};
}

Result<std::string_view> PackedBytes(std::string_view bytes, const Entry& entry) {
  if ((entry.flags & 1) != 0) return Unimplemented("it is encrypted");
  if (entry.packed_bytes == kInZip64 || entry.bytes == kInZip64 || entry.local == kInZip64)
    return Unimplemented("the archive has more than 4 GiB");
  if (entry.local > bytes.size() || bytes.size() - entry.local < kLocalBytes || bytes.substr(entry.local, 4) != kLocal)
    return DataLoss("{}: no file at byte {}", kDamaged, entry.local);
  const size_t begin = entry.local + kLocalBytes + size_t{Number<uint16_t>(bytes, entry.local + 26)} +
                       Number<uint16_t>(bytes, entry.local + 28);
  if (begin > bytes.size() || bytes.size() - begin < entry.packed_bytes) return DataLoss("{}: it ends early", kDamaged);
  return bytes.substr(begin, entry.packed_bytes);
}

// Memory grows with what is unpacked, because the size that the archive states may be wrong.
Result<std::string> Inflate(std::string_view packed, size_t bytes) {
  constexpr size_t kPieceBytes = size_t{64} << 10;
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return ResourceExhausted("no memory to unpack it");
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  std::string unpacked;
  int state = Z_OK;
  while (state == Z_OK && unpacked.size() <= bytes) {
    const size_t before = unpacked.size();
    unpacked.resize(before + kPieceBytes);
    stream.next_out = reinterpret_cast<Bytef*>(unpacked.data() + before);
    stream.avail_out = static_cast<uInt>(kPieceBytes);
    state = inflate(&stream, Z_NO_FLUSH);
    unpacked.resize(before + kPieceBytes - stream.avail_out);
  }
  inflateEnd(&stream);
  if (state != Z_STREAM_END || unpacked.size() != bytes) return DataLoss("{}: it cannot be unpacked", kDamaged);
  return unpacked;
}

Result<std::string> Unpack(std::string_view bytes, const Entry& entry) {
  ASSIGN_OR_RETURN(const std::string_view packed, PackedBytes(bytes, entry));
  if (entry.method != kStored && entry.method != kDeflated)
    return Unimplemented("its compression method {} is not supported", entry.method);
  if (entry.method == kStored && packed.size() != entry.bytes) return DataLoss("{}: its size is wrong", kDamaged);
  std::string unpacked;
  if (entry.method == kStored) unpacked = packed;
  if (entry.method == kDeflated) {
    ASSIGN_OR_RETURN(unpacked, Inflate(packed, entry.bytes));
  }
  const auto checksum = crc32_z(0, reinterpret_cast<const Bytef*>(unpacked.data()), unpacked.size());
  if (checksum != entry.checksum) return DataLoss("{}: its checksum does not match", kDamaged);
  return unpacked;
}

}  // namespace

Result<std::map<std::string, std::string>> ParseNpz(std::string_view bytes, size_t bytes_max) {
  ASSIGN_OR_RETURN(const size_t end, FindEnd(bytes));
  const size_t count = Number<uint16_t>(bytes, end + 10);
  if (count > kArraysMax) return ResourceExhausted("it has {} arrays, but at most {} are read", count, kArraysMax);
  std::map<std::string, std::string> arrays;
  size_t total = 0;
  for (size_t i = 0, at = Number<uint32_t>(bytes, end + 16); i < count; ++i) {
    ASSIGN_OR_RETURN(const Entry entry, ParseEntry(bytes, at));
    at += entry.entry_bytes;
    total += entry.bytes;
    if (total > bytes_max) return ResourceExhausted("its arrays have more than {} bytes", bytes_max);
    auto unpacked = Unpack(bytes, entry);
    if (!unpacked) return Prefixed(unpacked.error(), std::string(entry.name));
    const bool has_ending = entry.name.ends_with(".npy");
    arrays[std::string(entry.name.substr(0, entry.name.size() - (has_ending ? 4 : 0)))] = std::move(*unpacked);
  }
  return arrays;
}

}  // namespace longshore::golden_files
