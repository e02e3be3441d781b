// The contents of a lookup table: rows of values under keys, with a count of the memory that they take.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace longshore::engine::kernels {

// The value of one row: strings, or the bytes of numbers. All rows of a table have the same length.
struct RowValue {
  std::span<const std::string> texts;
  std::span<const std::byte> numbers;
};

// Rows are numbered in the order in which they were added. Not thread-safe.
class TableRows {
 public:
  // `run_bytes` counts the memory of all tables that a run made, and this table adds itself to it. It is nullptr for a
  // table that belongs to the model.
  explicit TableRows(std::shared_ptr<size_t> run_bytes) : run_bytes_(std::move(run_bytes)) {}
  ~TableRows() { Clear(); }
  TableRows(const TableRows&) = delete;
  TableRows& operator=(const TableRows&) = delete;

  // Return false and change nothing if the table would grow by more than `room_bytes`. Add requires a new key; Replace
  // requires an existing row.
  bool Add(const std::string& key, const RowValue& value, size_t room_bytes);
  bool Replace(int64_t row, const RowValue& value, size_t room_bytes);
  // Removes the key. The memory of its value is not freed.
  void Remove(const std::string& key);
  void Clear();

  const std::unordered_map<std::string, int64_t>& by_key() const { return by_key_; }
  // Returns the value of the row. Requires: the row was added since the last Clear.
  RowValue At(int64_t row) const;
  // The values of all rows, concatenated.
  const std::vector<std::string>& texts() const { return texts_; }
  const std::vector<std::byte>& numbers() const { return numbers_; }
  // How many rows were added since the last Clear, including those that were removed.
  int64_t rows_added() const { return rows_added_; }
  size_t bytes() const { return bytes_; }
  bool belongs_to_run() const { return run_bytes_ != nullptr; }

 private:
  bool Count(size_t more, size_t less, size_t room_bytes);

  const std::shared_ptr<size_t> run_bytes_;
  std::unordered_map<std::string, int64_t> by_key_;  // The row of each key (a string, or bytes of a number).
  int64_t rows_added_ = 0;
  std::vector<std::string> texts_;
  std::vector<std::byte> numbers_;
  size_t bytes_ = 0;
};

}  // namespace longshore::engine::kernels
