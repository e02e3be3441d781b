// What a lookup table holds: rows of values under keys, and the count of the memory that these take.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace longshore::engine::reference::kernels {

// Of one row: texts, or the bytes of numbers. In all rows of a table as many.
struct RowValue {
  std::span<const std::string> texts;
  std::span<const std::byte> numbers;
};

// Rows are numbered in the order in which they came. Not thread-safe.
class TableRows {
 public:
  // `run_bytes`: what all tables hold that one run made, to count in as well; nullptr for a table of the model.
  explicit TableRows(std::shared_ptr<size_t> run_bytes) : run_bytes_(std::move(run_bytes)) {}
  ~TableRows() { Clear(); }
  TableRows(const TableRows&) = delete;
  TableRows& operator=(const TableRows&) = delete;

  // False, and nothing is done, when it takes more than `room_bytes` more. Add requires a new key, Replace a row that
  // is there.
  bool Add(const std::string& key, const RowValue& value, size_t room_bytes);
  bool Replace(int64_t row, const RowValue& value, size_t room_bytes);
  // The value's place stays taken.
  void Remove(const std::string& key);
  void Clear();

  const std::unordered_map<std::string, int64_t>& by_key() const { return by_key_; }
  // Requires: the row was added since the last Clear.
  RowValue At(int64_t row) const;
  // Of all rows, one after the other.
  const std::vector<std::string>& texts() const { return texts_; }
  const std::vector<std::byte>& numbers() const { return numbers_; }
  // Rows that were added, those that were removed among them.
  int64_t made() const { return made_; }
  size_t bytes() const { return bytes_; }
  bool is_of_run() const { return run_bytes_ != nullptr; }

 private:
  bool Count(size_t more, size_t less, size_t room_bytes);

  const std::shared_ptr<size_t> run_bytes_;
  std::unordered_map<std::string, int64_t> by_key_;  // A string, or the bytes of a number.
  int64_t made_ = 0;
  std::vector<std::string> texts_;
  std::vector<std::byte> numbers_;
  size_t bytes_ = 0;
};

}  // namespace longshore::engine::reference::kernels
