/* analysis_support.h - what the tests of the analysis share. */
#ifndef PESWEEP_TESTS_ANALYSIS_SUPPORT_H
#define PESWEEP_TESTS_ANALYSIS_SUPPORT_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pesweep/analysis.h"

/* Equal within `tolerance` of the larger of 1 and the expected size; NaN only where NaN is expected. */
#define assert_near(value, expected, tolerance)                                                              \
    do {                                                                                                     \
        double value_ = (value), expected_ = (expected);                                                     \
        bool same_ = isnan(expected_)   ? isnan(value_)                                                      \
                     : isinf(expected_) ? value_ == expected_                                                \
                                        : fabs(value_ - expected_) <= (tolerance) * (1 + fabs(expected_));   \
        if (!same_) print_error("%.17g is not %.17g (%s)\n", value_, expected_, #value);                     \
        assert_true(same_);                                                                                  \
    } while (0)

#define assert_ok(call)                                                                                      \
    do {                                                                                                     \
        enum pes_status status_ = (call);                                                                    \
        if (status_ != PES_OK) print_error("%s\n", pes_error_message());                                     \
        assert_int_equal(status_, PES_OK);                                                                   \
    } while (0)

#endif
