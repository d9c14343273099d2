# The attention operators of domain com.microsoft against ONNX Runtime; see contrib_test.py.
# SPDX-License-Identifier: Apache-2.0
import sys
import unittest

import contrib_attention_cases
import contrib_test

contrib_test.contrib_cases = contrib_attention_cases


class ContribAttention(contrib_test.Contrib):
    test_exact = test_loose = None  # no such cases


if __name__ == "__main__":
    contrib_test.OPTIONS, rest = contrib_test.parse_options()
    unittest.main(argv=[sys.argv[0], *rest])
