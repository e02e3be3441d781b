#include "common/base/pieces.h"

#include <utility>

namespace longshore {

Pieces::Pieces(std::string bytes) {
  const auto owner = std::make_shared<const std::string>(std::move(bytes));
  Add(*owner, owner);
}

void Pieces::Add(std::string_view bytes, std::shared_ptr<const void> owner) {
  if (bytes.empty()) return;
  all_.push_back({bytes, std::move(owner)});
  size_ += bytes.size();
}

std::string Pieces::ToString() const {
  std::string joined;
  joined.reserve(size_);
  for (const Piece& piece : all_) joined += piece.bytes;
  return joined;
}

void PiecesBuilder::Refer(std::string_view bytes, std::shared_ptr<const void> owner) {
  EndCopied();
  pieces_.Add(bytes, std::move(owner));
}

Pieces PiecesBuilder::Build() {
  EndCopied();
  return std::exchange(pieces_, {});
}

void PiecesBuilder::EndCopied() {
  if (copied_.empty()) return;
  const auto owner = std::make_shared<const std::string>(std::exchange(copied_, {}));
  pieces_.Add(*owner, owner);
}

}  // namespace longshore
