#include "common/os/log.h"

#include <spdlog/sinks/base_sink.h>

#include <cstdio>
#include <mutex>

#include "common/base/text.h"

namespace longshore {
namespace {

// Writes to standard error, within the limits of log.h.
class LimitedSink final : public spdlog::sinks::base_sink<std::mutex> {
 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    const auto second = std::chrono::floor<std::chrono::seconds>(message.time);
    if (second != second_) {
      ReportDroppedLines(message);
      second_ = second;
      lines_ = 0;
    }
    if (++lines_ <= kLogLinesPerSecondMax) return Write(message);
    ++dropped_;
  }
  void flush_() override { std::fflush(stderr); }

 private:
  void ReportDroppedLines(const spdlog::details::log_msg& now) {
    if (dropped_ == 0) return;
    const std::string text =
        fmt::format("{} lines were dropped: the limit is {} per second", dropped_, kLogLinesPerSecondMax);
    dropped_ = 0;
    spdlog::details::log_msg report(now.time, {}, now.logger_name, spdlog::level::warn, text);
    Write(report);
  }

  void Write(const spdlog::details::log_msg& message) {
    constexpr std::string_view kCut = "...\n";
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    if (line.size() > kLogLineBytesMax) {
      line.resize(Utf8Prefix({line.data(), line.size()}, kLogLineBytesMax - kCut.size()).size());
      line.append(kCut.data(), kCut.data() + kCut.size());
    }
    std::fwrite(line.data(), 1, line.size(), stderr);
  }

  std::chrono::sys_seconds second_{};
  int lines_ = 0;  // The number of lines in the current second.
  int64_t dropped_ = 0;
};

Result<spdlog::level::level_enum> ParseLevel(const std::string& level) {
  const auto parsed = spdlog::level::from_str(level);
  if (parsed != spdlog::level::off || level == "off") return parsed;
  return InvalidArgument("unknown log level \"{}\": use debug, info, warning, error or off", level);
}

}  // namespace

Status InitLog(const std::string& program, const std::string& level) {
  ASSIGN_OR_RETURN(const auto parsed, ParseLevel(level));
  auto logger = std::make_shared<spdlog::logger>(program, std::make_shared<LimitedSink>());
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e %L %n: %v");
  logger->set_level(parsed);
  logger->flush_on(spdlog::level::info);
  spdlog::set_default_logger(std::move(logger));
  return {};
}

Status SetLogLevel(const std::string& level) {
  ASSIGN_OR_RETURN(const auto parsed, ParseLevel(level));
  spdlog::default_logger_raw()->set_level(parsed);
  return {};
}

std::string LogLevel() {
  const auto name = spdlog::level::to_string_view(spdlog::default_logger_raw()->level());
  return {name.data(), name.size()};
}

std::string ForLog(std::string_view text, size_t bytes_max) {
  std::string safe;
  for (const char c : Utf8Prefix(text, bytes_max)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      safe += fmt::format("\\x{:02x}", byte);
    } else {
      safe += c;
    }
  }
  if (text.size() > bytes_max) safe += "...";
  return safe;
}

}  // namespace longshore
