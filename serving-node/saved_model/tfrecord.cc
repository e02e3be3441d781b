#include "serving-node/saved_model/tfrecord.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <utility>

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

// The length of the payload, from the header of a record. DataLoss if the header is damaged or truncated.
Result<uint64_t> LengthOf(std::string_view header) {
  if (header.size() < kHeaderBytes) return DataLoss("the file ends inside a record's header");
  if (!ChecksumFits(header.substr(0, 8), header.substr(8, 4)))
    return DataLoss("the checksum of the length does not match");
  const auto length = ReadNumber<uint64_t>(header);
  if (length > kRecordBytesMax)
    return DataLoss("the record has {} bytes, but the limit is {}", length, kRecordBytesMax);
  return length;
}

// The payload of the record at the beginning of `rest`. DataLoss if the record is damaged or truncated.
Result<std::string_view> Payload(std::string_view rest) {
  ASSIGN_OR_RETURN(const uint64_t length, LengthOf(rest));
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

Result<TfRecordReader> TfRecordReader::Open(const Path& path) {
  ASSIGN_OR_RETURN(process::SteadyReader file, process::SteadyReader::Open(path));
  return TfRecordReader(path, [file = std::make_shared<process::SteadyReader>(std::move(file))](std::span<char> bytes) {
    return file->Read(bytes);
  });
}

// Appends the next `count` bytes of the file, fewer at its end. Memory is taken in pieces, because a damaged record may
// have a length that is greater than the file.
Status TfRecordReader::Append(size_t count, std::string* bytes) {
  while (count > 0) {
    const size_t piece = std::min(count, process::SteadyReader::kPieceBytes);
    const size_t before = bytes->size();
    bytes->resize(before + piece);
    ASSIGN_OR_RETURN(const size_t read, source_(std::span(*bytes).subspan(before)));
    bytes->resize(before + read);
    if (read < piece) return {};
    count -= piece;
  }
  return {};
}

Result<std::optional<std::string>> TfRecordReader::Next() {
  std::string bytes;
  RETURN_IF_ERROR(Append(kHeaderBytes, &bytes));
  if (bytes.empty()) return std::nullopt;
  if (const auto length = LengthOf(bytes)) RETURN_IF_ERROR(Append(*length + kFooterBytes, &bytes));
  const auto payload = Payload(bytes);
  is_cut_ = !payload && IsBeginning(bytes);
  if (!payload && index_ == 0 && IsGzip(bytes))
    return DataLoss("{}: the file is compressed with gzip: decompress it with gunzip", path_.string());
  if (!payload)
    return Prefixed(payload.error(), fmt::format("{}: record {} at byte {}", path_.string(), index_, offset_));
  offset_ += bytes.size();
  ++index_;
  return std::string(*payload);
}

Result<std::vector<std::string>> ReadTfRecords(const Path& path, size_t records_max) {
  ASSIGN_OR_RETURN(TfRecordReader reader, TfRecordReader::Open(path));
  std::vector<std::string> records;
  while (true) {
    ASSIGN_OR_RETURN(std::optional<std::string> record, reader.Next());
    if (!record) return records;
    if (records.size() == records_max) {
      return ResourceExhausted("{} has more than {} records", path.string(), records_max);
    }
    records.push_back(std::move(*record));
  }
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

bool IsGzip(std::string_view beginning) {
  return beginning.starts_with("\x1f\x8b") && beginning.size() >= kHeaderBytes && !LengthOf(beginning);
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
