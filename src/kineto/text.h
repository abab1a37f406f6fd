// text.h - any bytes made into JSON that every torch version's trace writer leaves valid.
//
// In:  names and values as a vendor wrote them: quotes, backslashes, control bytes, broken UTF-8,
//      anything.
// Out: ASCII between 0x20 and 0x7e without quote and backslash. Replaced, never escaped: Kineto's writer
//      turns every backslash into a slash, so that an escape would end the string early, and up to 2.13
//      it prints a name with any other byte as "unknown" as a whole.
#pragma once

#include <string>
#include <string_view>

namespace flagprof {

// Appends `text` made safe: a quote becomes an apostrophe, a backslash a slash, a control byte a space, a
// character beyond ASCII <U+XXXX>, a byte that is no UTF-8 <XX>. Different names stay different, nearly
// always.
void append_safe(std::string &out, std::string_view text);
std::string safe(std::string_view text);
// The same between quotes.
void append_quoted(std::string &out, std::string_view text);

// One JSON value that the writer will pass through unharmed: a number, a list, an object, true, false, null,
// a string, no deeper than 16.
bool is_plain_json(std::string_view text);
// `text` as it is where it is such a value, else quoted and made safe: when in doubt, quoted.
void append_value(std::string &out, std::string_view text);

} // namespace flagprof
