#include "serving-node/saved_model/tfrecord.h"

#include <cstring>

#include "common/os/file.h"
#include "serving-node/saved_model/crc32c.h"

namespace longshore::saved_model {
namespace {

constexpr size_t kHeaderBytes = 12;
constexpr size_t kFooterBytes = 4;

template <typename T>
T ReadNumber(std::string_view bytes) {
  T value{};
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

template <typename T>
void AppendNumber(T value, std::string* out) {
  out->append(reinterpret_cast<const char*>(&value), sizeof(T));
}

bool ChecksumFits(std::string_view bytes, std::string_view stored) {
  return MaskCrc32c(Crc32c(bytes)) == ReadNumber<uint32_t>(stored);
}

// The payload of the record at the beginning of `rest`. DataLoss if the record is damaged or truncated.
Result<std::string_view> Payload(std::string_view rest) {
  if (rest.size() < kHeaderBytes) return DataLoss("the file ends inside a record's header");
  if (!ChecksumFits(rest.substr(0, 8), rest.substr(8, 4))) return DataLoss("the checksum of the length does not match");
  const auto length = ReadNumber<uint64_t>(rest);
  if (length > kRecordBytesMax)
    return DataLoss("the record has {} bytes, but the limit is {}", length, kRecordBytesMax);
  if (rest.size() - kHeaderBytes < length + kFooterBytes) return DataLoss("the file ends inside a record");
  const std::string_view payload = rest.substr(kHeaderBytes, length);
  if (!ChecksumFits(payload, rest.substr(kHeaderBytes + length)))
    return DataLoss("the checksum of the record does not match");
  return payload;
}

// True if `rest` may be the beginning of a record that is cut off.
bool IsBeginning(std::string_view rest) {
  if (rest.empty()) return false;
  if (rest.size() < kHeaderBytes) return true;
  const bool has_length = ChecksumFits(rest.substr(0, 8), rest.substr(8, 4));
  return has_length && rest.size() - kHeaderBytes < ReadNumber<uint64_t>(rest) + kFooterBytes;
}

}  // namespace

Result<std::vector<std::string>> ReadTfRecords(const Path& path, size_t records_max) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path));
  std::vector<std::string> records;
  std::string_view rest = bytes;
  while (!rest.empty()) {
    if (records.size() == records_max) {
      return ResourceExhausted("{} has more than {} records", path.string(), records_max);
    }
    const auto payload = Payload(rest);
    if (!payload) {
      const size_t offset = bytes.size() - rest.size();
      return Prefixed(payload.error(), fmt::format("{}: record {} at byte {}", path.string(), records.size(), offset));
    }
    records.emplace_back(*payload);
    rest.remove_prefix(kHeaderBytes + payload->size() + kFooterBytes);
  }
  return records;
}

WholeRecords CountTfRecords(std::string_view bytes) {
  WholeRecords whole;
  while (const auto payload = Payload(bytes.substr(whole.bytes))) {
    ++whole.records;
    whole.bytes += kHeaderBytes + payload->size() + kFooterBytes;
  }
  whole.is_cut = IsBeginning(bytes.substr(whole.bytes));
  return whole;
}

std::string EncodeTfRecord(std::string_view payload) {
  std::string record;
  record.reserve(kHeaderBytes + payload.size() + kFooterBytes);
  AppendNumber<uint64_t>(payload.size(), &record);
  AppendNumber(MaskCrc32c(Crc32c(record)), &record);
  record.append(payload);
  AppendNumber(MaskCrc32c(Crc32c(payload)), &record);
  return record;
}

Status WriteTfRecords(const Path& path, const std::vector<std::string>& records) {
  std::string bytes;
  for (const auto& record : records) bytes += EncodeTfRecord(record);
  return WriteFileAtomically(path, bytes);
}

}  // namespace longshore::saved_model
