#include "serving-node/engine/kernels/base/table_rows.h"

#include <algorithm>

namespace longshore::engine::kernels {
namespace {

size_t KeyBytes(const std::string& key) { return key.size() + sizeof(key) + sizeof(int64_t); }

size_t ValueBytes(const RowValue& value) {
  size_t sum = value.numbers.size() + value.texts.size_bytes();
  for (const auto& text : value.texts) sum += text.size();
  return sum;
}

}  // namespace

bool TableRows::Add(const std::string& key, const RowValue& value, size_t room_bytes) {
  if (!Count(KeyBytes(key) + ValueBytes(value), 0, room_bytes)) return false;
  by_key_.emplace(key, rows_added_++);
  texts_.insert(texts_.end(), value.texts.begin(), value.texts.end());
  numbers_.insert(numbers_.end(), value.numbers.begin(), value.numbers.end());
  return true;
}

bool TableRows::Replace(int64_t row, const RowValue& value, size_t room_bytes) {
  if (!Count(ValueBytes(value), ValueBytes(At(row)), room_bytes)) return false;
  std::ranges::copy(value.texts, texts_.begin() + row * std::ssize(value.texts));
  std::ranges::copy(value.numbers, numbers_.begin() + row * std::ssize(value.numbers));
  return true;
}

void TableRows::Remove(const std::string& key) {
  if (by_key_.erase(key) > 0) Count(0, KeyBytes(key), 0);
}

// Assigns new containers, because clear() would keep memory that is not counted any more.
void TableRows::Clear() {
  by_key_ = std::unordered_map<std::string, int64_t>();
  texts_ = std::vector<std::string>();
  numbers_ = std::vector<std::byte>();
  rows_added_ = 0;
  Count(0, bytes_, 0);
}

RowValue TableRows::At(int64_t row) const {
  const auto made = static_cast<size_t>(rows_added_), at = static_cast<size_t>(row);
  const size_t texts = texts_.size() / made, numbers = numbers_.size() / made;
  return {std::span(texts_).subspan(at * texts, texts), std::span(numbers_).subspan(at * numbers, numbers)};
}

bool TableRows::Count(size_t more, size_t less, size_t room_bytes) {
  if (more > less && more - less > room_bytes) return false;
  bytes_ = bytes_ - less + more;
  if (run_bytes_) *run_bytes_ = *run_bytes_ - less + more;
  return true;
}

}  // namespace longshore::engine::kernels
