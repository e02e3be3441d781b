#include "serving-node/engine/kernels/base/table_rows.h"

#include <gtest/gtest.h>

namespace longshore::engine::kernels {
namespace {

constexpr size_t kKeyBytes = 1 + sizeof(std::string) + sizeof(int64_t);

size_t BytesOf(const std::vector<std::string>& texts) {
  size_t sum = 0;
  for (const auto& text : texts) sum += text.size() + sizeof(text);
  return sum;
}

TEST(TableRows, CountsTheBytesOfItsRows) {
  const auto run_bytes = std::make_shared<size_t>(7);  // Another table has counted 7 bytes.
  const auto expect = [&](const TableRows& rows, size_t bytes) {
    EXPECT_EQ(rows.bytes(), bytes);
    EXPECT_EQ(*run_bytes, 7 + bytes);
  };
  const std::vector<std::string> one = {"one", ""}, two = {"", "twenty-two"}, other = {"a longer text", "b"};
  {
    TableRows rows(run_bytes);
    EXPECT_TRUE(rows.Add("1", {.texts = one, .numbers = {}}, SIZE_MAX));
    expect(rows, kKeyBytes + BytesOf(one));
    EXPECT_TRUE(rows.Add("2", {.texts = two, .numbers = {}}, SIZE_MAX));
    expect(rows, 2 * kKeyBytes + BytesOf(one) + BytesOf(two));
    EXPECT_TRUE(rows.Replace(0, {.texts = other, .numbers = {}}, SIZE_MAX));
    expect(rows, 2 * kKeyBytes + BytesOf(other) + BytesOf(two));
    rows.Remove("1");
    rows.Remove("1");
    expect(rows, kKeyBytes + BytesOf(other) + BytesOf(two));
    rows.Clear();
    expect(rows, 0);
    EXPECT_TRUE(rows.Add("1", {.texts = {}, .numbers = std::as_bytes(std::span("four"))}, SIZE_MAX));
    expect(rows, kKeyBytes + 5);
  }
  EXPECT_EQ(*run_bytes, 7U) << "a destroyed table must subtract its bytes";
}

TEST(TableRows, StaysUnchangedIfARowDoesNotFit) {
  const std::vector<std::string> text = {"text"}, longer = {"longer"};
  TableRows rows(nullptr);
  const size_t bytes = kKeyBytes + BytesOf(text);
  EXPECT_FALSE(rows.Add("1", {.texts = text, .numbers = {}}, bytes - 1));
  EXPECT_TRUE(rows.by_key().empty());
  EXPECT_TRUE(rows.Add("1", {.texts = text, .numbers = {}}, bytes));
  EXPECT_FALSE(rows.Replace(0, {.texts = longer, .numbers = {}}, 1));
  EXPECT_EQ(rows.At(0).texts[0], "text");
  EXPECT_EQ(rows.bytes(), bytes);
  EXPECT_TRUE(rows.Replace(0, {.texts = longer, .numbers = {}}, 2));
  EXPECT_EQ(rows.At(0).texts[0], "longer");
}

}  // namespace
}  // namespace longshore::engine::kernels
