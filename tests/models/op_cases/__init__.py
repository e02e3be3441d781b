"""The cases of op_answers.py: ops with inputs at the edges of what they take. A module is a family, with a file of answers."""
