# shellcheck shell=bash
# Makes expected results of tests again: ./dev golden. Sourced by ./dev.

# Writes TensorFlow's answers for the ops of FAMILY; without an argument, for all ops.
golden_ops() { TF_CPP_MIN_LOG_LEVEL=3 "$PYTHON" -B tests/models/op_answers.py "$@"; }

golden_texts() {
  build dev --target controller_cli_text_test controller_cli_imports_test controller_cli_doctor_test
  local name
  for name in text imports doctor; do
    LONGSHORE_GOLDEN_WRITE=1 "build/dev/controller/cli/$name/controller_cli_${name}_test" >&2
  done
  git diff --stat -- tests/golden/cli
}

golden() {
  setup_python
  case "${1:-}" in
    '') golden_ops; "$PYTHON" -B tests/models/train.py; golden_texts ;;
    models) "$PYTHON" -B tests/models/train.py ;;
    texts) golden_texts ;;
    pictures)
      setup_console
      build release --target programs
      (LONGSHORE_PICTURES="$PWD/docs/pictures" run_pytest release "" tests/console/console_test.py) && "$PYTHON" -B tests/console/pictures.py ;;
    *) golden_ops "$1" ;;
  esac
}
