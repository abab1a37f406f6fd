// text.cc - making bytes safe for the trace file (text.h).

#include "kineto/text.h"

#include <array>
#include <cstdint>
#include <cstdio>

namespace flagprof {
namespace {

enum class Byte : uint8_t { Plain, Quote, Backslash, Control, Beyond };

constexpr std::array<Byte, 256> make_bytes() {
    std::array<Byte, 256> bytes{};
    for (int at = 0; at < 256; at++)
        bytes[at] = at < 0x20 || at == 0x7f ? Byte::Control : at >= 0x80 ? Byte::Beyond : Byte::Plain;
    bytes['"'] = Byte::Quote;
    bytes['\\'] = Byte::Backslash;
    return bytes;
}

constexpr std::array<Byte, 256> BYTES = make_bytes();

Byte class_of(char byte) {
    return BYTES[static_cast<unsigned char>(byte)];
}

struct Character {
    uint32_t code;
    size_t length; // 0: these bytes are no UTF-8
};

// Overlong forms, surrogates and what lies beyond U+10FFFF are no UTF-8.
Character decode(std::string_view text) {
    auto byte = [&](size_t at) { return static_cast<uint32_t>(static_cast<unsigned char>(text[at])); };
    uint32_t first = byte(0);
    size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || text.size() < length)
        return { 0, 0 };
    uint32_t code = first & (0xffu >> (length + 1));
    for (size_t at = 1; at < length; at++) {
        if ((byte(at) & 0xc0) != 0x80)
            return { 0, 0 };
        code = code << 6 | (byte(at) & 0x3f);
    }
    static constexpr uint32_t LEAST[] = { 0, 0, 0x80, 0x800, 0x10000 };
    if (code < LEAST[length] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        return { 0, 0 };
    return { code, length };
}

size_t append_beyond(std::string &out, std::string_view text) {
    char written[16];
    Character character = decode(text);
    if (character.length)
        snprintf(written, sizeof(written), "<U+%04X>", character.code);
    else
        snprintf(written, sizeof(written), "<%02X>", static_cast<unsigned char>(text[0]));
    out += written;
    return character.length ? character.length : 1;
}

// A scanner of one JSON value. `at` is where it stands; every function is false where the text is no such
// thing.
class Scanner {
  public:
    explicit Scanner(std::string_view text) : text_(text) {}

    bool whole() {
        return value(0) && at_ == text_.size();
    }

  private:
    enum { DEEPEST = 16 };

    char here() const {
        return at_ < text_.size() ? text_[at_] : '\0';
    }

    bool take(char wanted) {
        if (here() != wanted || at_ == text_.size())
            return false;
        at_++;
        return true;
    }

    void spaces() {
        while (here() == ' ')
            at_++;
    }

    bool digits() {
        size_t first = at_;
        while (here() >= '0' && here() <= '9')
            at_++;
        return at_ > first;
    }

    bool number() {
        take('-');
        if (!take('0') && !digits())
            return false;
        if (take('.') && !digits())
            return false;
        if (here() == 'e' || here() == 'E') {
            at_++;
            if (!take('+'))
                take('-');
            return digits();
        }
        return true;
    }

    bool string() {
        if (!take('"'))
            return false;
        while (at_ < text_.size() && class_of(here()) == Byte::Plain)
            at_++;
        return take('"');
    }

    bool word() {
        for (std::string_view word : { "true", "false", "null" })
            if (text_.substr(at_, word.size()) == word) {
                at_ += word.size();
                return true;
            }
        return false;
    }

    bool members(int depth, char close, bool named) {
        at_++;
        spaces();
        if (take(close))
            return true;
        do {
            spaces();
            if (named) {
                if (!string())
                    return false;
                spaces();
                if (!take(':'))
                    return false;
                spaces();
            }
            if (!value(depth + 1))
                return false;
            spaces();
        } while (take(','));
        return take(close);
    }

    bool value(int depth) {
        if (depth > DEEPEST)
            return false;
        switch (here()) {
        case '[':
            return members(depth, ']', false);
        case '{':
            return members(depth, '}', true);
        case '"':
            return string();
        case 't':
        case 'f':
        case 'n':
            return word();
        default:
            return number();
        }
    }

    std::string_view text_;
    size_t at_ = 0;
};

} // namespace

void append_safe(std::string &out, std::string_view text) {
    size_t clean = 0;
    while (clean < text.size() && class_of(text[clean]) == Byte::Plain)
        clean++;
    out.append(text.substr(0, clean));
    for (size_t at = clean; at < text.size();) {
        switch (class_of(text[at])) {
        case Byte::Plain:
            out += text[at++];
            break;
        case Byte::Quote:
            out += '\'';
            at++;
            break;
        case Byte::Backslash:
            out += '/';
            at++;
            break;
        case Byte::Control:
            out += ' ';
            at++;
            break;
        case Byte::Beyond:
            at += append_beyond(out, text.substr(at));
            break;
        }
    }
}

std::string safe(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    append_safe(out, text);
    return out;
}

void append_quoted(std::string &out, std::string_view text) {
    out += '"';
    append_safe(out, text);
    out += '"';
}

bool is_plain_json(std::string_view text) {
    return Scanner(text).whole();
}

void append_value(std::string &out, std::string_view text) {
    if (is_plain_json(text))
        out.append(text);
    else
        append_quoted(out, text);
}

} // namespace flagprof
