// The texts of `longshore golden --help`, apart from flags.
#pragma once

namespace longshore::golden_files {

inline constexpr const char* kAbout =
    R"(Make and examine golden sets: requests with known answers, which a version must pass.

  longshore golden from-log /var/log/digits/*.tfrecord --sample 500 --deduplicate --out golden.tfrecord
  longshore golden from-csv iris.csv --model /models/iris --label species --classes setosa,versicolor,virginica --out golden.tfrecord
  longshore golden from-model /models/digits --inputs images.npz --out golden.tfrecord
  longshore golden show golden.tfrecord
  longshore golden check golden.tfrecord --model /models/digits
  longshore check-version /models/digits/5 --golden golden.tfrecord

docs/golden-sets.md explains which metric fits which model.)";

inline constexpr const char* kFooter = "Exit codes: 0 success, 1 failure, 2 invalid command line.";

inline constexpr const char* kFromLogFooter =
    R"(The files are those of a node's request log, or any TFRecord files of PredictionLogs. The known answers are those in
the files. Records of other methods than Predict, and records without an answer, are left out and counted. The same seed
draws the same records from the same files.

  longshore golden from-log requests-*.tfrecord --sample 500 --seed 7 --deduplicate --out golden.tfrecord)";

inline constexpr const char* kFromCsvFooter =
    R"(The first row names the columns. An input "x" is in the column "x" (a number, a text, or a JSON list such as
[[0,1],[2,3]]), or in the columns "x[0]", "x[1]", ...; --column names others. Each row becomes a record with one row.

Without --label, the known answers are those of the version in --model. With --label, they are the values in this column.
For an output with float scores of several classes, the label may be the number of the class, or its name in --classes,
which may also be a file with one name per line: then use the metric top1, and the score is the accuracy.

  longshore golden from-csv iris.csv --model /models/iris --column x=sepal_length,sepal_width,petal_length,petal_width \
    --label species --classes setosa,versicolor,virginica --out golden.tfrecord)";

inline constexpr const char* kFromModelFooter =
    R"(The inputs are an archive of numpy.savez, an array of numpy.save, the JSON of a REST prediction, or a log: a warm-up
file, or any TFRecord file of PredictionLogs, whose answers are replaced. The rows of arrays and of JSON become one
record each, or --batch rows per record.

  longshore golden from-model /models/digits/3 --inputs images.npz --out golden.tfrecord
  longshore golden from-model /models/digits/3 --inputs assets.extra/tf_serving_warmup_requests --out golden.tfrecord)";

inline constexpr const char* kShowFooter =
    R"(-1 in a shape means that records differ in this size.

  longshore golden show golden.tfrecord --records 10)";

inline constexpr const char* kCheckFooter =
    R"(Runs nothing. The message about the first mistake names the file, the record and its offset in bytes.

  longshore golden check golden.tfrecord --model /models/digits && echo it fits)";

inline constexpr const char* kCheckVersionAbout =
    "Rehearses a version by the rules in the flags. longshore check-version starts this; it is not meant for users.";

}  // namespace longshore::golden_files
