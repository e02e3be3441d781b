"""The cases of op_answers.py: ops with inputs at the limits of what they support. Each module is a family with its own answer file."""
