#include "serving-node/observe/replay/bundle.h"

#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/text_format.h>

#include "common/text_proto/text_proto.h"

namespace longshore::replay {
namespace {

namespace io = google::protobuf::io;

// Stops the conversion when the text becomes larger than a bundle may be; the text can be much larger than the message.
class BoundedText final : public io::ZeroCopyOutputStream {
 public:
  explicit BoundedText(std::string* text) : out_(text) {}
  bool Next(void** data, int* size) override { return ByteCount() <= kMax && out_.Next(data, size); }
  void BackUp(int count) override { out_.BackUp(count); }
  int64_t ByteCount() const override { return out_.ByteCount(); }

 private:
  static constexpr int64_t kMax = kBundleBytesMax;
  io::StringOutputStream out_;
};

}  // namespace

Result<std::string> ToText(const capture::Bundle& bundle) {
  std::string text = "# A captured request. To replay it: longshore-node replay FILE\n";
  bool is_whole = false;
  {
    BoundedText out(&text);
    is_whole = google::protobuf::TextFormat::Print(bundle, &out);
  }
  if (is_whole && text.size() <= kBundleBytesMax) return text;
  return ResourceExhausted("the request is too large: as text it has more than {} bytes", kBundleBytesMax);
}

Result<capture::Bundle> ReadBundle(const Path& file) {
  capture::Bundle bundle;
  RETURN_IF_ERROR(ReadTextProto(file, &bundle, kBundleBytesMax));
  if (!bundle.has_request()) return InvalidArgument("{}: the bundle has no request", file.string());
  return bundle;
}

}  // namespace longshore::replay
