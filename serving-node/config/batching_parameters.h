// TensorFlow Serving's batching parameters: the file of --batching_parameters_file, and the one beside a version's
// saved_model.pb.
//
//   max_batch_size { value: 32 }        # Rows that run together. Default 1000.
//   batch_timeout_micros { value: 500 } # How long a request waits for others; default 0, whoever waits anyway joins.
//   max_enqueued_batches { value: 4 }   # Full batches that may wait; default 10, more is UNAVAILABLE.
//   allowed_batch_sizes: 8              # Batches are padded to the next of these.
//   allowed_batch_sizes: 32
//   pad_variable_length_inputs: true    # Rows of different sizes run together.
//   enable_large_batch_splitting { value: true }   # Requests of up to max_batch_size rows, in batches of ...
//   max_execution_batch_size { value: 32 }         # ... so many; without the line above it says nothing.
#pragma once

#include "common/error.h"
#include "common/file.h"
#include "serving-node/batching/batching.h"

namespace longshore::config {

// In the directory of a version.
inline constexpr const char* kVersionBatchingFile = "batching_params.pbtxt";

struct Batching {
  batching::Options options;
  int threads = 0;  // num_batch_threads: batches that run at once; 0: the file does not say.
};

// What holds where no file says otherwise: TensorFlow's defaults.
batching::Options DefaultBatching();

// InvalidArgument "<what>:<line>:<column>: <field> ..." for the first thing that is wrong: a number out of range, sizes
// that do not rise or do not end in what a batch holds, an unknown field.
Result<Batching> ParseBatching(std::string_view text, const std::string& what);

// The same from a file. NotFound when there is none.
Result<Batching> ReadBatching(const Path& file);

}  // namespace longshore::config
