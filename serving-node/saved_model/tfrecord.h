// TFRecord files: how warm-up requests and golden sets are stored.
//
// One record is: its length as u64, the masked CRC-32C of those eight bytes, the payload, the masked CRC-32C of the
// payload; all numbers little-endian. A file is records one after the other.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/error.h"
#include "common/file.h"

namespace longshore::saved_model {

inline constexpr size_t kRecordBytesMax = size_t{1} << 30;

// All records of the file in order. NotFound without the file; ResourceExhausted with more than records_max records;
// DataLoss for a truncated or damaged record, naming the file, the record's number (from 0) and its offset.
Result<std::vector<std::string>> ReadTfRecords(const Path& path, size_t records_max);

// The whole records at the beginning of these bytes: where a file that was not written to its end may go on.
struct WholeRecords {
  size_t records = 0;
  size_t bytes = 0;
  bool is_cut = false;  // What follows is the beginning of a record. Else nothing does, or something damaged.
};
WholeRecords CountTfRecords(std::string_view bytes);

// The bytes of one record, to be appended to a file.
std::string EncodeTfRecord(std::string_view payload);

// Replaces the file with these records, atomically.
Status WriteTfRecords(const Path& path, const std::vector<std::string>& records);

}  // namespace longshore::saved_model
