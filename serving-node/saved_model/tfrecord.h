// Reads and writes TFRecord files, which store warm-up requests and golden sets.
//
// A record is: the length of the payload as u64, the masked CRC-32C of those eight bytes, the payload, and the masked
// CRC-32C of the payload. All numbers are little-endian. A file is a sequence of records.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/base/path.h"
#include "common/os/process/steady_reader.h"

namespace longshore::saved_model {

inline constexpr size_t kRecordBytesMax = size_t{1} << 30;

// Reads a file record by record, so that only one record is in memory. If the file is replaced meanwhile, the records
// are still those of the file that was opened. Not thread-safe.
class TfRecordReader {
 public:
  // Fills the span with the next bytes, and returns their number, which is smaller only at the end.
  using Source = std::function<Result<size_t>(std::span<char> bytes)>;

  // NotFound if the file does not exist.
  static Result<TfRecordReader> Open(const Path& path);
  // Reads the records of the source. `path` is for messages.
  TfRecordReader(Path path, Source source) : path_(std::move(path)), source_(std::move(source)) {}

  // Returns the payload of the next record, and nullopt at the end of the file. DataLoss for a truncated or damaged
  // record: the message names the file, the index of the record (from 0) and its offset, and says if the file is
  // compressed.
  Result<std::optional<std::string>> Next();

  // The offset of the record that Next returns next. After an error, that of the damaged record.
  uint64_t offset() const { return offset_; }
  // Whether Next failed because the file ends within a record, as it does while a log is being written.
  bool is_cut() const { return is_cut_; }

 private:
  Status Append(size_t count, std::string* bytes);

  Path path_;
  Source source_;
  uint64_t offset_ = 0;  // Of the next record.
  size_t index_ = 0;
  bool is_cut_ = false;
};

// Reads all records of the file. Errors as for TfRecordReader, and ResourceExhausted for more than records_max records.
Result<std::vector<std::string>> ReadTfRecords(const Path& path, size_t records_max);

// The number and the size of the complete records at the beginning of some bytes. If a file was not written completely,
// writing may continue after these records.
struct WholeRecords {
  size_t records = 0;
  size_t bytes = 0;
  bool is_cut = false;  // Whether the rest is an incomplete record. If not, it is empty or damaged.
};
WholeRecords CountTfRecords(std::string_view bytes);

// Whether a file that begins with these bytes, at least 12, is a gzip file and not one of records.
bool IsGzip(std::string_view beginning);

// Encodes one record so that it can be appended to a file.
std::string EncodeTfRecord(std::string_view payload);

// Atomically replaces the file by one with these records.
Status WriteTfRecords(const Path& path, const std::vector<std::string>& records);

}  // namespace longshore::saved_model
