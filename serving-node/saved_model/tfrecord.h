// Reads and writes TFRecord files, which store warm-up requests and golden sets.
//
// A record is: the length of the payload as u64, the masked CRC-32C of those eight bytes, the payload, and the masked
// CRC-32C of the payload. All numbers are little-endian. A file is a sequence of records.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "common/base/path.h"

namespace longshore::saved_model {

inline constexpr size_t kRecordBytesMax = size_t{1} << 30;

// Reads all records of the file. NotFound if the file does not exist; ResourceExhausted for more than records_max
// records; DataLoss for a truncated or damaged record. The message names the file, the index of the record (from 0) and
// its offset.
Result<std::vector<std::string>> ReadTfRecords(const Path& path, size_t records_max);

// The number and the size of the complete records at the beginning of some bytes. If a file was not written completely,
// writing may continue after these records.
struct WholeRecords {
  size_t records = 0;
  size_t bytes = 0;
  bool is_cut = false;  // Whether the rest is an incomplete record. If not, it is empty or damaged.
};
WholeRecords CountTfRecords(std::string_view bytes);

// Encodes one record so that it can be appended to a file.
std::string EncodeTfRecord(std::string_view payload);

// Atomically replaces the file by one with these records.
Status WriteTfRecords(const Path& path, const std::vector<std::string>& records);

}  // namespace longshore::saved_model
