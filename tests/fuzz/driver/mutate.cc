#include "tests/fuzz/driver/mutate.h"

#include <algorithm>
#include <cstring>

namespace longshore::fuzz::driver {

std::string Mutator::Next() {
  std::string input = corpus_[Below(corpus_.size())];
  for (size_t changes = 1 + Below(8); changes > 0; --changes) Change(&input);
  if (input.size() > bytes_max_) input.resize(bytes_max_);
  return input;
}

void Mutator::Change(std::string* input) {
  if (input->empty()) return TakeFromAnother(input);
  char& byte = (*input)[Below(input->size())];
  switch (Below(8)) {
    case 0: byte = static_cast<char>(byte ^ (1 << Below(8))); return;
    case 1: byte = static_cast<char>(Below(256)); return;
    case 2: input->insert(Below(input->size()), 1, static_cast<char>(Below(256))); return;
    case 3: input->erase(Below(input->size()), 1 + Below(16)); return;
    case 4: input->resize(Below(input->size())); return;
    case 5: return SetNumber(input);
    case 6: return RepeatPiece(input);
    default: return TakeFromAnother(input);
  }
}

void Mutator::SetNumber(std::string* input) {
  static constexpr uint64_t kNumbers[] = {0,
                                          1,
                                          0x7f,
                                          0x80,
                                          0xff,
                                          0x7fff,
                                          0xffff,
                                          0x7fffffff,
                                          0x80000000,
                                          0xffffffff,
                                          0x7fffffffffffffff,
                                          0x8000000000000000,
                                          0xffffffffffffffff};
  const uint64_t number = kNumbers[Below(std::size(kNumbers))];
  const size_t width = size_t{1} << Below(4);
  const size_t at = Below(input->size());
  std::memcpy(input->data() + at, &number, std::min(width, input->size() - at));
}

void Mutator::RepeatPiece(std::string* input) {
  const std::string piece = input->substr(Below(input->size()), 1 + Below(64));
  const size_t at = Below(input->size());
  for (size_t times = size_t{1} << Below(8); times > 0 && input->size() < bytes_max_; --times) input->insert(at, piece);
}

void Mutator::TakeFromAnother(std::string* input) {
  const std::string& other = corpus_[Below(corpus_.size())];
  const size_t from = Below(other.size());
  input->insert(Below(input->size()), other, from, 1 + Below(other.size() - from));
}

}  // namespace longshore::fuzz::driver
