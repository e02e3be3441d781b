#include "common/binary_proto/binary_proto.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/wire_format_lite.h>

#include <algorithm>
#include <climits>

namespace longshore {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

// The deepest nesting that generated code reads (CodedInputStream::GetDefaultRecursionLimit).
constexpr int kDepthMax = 100;

bool FieldsFit(const Descriptor& type, int depth, CodedInputStream* in);

// Skips a field. Returns false if it does not end inside its message, or something in it has the same mistake.
bool FieldFits(const Descriptor& type, uint32_t tag, int depth, CodedInputStream* in) {
  if (WireFormatLite::GetTagWireType(tag) != WireFormatLite::WIRETYPE_LENGTH_DELIMITED)
    return WireFormatLite::SkipField(in, tag);
  uint32_t length = 0;
  if (!in->ReadVarint32(&length) || length > static_cast<uint32_t>(in->BytesUntilLimit())) return false;
  const auto bytes = static_cast<int>(length);
  const FieldDescriptor* field = type.FindFieldByNumber(WireFormatLite::GetTagFieldNumber(tag));
  if (field == nullptr || field->type() != FieldDescriptor::TYPE_MESSAGE) return in->Skip(bytes);
  const auto limit = in->PushLimit(bytes);
  if (depth == kDepthMax || !FieldsFit(*field->message_type(), depth + 1, in)) return false;
  in->PopLimit(limit);
  return true;
}

bool FieldsFit(const Descriptor& type, int depth, CodedInputStream* in) {
  while (const uint32_t tag = in->ReadTag()) {
    if (!FieldFits(type, tag, depth, in)) return false;
  }
  return in->ConsumedEntireMessage();
}

// The number of bytes before the first field of `type` that does not fit.
int BytesThatFit(const Descriptor& type, CodedInputStream* in) {
  int end = 0;
  for (uint32_t tag = in->ReadTag(); tag != 0 && FieldFits(type, tag, 0, in); tag = in->ReadTag())
    end = in->CurrentPosition();
  return end;
}

}  // namespace

PiecesStream::PiecesStream(const Pieces& pieces, size_t begin, size_t size) : pieces_(pieces), left_(size) {
  in_piece_ = begin;
  while (piece_ < pieces_.all().size() && in_piece_ >= pieces_.all()[piece_].bytes.size())
    in_piece_ -= pieces_.all()[piece_++].bytes.size();
}

bool PiecesStream::Next(const void** data, int* size) {
  if (left_ == 0 || piece_ == pieces_.all().size()) return false;
  const std::string_view bytes = pieces_.all()[piece_].bytes.substr(in_piece_, std::min<size_t>(left_, INT_MAX));
  *data = bytes.data();
  *size = static_cast<int>(bytes.size());
  return Skip(*size);
}

void PiecesStream::BackUp(int count) {
  const auto bytes = static_cast<size_t>(count);
  if (in_piece_ == 0) in_piece_ = pieces_.all()[--piece_].bytes.size();
  in_piece_ -= bytes;  // Next returns bytes of one piece only, so the position stays in this piece.
  left_ += bytes;
  read_ -= bytes;
}

bool PiecesStream::Skip(int count) {
  size_t bytes = std::min(static_cast<size_t>(count), left_);
  const bool all = bytes == static_cast<size_t>(count);
  left_ -= bytes;
  read_ += bytes;
  while (bytes > 0 && piece_ < pieces_.all().size()) {
    const size_t here = std::min(bytes, pieces_.all()[piece_].bytes.size() - in_piece_);
    bytes -= here;
    in_piece_ += here;
    if (in_piece_ < pieces_.all()[piece_].bytes.size()) break;
    ++piece_;
    in_piece_ = 0;
  }
  return all;
}

PiecesReader::PiecesReader(const Pieces& pieces, size_t begin, size_t size)
    : stream_(pieces, begin, size), in_(&stream_) {
  in_.PushLimit(static_cast<int>(size));
}

bool ParseBinaryProto(std::string_view bytes, google::protobuf::Message* message) {
  if (bytes.size() > INT_MAX) return false;
  const auto size = static_cast<int>(bytes.size());
  CodedInputStream in(reinterpret_cast<const uint8_t*>(bytes.data()), size);
  in.PushLimit(size);
  const int fitting = BytesThatFit(*message->GetDescriptor(), &in);
  return message->ParseFromArray(bytes.data(), fitting) && fitting == size;
}

bool ParseBinaryProto(const Pieces& pieces, size_t begin, size_t size, google::protobuf::Message* message) {
  if (size > INT_MAX) return false;
  PiecesReader reader(pieces, begin, size);
  const int fitting = BytesThatFit(*message->GetDescriptor(), &reader.in());
  PiecesStream stream(pieces, begin, static_cast<size_t>(fitting));
  return message->ParseFromBoundedZeroCopyStream(&stream, fitting) && fitting == static_cast<int>(size);
}

bool ParseBinaryProto(const Pieces& pieces, google::protobuf::Message* message) {
  if (pieces.all().size() == 1) return ParseBinaryProto(pieces.all().front().bytes, message);
  return ParseBinaryProto(pieces, 0, pieces.size(), message);
}

}  // namespace longshore
